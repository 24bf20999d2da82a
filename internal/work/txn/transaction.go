package txn

import (
	"encoding/json"
	"errors"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/journal"
	"kerf/internal/work/txn/modes"
	"kerf/internal/work/txn/onefile"
)

const journalFormat = 1

// The kinds of operations.
const (
	opCreate  = "create"  // the staged file gets the name, which is free
	opReplace = "replace" // the staged file trades names with the old one
	opInPlace = "inplace" // the old file gets new content
	opRemove  = "remove"  // the file gets the temporary name
	opLinked  = "linked"  // another name of a file that another operation writes in place
	opMkdir   = "mkdir"
	opRmdir   = "rmdir"
	opChmod   = "chmod" // a directory is opened, and gets its permission bits in the end
)

// op is one step on one path. The exported part is in the journal. Ops are told apart by their pointers.
type op struct {
	_    [0]func()       // what they hold is never compared
	Kind string          `json:"kind"`
	Path ledger.Path     `json:"path"`          // real
	Tmp  ledger.Path     `json:"tmp,omitempty"` // real; where the staged or removed file is
	Pre  *ledger.Version `json:"pre"`
	Post *ledger.Version `json:"post"`
	From ledger.Path     `json:"from,omitempty"`
	To   ledger.Path     `json:"to,omitempty"`
	At   int             `json:"at"` // the place of the change in the set
	// Mode are the permission bits of a directory that is made, if Fixed, that is
	// removed, or that gets them; Was are those before, which may be the same, and Dir
	// identifies it.
	Mode  uint32   `json:"mode,omitempty"`
	Was   uint32   `json:"was,omitempty"`
	Fixed bool     `json:"fixed,omitempty"`
	Dir   modes.ID `json:"dir,omitzero"`
	// Maybe says that a directory is removed only if it can be.
	Maybe bool `json:"maybe,omitempty"`

	asked     string // the path as the change names it
	pre, post *delta.Image
	seen      *tree.Entry // what validation found, nil for nothing
	first     bool        // frees a name that another operation needs
	staged    onefile.Staged
	skip      bool // failed in a best-effort commit
	rests     bool // a recovery has nothing to do for it
	exchanged bool // the names were traded in one step, so no third one is in use
	begun     bool // the file was written in place, by this process
	tried     bool // of a directory, to open it
}

// isChange reports whether o is a change of a file, and not only of a directory.
func (o *op) isChange() bool { return o.Kind != opMkdir && o.Kind != opRmdir && o.Kind != opChmod }

// takes reports whether o takes a file away, which has the temporary name then.
func (o *op) takes() bool { return o.Kind == opReplace || o.Kind == opRemove }

// moves reports whether a file gets or loses its name with o.
func (o *op) moves() bool { return o.takes() || o.Kind == opCreate }

// key tells the operations of all transactions apart.
func (o *op) key(id string) string { return id + o.Kind + string(o.Path) }

// lasts reports whether something is other after o, and not only while the commit works.
func (o *op) lasts() bool { return o.Kind != opChmod || o.Was != o.Mode }

// name is the path to show in errors.
func (o *op) name() string {
	if o.asked != "" {
		return o.asked
	}
	return string(o.Path)
}

func (o *op) change() delta.Change {
	return delta.Change{Path: string(o.Path), Pre: o.pre, Post: o.post, From: string(o.From), To: string(o.To)}
}

// record is one line of the journal.
type record struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "begin" or "intent"
	ID   string `json:"id"`
	// Begin:
	Roots []ledger.Path `json:"roots,omitempty"`
	Each  bool          `json:"each,omitempty"` // each file is committed for itself
	Entry *ledger.Entry `json:"entry,omitempty"`
	Ops   []*op         `json:"ops,omitempty"`
	// Place is the device and the inode of the first root. In a tree that was copied or
	// restored they are others, and so are those of what was staged.
	Place [2]uint64 `json:"place,omitzero"`
	// Intent: what was staged, in the order of Ops.
	Staged []onefile.Staged `json:"staged,omitempty"`
}

// renamed gives a transaction the names that its files have, if the workspace was found
// elsewhere while it was open.
func (t *transaction) renamed(moves []ledger.Move) {
	for _, m := range moves {
		if len(t.Roots) == 0 || t.Roots[0] != m.From {
			continue
		}
		for i, r := range t.Roots {
			t.Roots[i] = ledger.Path(m.Path(string(r)))
		}
		for _, o := range t.Ops {
			for _, p := range []*ledger.Path{&o.Path, &o.Tmp, &o.From, &o.To} {
				*p = ledger.Path(m.Path(string(*p)))
			}
		}
		if t.Entry != nil {
			e := t.Entry.Renamed([]ledger.Move{m})
			t.Entry = &e
		}
	}
}

// forgetInodes has the files that were staged told by their contents: the tree is a copy
// of the one that they were staged in.
func (t *transaction) forgetInodes() {
	for _, o := range t.Ops {
		o.staged.Ino, o.Dir = 0, modes.ID{}
	}
}

// transaction is what the journal tells about one.
type transaction struct {
	record
	intent bool
	away   []*op // changes of files whose root is not there
}

// readJournal returns the transactions in the journal. One may begin several times, each time knowing more.
func readJournal(j *journal.File) ([]*transaction, error) {
	var txs []*transaction
	lines, err := j.Records(journalFormat)
	for _, line := range lines {
		var r record
		switch n := len(txs); {
		case json.Unmarshal(line, &r) != nil:
			return nil, errors.New(j.Path + " cannot be read: look at the files, then take it away")
		case r.Type == "begin" && n > 0 && txs[n-1].ID == r.ID:
			txs[n-1].record = r
		case r.Type == "begin":
			txs = append(txs, &transaction{record: r})
		case r.Type == "intent":
			txs[n-1].intend(r.Staged)
		}
	}
	return txs, err
}

func (t *transaction) intend(made []onefile.Staged) {
	t.intent = true
	for i, s := range made {
		if i < len(t.Ops) {
			t.Ops[i].setStaged(s)
		}
	}
}

// setStaged notes what was staged for o; its mode is the one that the file got.
func (o *op) setStaged(s onefile.Staged) {
	o.staged = s
	if s == (onefile.Staged{}) || o.Post == nil || o.Post.Kind != delta.File {
		return
	}
	o.Post.Mode = s.Mode
	if o.post != nil {
		img := *o.post // the caller's image stays as it is
		img.Mode = s.Mode
		o.post = &img
	}
}
