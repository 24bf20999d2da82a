// Package verify checks that a session is what was recorded.
package verify

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/work/changes"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
)

// Options say what is checked.
type Options struct {
	ID  protocol.SessionID
	Dir string // of the session
	// Ledger uses a reader of the ledger of the session's workspace.
	Ledger func(use func(changes.Reader) error) error
	// Redact is how diffs were redacted when they were recorded.
	Redact func([]byte) []byte
	// Files uses a function that tells the state of files. Nil leaves the files on
	// disk unchecked.
	Files func(use func(changes.Look) error) error
}

// Report is what was checked. The session is as it was recorded when there are no
// Faults.
type Report struct {
	Records, Changes int
	// Gone counts contents that are no longer kept.
	Gone   int
	Faults []string
}

// Session checks the order and the hash chain of the records, that each change is
// in the ledger as the session has it, that the contents are whole, and that each
// diff is the one between them. Faults of the records are an error.
func Session(o Options) (Report, error) {
	if err := rollout.Verify(o.Dir); err != nil {
		return Report{}, fmt.Errorf("session %s does not verify: %w", o.ID, err)
	}
	list, _, err := records.Read(o.Dir)
	if err != nil {
		return Report{}, fmt.Errorf("session %s: %w", o.ID, err)
	}
	v := verifier{o: o}
	v.report.Records = len(list)
	var changed []history.FileChange
	for _, r := range list {
		if c, ok := r.Record.(history.FileChange); ok {
			changed = append(changed, c)
		}
	}
	v.report.Changes = len(changed)
	if len(changed) > 0 {
		if err := o.Ledger(func(r changes.Reader) error { return v.changes(r, changed) }); err != nil {
			return v.report, fmt.Errorf("session %s: %w", o.ID, err)
		}
	}
	if o.Files != nil {
		if err := o.Files(v.files); err != nil {
			v.fault("%v", err)
		}
	}
	return v.report, nil
}

// verifier compares what a session says of changes with the ledger, the store and
// the diffs.
type verifier struct {
	o      Options
	report Report
	last   map[string]*ledger.Version // the state of each path after the newest entry
	paths  map[string]bool            // that the session changed
}

func (v *verifier) fault(format string, args ...any) {
	v.report.Faults = append(v.report.Faults, fmt.Sprintf(format, args...))
}

func (v *verifier) changes(r changes.Reader, list []history.FileChange) error {
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
		v.paths[string(c.Path)] = true
		if c.Entry != 0 {
			v.change(r, c, bySeq[c.Entry])
		}
	}
	return nil
}

// change checks one record against its ledger entry.
func (v *verifier) change(r changes.Reader, c history.FileChange, e *ledger.Entry) {
	if e == nil {
		v.fault("%s: entry %d is not in the ledger", c.Path, c.Entry)
		return
	}
	for _, lc := range e.Changes {
		if lc.Path != string(c.Path) || records.Sum(lc.Pre) != c.Before || records.Sum(lc.Post) != c.After {
			continue
		}
		whole := true
		for _, version := range []*ledger.Version{lc.Pre, lc.Post} {
			whole = v.content(r, string(c.Path), version) && whole
		}
		if whole && c.DiffPath != "" {
			v.diff(r, c, lc)
		}
		return
	}
	v.fault("%s: entry %d of the ledger does not have this change", c.Path, c.Entry)
}

// content reports whether the store has a content; a damaged one is a fault.
func (v *verifier) content(r changes.Reader, path string, version *ledger.Version) bool {
	if version == nil {
		return true
	}
	_, err := r.Images.Get(version.Delta().Sum)
	switch {
	case err == nil:
		return true
	case errors.Is(err, store.ErrNotFound):
		v.report.Gone++
	default:
		v.fault("%s: %v", path, err)
	}
	return false
}

// diff checks that the diff of a change is the one between its contents.
func (v *verifier) diff(r changes.Reader, c history.FileChange, lc ledger.Change) {
	lc.From, lc.To = "", ""
	want := v.o.Redact(r.EntryDiff(&ledger.Entry{Changes: []ledger.Change{lc}}))
	got, err := os.ReadFile(filepath.Join(v.o.Dir, filepath.FromSlash(c.DiffPath)))
	switch {
	case err != nil:
		v.fault("%s: %v", c.DiffPath, err)
	case !bytes.Equal(got, want):
		v.fault("%s is not the diff of the change of %s", c.DiffPath, c.Path)
	}
}

// files compares the files of the session with what the ledger last knew.
func (v *verifier) files(look changes.Look) error {
	for _, path := range slices.Sorted(maps.Keys(v.paths)) {
		now, err := look.At(path)
		if err != nil {
			v.fault("%s: %v", path, err)
			continue
		}
		if now.At().Kind == changes.Directory {
			now = nil // the ledger tells of files
		}
		if was := v.last[path]; was.Delta() != now.At() {
			v.fault("%s was changed since, by neither Kerf's tools nor its commands", path)
		}
	}
	return nil
}
