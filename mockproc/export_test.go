package mockproc

// Clone copies an executable, as where there can be no link.
var Clone = clone

// OrdersFile is behind the path of an installed executable.
const OrdersFile = ordersFile
