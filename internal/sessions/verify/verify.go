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
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tries"
)

// Options say what is checked.
type Options struct {
	ID  protocol.SessionID
	Dir string // of the session
	// Ledger uses a reader of the ledger of the session's workspace.
	Ledger func(use func(changes.Reader) error) error
	// Redact is how diffs were redacted when they were recorded.
	Redact func([]byte) []byte
	// Now is what a path is called that the session recorded. It may have been renamed since.
	Now func(path string) string
	// Tried says that the session worked in a try: changes that it made there are in no
	// ledger that can be compared.
	Tried bool
	// Files uses a function that tells the state of files. Nil leaves the files on
	// disk unchecked.
	Files func(use func(present.Look) error) error
}

// Report is what was checked. The session is as it was recorded when there are no
// Faults.
type Report struct {
	Records, Changes int
	// Ledger is what the ledger of the session's workspace is; it has a fault when it
	// is not as it was written.
	Ledger ledger.Chain
	// Gone counts contents that are no longer kept, Tried changes that were made in a try.
	Gone   int
	Tried  int
	Faults []string
	// Since are files that are not as the ledger knows them last: somebody changed them
	// afterwards, which is no fault of the session.
	Since []string
}

// Session checks the order and the hash chain of the records and of the ledger, that
// each change is in the ledger as the session has it, that the ledger lays nothing to
// turns that the session does not have, that the contents are whole, and that each diff
// is the one between them. Faults of the records are an error.
func Session(o Options) (Report, error) {
	if err := rollout.Verify(o.Dir); err != nil {
		return Report{}, fmt.Errorf("session %s does not verify: %w", o.ID, err)
	}
	list, _, err := records.Read(o.Dir)
	if err != nil {
		return Report{}, fmt.Errorf("session %s: %w", o.ID, err)
	}
	v := verifier{o: o, turns: map[string]bool{}}
	v.report.Records = len(list)
	var changed []history.FileChange
	for _, r := range list {
		switch r := r.Record.(type) {
		case history.TurnContext:
			v.turns[string(r.Turn)] = true
		case history.FileChange:
			changed = append(changed, r)
		}
	}
	v.report.Changes = len(changed)
	if err := o.Ledger(func(r changes.Reader) error { return v.ledger(r, changed) }); err != nil && len(changed) > 0 {
		return v.report, fmt.Errorf("session %s: %w", o.ID, err)
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
	turns  map[string]bool            // of the session
}

func (v *verifier) fault(format string, args ...any) {
	v.report.Faults = append(v.report.Faults, fmt.Sprintf(format, args...))
}

func (v *verifier) ledger(r changes.Reader, list []history.FileChange) error {
	chain, err := r.Ledger.Verify()
	var broken *ledger.BreakError
	switch {
	case errors.As(err, &broken):
		v.fault("%v", err)
	case err != nil:
		return err
	}
	v.report.Ledger = chain
	entries, err := r.Ledger.Read(0)
	if err != nil {
		return err
	}
	bySeq := map[int64]*ledger.Entry{}
	v.last, v.paths = map[string]*ledger.Version{}, map[string]bool{}
	for i := range entries {
		e := &entries[i]
		bySeq[e.Seq] = e
		for _, c := range e.Changes {
			v.last[c.Path] = c.Post
		}
		// A turn is on record before anything of it is done.
		if e.Session == string(v.o.ID) && e.Turn != "" && !v.turns[e.Turn] {
			v.fault("entry %d of the ledger names turn %s, which this session does not have", e.Seq, e.Turn)
		}
	}
	for _, c := range list {
		c.Path, c.MovedFrom, c.MovedTo = v.now(c.Path), v.now(c.MovedFrom), v.now(c.MovedTo)
		if c.Entry != 0 {
			v.change(r, c, bySeq[c.Entry])
		} else {
			v.paths[string(c.Path)] = true
		}
	}
	return nil
}

func (v *verifier) now(p pathname.Path) pathname.Path {
	if p == "" || v.o.Now == nil {
		return p
	}
	return pathname.Path(v.o.Now(string(p)))
}

// change checks one record against its ledger entry.
func (v *verifier) change(r changes.Reader, c history.FileChange, e *ledger.Entry) {
	here := func() bool {
		return e != nil && e.Session == string(v.o.ID) && e.Turn == string(c.Turn) && e.Tool != tries.Tool
	}
	if v.o.Tried && !here() {
		v.report.Tried++
		return
	}
	if e == nil {
		v.fault("%s: entry %d is not in the ledger", c.Path, c.Entry)
		return
	}
	for _, lc := range e.Changes {
		if !samePath(c.Path, lc.Path) || records.Sum(lc.Pre) != c.Before || records.Sum(lc.Post) != c.After {
			continue
		}
		v.paths[lc.Path] = true
		v.told(c, e, lc)
		whole := true
		for _, version := range []*ledger.Version{lc.Pre, lc.Post} {
			whole = v.content(r, lc.Path, version) && whole
		}
		if whole && c.DiffPath != "" {
			v.diff(r, c, lc)
		}
		return
	}
	v.fault("%s: entry %d of the ledger does not have this change", c.Path, c.Entry)
}

// samePath reports whether a record names a path of the ledger. Older versions wrote
// names that are not UTF-8 with replacement characters.
func samePath(recorded pathname.Path, path string) bool {
	if string(recorded) == path {
		return true
	}
	if utf8.ValidString(path) {
		return false
	}
	var lossy strings.Builder
	for _, r := range path { // each wrong byte is one replacement character
		lossy.WriteRune(r)
	}
	return string(recorded) == lossy.String()
}

// told compares what a record and its entry say beside the contents.
func (v *verifier) told(c history.FileChange, e *ledger.Entry, lc ledger.Change) {
	mode := func(version *ledger.Version) uint32 { return version.Delta().Mode }
	var what string
	switch own := e.Session == string(v.o.ID); {
	// What a sub-agent does stands in the ledger under the call of its parent.
	case e.Call != string(c.Call) && !strings.HasSuffix(e.Call, "/"+string(c.Call)):
		what = "call"
	case own && e.Turn != string(c.Turn) && e.Turn != "" && c.Turn != "" && !strings.HasPrefix(e.Call, "merge-"):
		what = "turn"
	case c.Cause != ledger.CauseTool && e.Cause != c.Cause:
		what = "cause"
	case c.Cause == ledger.CauseTool && (e.Cause == ledger.CauseCommand || e.Cause == ledger.CauseOutside):
		what = "cause"
	case c.Certainty != "" && string(c.Certainty) != e.Known():
		what = "certainty"
	case c.ModeFrom != 0 && c.ModeFrom != mode(lc.Pre), c.ModeTo != 0 && c.ModeTo != mode(lc.Post):
		what = "mode"
	case !samePath(c.MovedFrom, lc.From), !samePath(c.MovedTo, lc.To):
		what = "move"
	default:
		return
	}
	v.fault("%s: entry %d of the ledger tells another %s than the record", lc.Path, c.Entry, what)
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
	if lc.Pre.Delta().Size > changes.ShownLimit || lc.Post.Delta().Size > changes.ShownLimit {
		return // only named, but in records of older versions
	}
	got, err := os.ReadFile(filepath.Join(v.o.Dir, filepath.FromSlash(c.DiffPath)))
	if err != nil {
		v.fault("%s: %v", c.DiffPath, err)
		return
	}
	for {
		want := v.o.Redact(r.EntryDiff(&ledger.Entry{Changes: []ledger.Change{lc}}))
		if bytes.Equal(got, want) {
			return
		}
		// Of a directory that is gone, as work trees of sub-agents are, nobody can tell
		// any more which repository it was in.
		up := filepath.Dir(r.Base)
		if _, err := os.Lstat(r.Base); err == nil || up == r.Base {
			break
		}
		r.Base = up
	}
	v.fault("%s is not the diff of the change of %s", c.DiffPath, c.Path)
}

// files compares the files of the session with what the ledger last knew.
func (v *verifier) files(look present.Look) error {
	for _, path := range slices.Sorted(maps.Keys(v.paths)) {
		now, err := look.At(path)
		if err != nil {
			v.fault("%s: %v", path, err)
			continue
		}
		if now.At().Kind == present.Directory {
			now = nil // the ledger tells of files
		}
		if was := v.last[path]; was.Delta() != now.At() {
			v.report.Since = append(v.report.Since, path)
		}
	}
	return nil
}
