package timelinekit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/understudy-go/understudy/fakeagent"
)

// folder is an existing folder as an absolute path.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = errors.New("it is a file")
		} else if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
	}
	if err != nil {
		return "", fmt.Errorf("timelinekit: cwd %q cannot be used (%w); create the folder first", abs, err)
	}
	return abs, nil
}

// lazyFiles makes a workspace when it is first written to.
type lazyFiles struct {
	fakeagent.OSFiles
	h *Host
}

func (f lazyFiles) WriteFile(ctx context.Context, s fakeagent.SessionConfig, path string, data []byte, follow bool) error {
	if err := f.h.makeWorkspace(s.Cwd); err != nil {
		return err
	}
	return f.OSFiles.WriteFile(ctx, s, path, data, follow)
}

func (h *Host) makeWorkspace(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeWorkspaceLocked(dir)
}

func (h *Host) makeWorkspaceLocked(dir string) error {
	if filepath.Dir(dir) != h.workspaces {
		return nil // somebody else's folder
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("timelinekit: workspace: %w", err)
	}
	h.used = true
	return nil
}
