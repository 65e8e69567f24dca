package replay

// Extraction is what was extracted, for specs.
type Extraction struct {
	Schema      int
	Normalisers []Normaliser
	CWD         string
	Source      Source
	Turns       []Turn
	Branch      string
}

// Extract is extract.
func Extract(entries []Entry) (*Extraction, error) {
	x, err := extract(entries)
	if err != nil {
		return nil, err
	}
	return &Extraction{x.schema, x.normalisers, x.cwd, x.source, x.turns, x.branch}, nil
}

// Executor and Raw are what an event has inside.
func (e Event) Executor() string { return e.executor }
func (e Event) Raw() string      { return e.raw }

func (t Turn) Clone() Turn          { return t.clone() }
func (u Usage) Plus(v Usage) Usage  { return u.plus(v) }
func (u Usage) Minus(v Usage) Usage { return u.minus(v) }

// KnownKinds are the kinds that entries may have: those of the agent, and all others.
func KnownKinds() (agent, others []string) {
	for name, k := range entryKinds {
		if k.agent {
			agent = append(agent, name)
		} else {
			others = append(others, name)
		}
	}
	return agent, others
}

// KnownCodes are the codes that a recorded failure may have.
func KnownCodes() []Code { return codes }
