package replay

import "context"

// Workspace is a workspace whose commits are rebuilt.
type Workspace struct {
	Runner              Runner
	Dir                 string
	Env                 map[string]string
	Unclean, KeepFailed bool
}

// Rebuild is the one that an agent does.
func (w Workspace) Rebuild(ctx context.Context, c *Changes, diverged func(*Divergence) error, warn func(string)) ([]string, error) {
	return workspace{w.Runner, w.Dir, w.Env, w.Unclean, w.KeepFailed}.rebuild(ctx, c, diverged, warn)
}

// CommitsLimit is how many bytes are recorded.
const CommitsLimit = commitsLimit
