package replay

// Side is one of the two that a normaliser is applied to.
type Side = side

func SideOf(cwd, branch string) Side { return side{cwd, branch} }

func Normalise(rules []Normaliser, s Side, text string) string { return normalise(rules, s, text) }

func (n Normaliser) Check() error { return n.check() }
