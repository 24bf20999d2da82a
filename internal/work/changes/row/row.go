// Package row is an entry of the ledger as lists show it.
package row

import (
	"fmt"
	"strings"
	"time"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
	"kerf/internal/work/check"
	"kerf/internal/work/ledger"
)

// Entry is one entry of the ledger for people and programs. Undone says that all
// of it was taken back since. Exact is true only for what is proven. A command that
// still runs has an entry without changes that is Running; what it changed so far
// stands in entries of its own.
type Entry struct {
	Seq       int64     `json:"seq"`
	Time      time.Time `json:"time"`
	Cause     string    `json:"cause"`
	Certainty string    `json:"certainty"`
	Running   bool      `json:"running,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Client    string    `json:"client,omitempty"`
	Session   string    `json:"session,omitempty"`
	Turn      string    `json:"turn,omitempty"`
	Call      string    `json:"call,omitempty"`
	// Prompt is what the user asked for, which the ledger does not know.
	Prompt  string          `json:"prompt,omitempty"`
	Exact   bool            `json:"exact"`
	Note    string          `json:"note,omitempty"`
	Undoes  []int64         `json:"undoes,omitempty"`
	Undone  bool            `json:"undone"`
	Changes []Change        `json:"changes"`
	Dirs    []pathname.Path `json:"directories_made,omitempty"`
	Gone    []pathname.Path `json:"directories_removed,omitempty"`
	// Modes are directories that stayed and got other permission bits.
	Modes []DirMode `json:"directory_modes,omitempty"`
	Diff  string    `json:"diff,omitempty"`
	// Check, with the cause "checked", is the verdict of a check.
	Check *Check `json:"check,omitempty"`
}

// OnlyLeft reports whether an entry tells of nothing but what no undo takes back, such as a pipe.
func (e *Entry) OnlyLeft() bool {
	return len(e.Changes)+len(e.Dirs)+len(e.Gone)+len(e.Modes) == 0 && strings.Contains(e.Note, ledger.LeftThere)
}

// Check is the verdict of a check. Stale says that files were changed since, so that it does
// not hold for what is there now.
type Check struct {
	ledger.Verdict
	Stale bool `json:"stale"`
}

// String is the verdict in words.
func (c Check) String() string {
	text := c.Name + " " + c.Outcome
	switch check.Outcome(c.Outcome) {
	case check.Failed:
		text = c.failed()
	case check.Before:
		text = fmt.Sprintf("%s fails as it did before (%d known, exit %d)", c.Name, c.Known, c.Exit)
	case check.Unable:
		text = c.Name + " did not run: " + c.Why
	}
	text += fmt.Sprintf(", %v", time.Duration(c.Millis)*time.Millisecond)
	if c.Tree != "" {
		text += fmt.Sprintf(", files %.12s", c.Tree)
	}
	if c.Beside > 0 {
		text += fmt.Sprintf(" (with files that git ignores and that were not kept: %d)", c.Beside)
	}
	if c.Moved {
		text += " (files were changed while it ran)"
	}
	if c.Stale {
		text += " (files were changed since)"
	}
	return text
}

func (c Check) failed() string {
	switch {
	case c.Exit == 0:
		return c.Name + " does not count: " + c.Why
	case c.When == string(check.Goal) || c.When == string(check.Attempt):
		return fmt.Sprintf("%s failed (exit %d)", c.Name, c.Exit)
	}
	return fmt.Sprintf("%s failed (%d new, exit %d)", c.Name, c.New, c.Exit)
}

// Change is one path of an entry. Before and After are SHA-256, empty for "not
// there".
type Change struct {
	Path      pathname.Path `json:"path"`
	Operation string        `json:"operation"`
	From      pathname.Path `json:"moved_from,omitempty"`
	To        pathname.Path `json:"moved_to,omitempty"`
	Before    string        `json:"before"`
	After     string        `json:"after"`
	// ModeFrom and ModeTo are the permission bits in octal, where they changed.
	ModeFrom string `json:"mode_from,omitempty"`
	ModeTo   string `json:"mode_to,omitempty"`
}

// DirMode is a directory that got other permission bits, in octal.
type DirMode struct {
	Path pathname.Path `json:"path"`
	From string        `json:"mode_from"`
	To   string        `json:"mode_to"`
}

// Of is an entry of the ledger as a row.
func Of(e *ledger.Entry) Entry {
	known := e.Known()
	le := Entry{Seq: e.Seq, Time: e.Time, Cause: e.Cause, Certainty: known, Tool: e.Tool, Client: e.Client,
		Session: e.Session, Turn: e.Turn, Call: e.Call, Exact: e.Exact && known == ledger.Proven, Note: e.Note,
		Undoes: e.Undoes, Changes: []Change{}}
	if e.Cause == ledger.CauseBegan {
		le.Cause, le.Running = ledger.CauseCommand, true
	}
	for _, c := range e.Set() {
		lc := Change{Path: pathname.Path(c.Path), Operation: c.Op(), From: pathname.Path(c.From),
			To: pathname.Path(c.To)}
		if c.Pre != nil {
			lc.Before = c.Pre.Sum.String()
		}
		if c.Post != nil {
			lc.After = c.Post.Sum.String()
		}
		if a, b := c.Pre, c.Post; a != nil && b != nil && a.Kind == delta.File && b.Kind == a.Kind && a.Mode != b.Mode {
			lc.ModeFrom, lc.ModeTo = octal(c.Pre.Mode), octal(c.Post.Mode)
		}
		le.Changes = append(le.Changes, lc)
	}
	if e.Check != nil {
		le.Check = &Check{Verdict: *e.Check}
	}
	le.Dirs = append(le.Dirs, e.Dirs...)
	for _, d := range e.Gone {
		le.Gone = append(le.Gone, d.Path)
	}
	for _, d := range e.Modes {
		le.Modes = append(le.Modes, DirMode{d.Path, octal(d.Pre), octal(d.Post)})
	}
	return le
}

func octal(mode uint32) string { return fmt.Sprintf("%03o", mode) }
