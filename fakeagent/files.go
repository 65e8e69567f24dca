package fakeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

func (t *turn) write(s script.WriteStep) error {
	path, abs, bad := t.inside(s.Path)
	item := event.Item{ItemType: event.FileChange, Title: "Write", Data: timeline.Write{FilePath: abs, Content: s.Content}}
	return t.call(item, func(*event.Item) error {
		if bad != nil {
			return bad
		}
		return t.th.in.cfg.Files.WriteFile(t.ctx, t.th.session, path, []byte(s.Content), false)
	})
}

func (t *turn) edit(s script.EditStep) error {
	path, abs, bad := t.inside(s.Path)
	item := event.Item{ItemType: event.FileChange, Title: "Edit", Data: timeline.Edit{FilePath: abs, OldString: s.Old, NewString: s.New}}
	return t.call(item, func(*event.Item) error {
		if bad != nil {
			return bad
		}
		files := t.th.in.cfg.Files
		data, err := files.ReadFile(t.ctx, t.th.session, path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s does not exist", path)
		} else if err != nil {
			return err
		}
		old, new := []byte(s.Old), []byte(s.New)
		if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
			old, new = crlf(old), crlf(new) // the script need not know how the file ends its lines
		}
		switch n := bytes.Count(data, old); {
		case n == 0:
			return fmt.Errorf("%s does not contain %q", path, s.Old)
		case n > 1 && s.Unique:
			return fmt.Errorf("%s contains %q %d times, and the edit wants it once", path, s.Old, n)
		}
		return files.WriteFile(t.ctx, t.th.session, path, bytes.Replace(data, old, new, 1), true)
	})
}

func crlf(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// inside is a step's path below cwd, and as an absolute one. The error is a path that leaves cwd.
func (t *turn) inside(path string) (rel, abs string, err error) {
	cwd := t.th.session.Cwd
	native := filepath.FromSlash(path)
	abs = native
	if !filepath.IsAbs(native) {
		abs = filepath.Join(cwd, native)
	}
	rel, err = filepath.Rel(cwd, filepath.Clean(abs))
	switch {
	case cwd == "":
		return "", path, fmt.Errorf("path %q: the agent has no workspace; start its session with a Cwd", path)
	case strings.ContainsRune(path, 0):
		return "", abs, fmt.Errorf("path %q holds a NUL byte", path)
	case err != nil || !filepath.IsLocal(rel):
		return "", abs, fmt.Errorf("path %q leaves the workspace; use a path below cwd", path)
	case rel == ".":
		return "", abs, fmt.Errorf("path %q is the workspace itself; name a file below it", path)
	}
	return filepath.ToSlash(rel), filepath.Clean(abs), nil
}

// OSFiles are the real files below a session's Cwd. No path leads out of it, whatever links there are.
type OSFiles struct{}

func (OSFiles) ReadFile(_ context.Context, s SessionConfig, path string) (data []byte, err error) {
	err = inRoot(s.Cwd, path, func(root *os.Root) error {
		if err := regular(root, path); err != nil {
			return err
		}
		data, err = root.ReadFile(path)
		return err
	})
	return data, err
}

// WriteFile writes in place: an existing file keeps its mode, and whoever watches it sees it change.
func (OSFiles) WriteFile(_ context.Context, s SessionConfig, path string, data []byte, follow bool) error {
	return inRoot(s.Cwd, path, func(root *os.Root) error {
		if info, err := root.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 && !follow {
			if err := root.Remove(path); err != nil {
				return err
			}
		}
		if dir := filepath.Dir(path); dir != "." {
			if err := root.MkdirAll(dir, 0o755); err != nil {
				if _, why := root.Stat(dir); why != nil {
					err = why // that the folder is a link out, which not every Go says of MkdirAll
				}
				return err
			}
		}
		if err := regular(root, path); err != nil {
			return err
		}
		return root.WriteFile(path, data, 0o644)
	})
}

// regular refuses pipes and devices: to open one may block for ever.
func regular(root *os.Root, path string) error {
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}

func inRoot(cwd, path string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(cwd)
	if err != nil {
		return fmt.Errorf("cwd %q cannot be used: %w", cwd, errors.Unwrap(err))
	}
	defer root.Close()
	err = do(root)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		if strings.Contains(pe.Err.Error(), "escapes") { // os.Root has no error value for it
			return fmt.Errorf("path %q leaves the workspace by a link; use a path below cwd", path)
		}
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
