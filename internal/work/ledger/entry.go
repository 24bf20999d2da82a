package ledger

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
)

// The causes of entries.
const (
	CauseTool    = "tool"    // a change that a tool proposed
	CauseCommand = "command" // what a command did
	CauseOutside = "outside" // what somebody else did
	CauseUndo    = "undo"
	CauseRedo    = "redo"
	CauseNone    = "none"    // a turn that ended without changing anything
	CauseBegan   = "began"   // a command is about to change files; Journal says where to look
	CauseChecked = "checked" // a check ran; Check says what came of it
)

// What is known of who made the changes of an entry.
const (
	Proven   = "proven"   // Kerf's own commit, or what a witnessed command did
	Outside  = "outside"  // proven not to be Kerf's
	Unproven = "unproven" // nobody saw who did it
)

// Entry is one committed or observed set of changes.
type Entry struct {
	V   int   `json:"v"`
	Seq int64 `json:"seq"`
	// Prev is the hash of the line of the entry before, NoHash for the first. Torn is
	// the hash of what a write that did not end left between the two. Append fills in
	// both; entries of older ledgers have neither.
	Prev string    `json:"prev,omitempty"`
	Torn string    `json:"torn,omitempty"`
	ID   string    `json:"id,omitempty"` // of the transaction; recovery knows it by this
	Time time.Time `json:"time"`

	Session string `json:"session,omitempty"`
	Turn    string `json:"turn,omitempty"`
	Call    string `json:"call,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Client  string `json:"client,omitempty"`
	// Edited says that the user changed what the tool proposed.
	Edited bool `json:"edited,omitempty"`

	Cause string `json:"cause"`
	// Certainty is Proven, Outside or Unproven; empty in entries of older ledgers, see
	// Known.
	Certainty string `json:"certainty,omitempty"`
	// Journal, with CauseBegan, names the witness's journal of the command. Of, in the
	// entries of that command, is the sequence number of the entry that it began with;
	// the last of them has Ended.
	Journal string `json:"journal,omitempty"`
	Of      int64  `json:"of,omitempty"`
	Ended   bool   `json:"ended,omitempty"`
	// Head, with CauseBegan, is where HEAD of the workspace's git repository was. In the last
	// entry of a command it is there if HEAD moved while the command ran, and has both ends.
	Head *HeadMove `json:"head,omitempty"`
	// Exact is false when a write may have landed that the changes do not show.
	Exact   bool     `json:"exact"`
	Note    string   `json:"note,omitempty"`
	Undoes  []int64  `json:"undoes,omitempty"` // sequence numbers that this entry takes back
	Only    []Path   `json:"only,omitempty"`   // of these only the changes of these paths; all if empty
	Changes []Change `json:"changes"`
	// Dirs are directories that were made for the changes, parents first; undo may
	// remove them when they are empty.
	Dirs []Path `json:"dirs,omitempty"`
	// Gone are directories that went with the changes, parents first; undo makes
	// them anew.
	Gone []Dir `json:"gone,omitempty"`
	// Modes are directories that stayed and got other permission bits.
	Modes []DirMode `json:"modes,omitempty"`
	// Gaps are files of which the entry does not know all; entries of older ledgers have
	// them in Note alone, see Unknown.
	Gaps []Gap `json:"gaps,omitempty"`
	// Check, with CauseChecked, is the verdict of a check.
	Check *Verdict `json:"check,omitempty"`
}

// Began reports whether it is the entry with which the command of the journal in dir began.
func (e *Entry) Began(dir string) bool {
	return e.Cause == CauseBegan && e.Of == 0 && e.Journal == filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)
}

// HeadMove is where HEAD of a git repository was, and where it came to.
type HeadMove struct {
	From *Head `json:"from,omitempty"`
	To   *Head `json:"to,omitempty"`
	// Late says that nobody looked as the command ended: it may have moved after that.
	Late bool `json:"late,omitempty"`
}

// Head is what is checked out: a branch, empty when HEAD is detached, and the commit, empty on
// a branch without one.
type Head struct {
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// Verdict is what one run of a check came to. It holds for the files whose state Tree names,
// and for no others.
type Verdict struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	When    string `json:"when,omitempty"` // empty before anything was changed
	Outcome string `json:"outcome"`        // see the outcomes of package check
	Exit    int    `json:"exit"`
	New     int    `json:"new,omitempty"`   // problems that were not there before
	Known   int    `json:"known,omitempty"` // problems that were there before, too
	Why     string `json:"why,omitempty"`
	Millis  int64  `json:"ms"`
	Tree    string `json:"tree,omitempty"`  // see package check/treehash
	Moved   bool   `json:"moved,omitempty"` // others changed files while it ran, so that Tree is empty
	// Beside is how many files that git ignores were there in the try in which it ran, and
	// were not kept with the others.
	Beside int    `json:"beside,omitempty"`
	Output string `json:"output,omitempty"` // the name under which all that it printed is kept
}

// NoteFull is in the Note of an entry that was made while the disk had no room for all contents.
const NoteFull = "contents may be missing: the disk was full"

// maxNotes bounds what an entry tells of what is not known.
const maxNotes = 20

// NoteOf makes the Note of an entry from lines about what is not known, and from its gaps.
func NoteOf(notes []string, gaps []Gap) string {
	notes = slices.Clone(notes)
	for _, g := range gaps {
		notes = append(notes, g.String())
	}
	if more := len(notes) - maxNotes; more > 0 {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(notes, "; ")
}

// Dir is a directory with its permission bits.
type Dir struct {
	Path Path   `json:"path"`
	Mode uint32 `json:"mode"`
}

// AnyMode stands for permission bits that are not known. No entry has it.
const AnyMode = ^uint32(0)

// DirMode is a directory whose permission bits changed.
type DirMode struct {
	Path Path   `json:"path"`
	Pre  uint32 `json:"pre"`
	Post uint32 `json:"post"`
}

// Change is one path going from Pre to Post; nil means not there.
type Change struct {
	Path string
	Pre  *Version
	Post *Version
	From string // where a move or copy took the content from
	To   string // where a move put it
}

// Version is delta.Version in the form of the ledger.
type Version struct {
	Kind delta.Kind `json:"kind"`
	Mode uint32     `json:"mode"`
	Size int64      `json:"size"`
	Sum  Sum        `json:"sum"`
}

// Sum is delta.Sum in lower-case hex.
type Sum delta.Sum

// Path is a path that survives JSON.
type Path = pathname.Path

// Known is the certainty of e. Entries of older ledgers tell none: what commands did
// was found by comparing then, so nobody saw who did it.
func (e *Entry) Known() string {
	switch {
	case e.Certainty != "":
		return e.Certainty
	case e.Cause == CauseOutside:
		return Outside
	case e.Cause == CauseCommand:
		return Unproven
	}
	return Proven
}

// VersionOf returns the version of i in the form of the ledger, nil for nil.
func VersionOf(i *delta.Image) *Version {
	if i == nil {
		return nil
	}
	return &Version{i.Kind, i.Mode, i.Size, Sum(i.Sum)}
}

// Delta returns v as delta.Version; nil gives the version of an absent path.
func (v *Version) Delta() delta.Version {
	if v == nil {
		return delta.Version{}
	}
	return delta.Version{Kind: v.Kind, Mode: v.Mode, Size: v.Size, Sum: delta.Sum(v.Sum)}
}

// Image returns an image of v whose bytes are not loaded, nil for nil.
func (v *Version) Image() *delta.Image {
	if v == nil {
		return nil
	}
	return &delta.Image{Version: v.Delta()}
}

// ChangesOf returns the changes of s in the form of the ledger.
func ChangesOf(s delta.Set) []Change {
	changes := make([]Change, len(s))
	for i, c := range s {
		changes[i] = Change{c.Path, VersionOf(c.Pre), VersionOf(c.Post), c.From, c.To}
	}
	return changes
}

// Set returns the changes of e; the bytes of the images are not loaded.
func (e *Entry) Set() delta.Set {
	set := make(delta.Set, len(e.Changes))
	for i, c := range e.Changes {
		set[i] = delta.Change{Path: c.Path, Pre: c.Pre.Image(), Post: c.Post.Image(), From: c.From, To: c.To}
	}
	return set
}

// changeLine is Change on the wire.
type changeLine struct {
	Path Path     `json:"path"`
	Pre  *Version `json:"pre"`
	Post *Version `json:"post"`
	From Path     `json:"from,omitempty"`
	To   Path     `json:"to,omitempty"`
}

// MarshalJSON writes c with paths that survive.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeLine{Path(c.Path), c.Pre, c.Post, Path(c.From), Path(c.To)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var l changeLine
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*c = Change{string(l.Path), l.Pre, l.Post, string(l.From), string(l.To)}
	return nil
}

// MarshalText writes s in hex.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads exactly 64 hex digits.
func (s *Sum) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("sum has %d digits, want %d", len(b), hex.EncodedLen(len(s)))
	}
	_, err := hex.Decode(s[:], b)
	return err
}
