package timelinekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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

// lazyFiles makes an agent's folder when it is first written to.
type lazyFiles struct {
	fakeagent.OSFiles
	h *Host
}

func (f lazyFiles) WriteFile(ctx context.Context, s fakeagent.SessionConfig, path string, data []byte, follow bool) error {
	if err := f.h.makeFolder(s.Cwd); err != nil {
		return err
	}
	return f.OSFiles.WriteFile(ctx, s, path, data, follow)
}

func (h *Host) makeFolder(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.makeFolderLocked(dir)
}

func (h *Host) makeFolderLocked(dir string) error {
	if filepath.Dir(dir) != h.folders {
		return nil // somebody else's folder
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("timelinekit: the agent's folder: %w", err)
	}
	h.used = true
	return nil
}

// WorkspaceInfo is a place that agents may share. Agents in folders of their own have none.
type WorkspaceInfo struct {
	ID         string // workspace-1, workspace-2, and so on
	ProjectID  string
	Name       string
	Cwd        string    // absolute
	ArchivedAt time.Time // zero for one that is not archived
}

// workspace is one of a host. It is guarded by Host.mu, but for what never changes: all but ArchivedAt.
type workspace struct{ WorkspaceInfo }

// CreateWorkspace makes a workspace. A before hook may change what is asked for, or stop it with a [HookError].
func (h *Host) CreateWorkspace(ctx context.Context, r WorkspaceCreate) (WorkspaceInfo, error) {
	r, err := ask(ctx, &h.plugins, r, checkFolder)
	if err == nil && r.Cwd != "" {
		r.Cwd, err = folder(r.Cwd)
	}
	if err != nil {
		return WorkspaceInfo{}, fmt.Errorf("timelinekit: the workspace was not created: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return WorkspaceInfo{}, errHostClosed
	}
	id := fmt.Sprint("workspace-", len(h.workspaces)+1)
	w := &workspace{WorkspaceInfo{ID: id, ProjectID: cmp.Or(r.ProjectID, "project-1"), Name: cmp.Or(r.Title, id), Cwd: r.Cwd}}
	if w.Cwd == "" {
		w.Cwd = filepath.Join(h.folders, id)
		if err := h.makeFolderLocked(w.Cwd); err != nil {
			return WorkspaceInfo{}, err
		}
	}
	h.workspaces = append(h.workspaces, w)
	fire(&h.plugins, WorkspaceCreated{w.WorkspaceInfo})
	return w.WorkspaceInfo, nil
}

func checkFolder(r WorkspaceCreate) error {
	if r.Cwd == "" {
		return nil
	}
	_, err := folder(r.Cwd)
	return err
}

// ArchiveWorkspace archives the agents that work in it, and then the workspace. Its files stay until the test's end. One that is archived
// already is left alone.
func (h *Host) ArchiveWorkspace(ctx context.Context, workspaceID string) error {
	h.mu.RLock()
	w, err := h.workspace(workspaceID)
	h.mu.RUnlock()
	if err != nil {
		return err
	}
	if err := h.archiveAll(ctx, func(a *agent) bool { return a.workspace == w }); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.ArchivedAt.IsZero() {
		w.ArchivedAt = time.Now()
		fire(&h.plugins, WorkspaceArchived{w.WorkspaceInfo})
	}
	return nil
}

// Workspaces are all that were made, in order.
func (h *Host) Workspaces() []WorkspaceInfo {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make([]WorkspaceInfo, len(h.workspaces))
	for i, w := range h.workspaces {
		out[i] = w.WorkspaceInfo
	}
	return out
}

// workspace is the one of that id. h.mu is locked.
func (h *Host) workspace(id string) (*workspace, error) {
	var ids []string
	for _, w := range h.workspaces {
		if w.ID == id {
			return w, nil
		}
		ids = append(ids, w.ID)
	}
	return nil, fmt.Errorf("timelinekit: no workspace %q; this host has: %s", id, cmp.Or(strings.Join(ids, ", "), "none"))
}
