package replay

// EventOf is an event of a kind.
func EventOf(kind string) Event { return Event{kind: kind} }
