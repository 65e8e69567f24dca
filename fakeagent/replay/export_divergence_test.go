package replay

// PromptDivergence compares two prompts of the same workspace in turn 2.
func PromptDivergence(recorded, live string, rules ...Normaliser) *Divergence {
	return promptDivergence(2, recorded, live, rules, side{}, side{}, nil)
}

// SidedDivergence compares two prompts of two workspaces.
func SidedDivergence(recorded, live string, recordedSide, liveSide Side, rules ...Normaliser) *Divergence {
	return promptDivergence(2, recorded, live, rules, recordedSide, liveSide, nil)
}

// RedactedDivergence compares a prompt as it was recorded with one that is still to be redacted.
func RedactedDivergence(recorded, live string, redact func(string) string) *Divergence {
	return promptDivergence(2, recorded, live, nil, side{}, side{}, redact)
}
