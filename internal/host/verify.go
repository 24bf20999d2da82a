package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/repo"
	"kerf/internal/work/store"
)

// VerifyOptions say how much is verified.
type VerifyOptions struct {
	// Session is an id, the beginning of one or a title; empty is the newest of
	// the working directory.
	Session string
	All     bool // every session
	// Workspace compares the files that the session changed with the ledger.
	Workspace bool
}

// Verify checks a session and prints what it found: the order and the hash chain
// of its records, that each change is in the ledger as the session has it, that
// the contents are whole, and that each diff is the one between them.
func (h *Host) Verify(w io.Writer, o VerifyOptions) error {
	if !o.All {
		info, err := h.find(o.Session, o.Session == "", true)
		if err != nil {
			return err
		}
		return h.verify(w, info, o)
	}
	var list []protocol.SessionInfo
	for _, archived := range []bool{false, true} {
		some, err := h.List(context.Background(), protocol.Filter{Archived: archived})
		if err != nil {
			return err
		}
		list = append(list, some...)
	}
	var all []error
	for _, info := range list {
		all = append(all, h.verify(w, info, o))
	}
	return errors.Join(all...)
}

func (h *Host) verify(w io.Writer, info protocol.SessionInfo, o VerifyOptions) error {
	dir := filepath.Join(h.SessionsDir(), string(info.ID))
	if err := rollout.Verify(dir); err != nil {
		return fmt.Errorf("session %s does not verify: %w", info.ID, err)
	}
	records, _, err := rollout.Read(dir)
	if err != nil {
		return fmt.Errorf("session %s: %w", info.ID, err)
	}
	var list []history.FileChange
	for _, r := range records {
		if r.Type == (history.FileChange{}).Type() {
			tell(r, func(c history.FileChange) { list = append(list, c) })
		}
	}
	v := changeVerifier{h: h, dir: dir, base: repo.Top(orElse(info.Cwd, h.Config.Cwd))}
	if len(list) > 0 {
		root := cmp.Or(info.Cwd, h.Config.Cwd)
		if err := h.reading(root, func(r changes.Reader) error { return v.changes(r, list) }); err != nil {
			return fmt.Errorf("session %s: %w", info.ID, err)
		}
	}
	if o.Workspace {
		v.workspace()
	}
	for _, f := range v.faults {
		fmt.Fprintf(w, "%s: %s\n", info.ID, visible(f))
	}
	if len(v.faults) > 0 {
		return fmt.Errorf("session %s does not verify: %d changes are not as they were recorded", info.ID, len(v.faults))
	}
	more := ""
	if v.gone > 0 {
		more = fmt.Sprintf(" (%d older contents are no longer kept)", v.gone)
	}
	fmt.Fprintf(w, "session %s verifies: %d records in order, hash chain whole, %d changes with their diffs and contents%s\n", info.ID, len(records), len(list), more)
	return nil
}

// changeVerifier compares what a session says of changes with the ledger, the
// store and the diffs.
type changeVerifier struct {
	h      *Host
	dir    string
	base   string
	faults []string
	gone   int                        // contents that are no longer kept
	last   map[string]*ledger.Version // the state of each path after the newest entry
	paths  map[string]bool            // that the session changed
}

func (v *changeVerifier) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *changeVerifier) changes(r changes.Reader, list []history.FileChange) error {
	r.Base = v.base
	entries, err := r.Ledger.Read(0)
	if err != nil {
		return err
	}
	bySeq := map[int64]*ledger.Entry{}
	v.last, v.paths = map[string]*ledger.Version{}, map[string]bool{}
	for i := range entries {
		bySeq[entries[i].Seq] = &entries[i]
		for _, c := range entries[i].Changes {
			v.last[c.Path] = c.Post
		}
	}
	for _, c := range list {
		v.paths[c.Path] = true
		if c.Entry != 0 {
			v.change(r, c, bySeq[c.Entry])
		}
	}
	return nil
}

// change checks one record against its ledger entry.
func (v *changeVerifier) change(r changes.Reader, c history.FileChange, e *ledger.Entry) {
	if e == nil {
		v.fault("%s: entry %d is not in the ledger", c.Path, c.Entry)
		return
	}
	for _, lc := range e.Changes {
		if lc.Path != c.Path || sumText(lc.Pre) != c.Before || sumText(lc.Post) != c.After {
			continue
		}
		whole := true
		for _, version := range []*ledger.Version{lc.Pre, lc.Post} {
			whole = v.content(r, c.Path, version) && whole
		}
		if whole && c.DiffPath != "" {
			v.diff(r, c, lc)
		}
		return
	}
	v.fault("%s: entry %d of the ledger does not have this change", c.Path, c.Entry)
}

func sumText(version *ledger.Version) string {
	if version == nil {
		return ""
	}
	b, err := version.Sum.MarshalText()
	if err != nil {
		return ""
	}
	return string(b)
}

// content reports whether the store has a content; a damaged one is a fault.
func (v *changeVerifier) content(r changes.Reader, path string, version *ledger.Version) bool {
	if version == nil {
		return true
	}
	_, err := r.Images.Get(version.Delta().Sum)
	switch {
	case err == nil:
		return true
	case errors.Is(err, store.ErrNotFound):
		v.gone++
	default:
		v.fault("%s: %v", path, err)
	}
	return false
}

// diff checks that the diff of a change is the one between its contents.
func (v *changeVerifier) diff(r changes.Reader, c history.FileChange, lc ledger.Change) {
	lc.From, lc.To = "", ""
	want := v.h.redact(r.EntryDiff(&ledger.Entry{Changes: []ledger.Change{lc}}))
	got, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(c.DiffPath)))
	switch {
	case err != nil:
		v.fault("%s: %v", c.DiffPath, err)
	case !bytes.Equal(got, want):
		v.fault("%s is not the diff of the change of %s", c.DiffPath, c.Path)
	}
}

// workspace compares the files of the session with what the ledger last knew.
func (v *changeVerifier) workspace() {
	ws, err := v.h.OpenWorkspace(WorkspaceOptions{Sandbox: protocol.SandboxFull})
	if err != nil {
		v.fault("%v", err)
		return
	}
	defer ws.Close()
	look := changes.LookIn(ws.Tree)
	for _, path := range slices.Sorted(maps.Keys(v.paths)) {
		now, err := look(path)
		if err != nil {
			v.fault("%s: %v", path, err)
			continue
		}
		if was := v.last[path]; was.Delta() != now.At() {
			v.fault("%s was changed since, by neither Kerf's tools nor its commands", path)
		}
	}
}
