package ledger

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/atomicfile"
)

// Move says that the directory From, with all below it, was found again as To. The
// entries up to Seq tell its files by their former names; they are read with the new
// ones. The lines of the ledger stay as they are.
type Move struct {
	From Path  `json:"from"`
	To   Path  `json:"to"`
	Seq  int64 `json:"seq"`
	// At is when it was found, in the list that NoteMove keeps.
	At time.Time `json:"at,omitzero"`
}

const movedName = "moved.jsonl"

// Path is what p is called now.
func (m Move) Path(p string) string {
	rest, ok := strings.CutPrefix(p, string(m.From))
	if !ok || rest != "" && rest[0] != '/' {
		return p
	}
	return string(m.To) + rest
}

// Moves lists those of the ledger in dir, the oldest first.
func Moves(dir string) []Move {
	data, err := atomicfile.Read(filepath.Join(dir, movedName))
	if err != nil {
		return nil
	}
	var list []Move
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var m Move
		if json.Unmarshal(line, &m) == nil && m.From != "" && m.To != "" {
			list = append(list, m)
		}
	}
	return list
}

// AddMove notes that what the ledger in dir is about was found again elsewhere. Doing so
// twice is the same as once.
func AddMove(dir string, from, to string) error {
	l, err := Open(dir)
	if err != nil {
		return err
	}
	m := Move{From: Path(from), To: Path(to)}
	last, err := l.Tail(1)
	if err != nil {
		return err
	}
	if len(last) > 0 {
		m.Seq = last[0].Seq
	}
	if have := Moves(dir); len(have) > 0 && have[len(have)-1] == m {
		return nil
	}
	return appendMove(dir, m)
}

// NoteMove adds a move to the list in a directory, which Moves reads: that of the
// directories of all workspaces has them for what tells of directories by their former
// names and has no ledger of its own.
func NoteMove(dir, from, to string) error {
	return appendMove(dir, Move{From: Path(from), To: Path(to), At: time.Now()})
}

// Now is what a directory that was called p at some moment is called now.
func Now(moves []Move, p string, then time.Time) string {
	for _, m := range moves {
		if then.Before(m.At) {
			p = m.Path(p)
		}
	}
	return p
}

func appendMove(dir string, m Move) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := atomicfile.OpenFile(filepath.Join(dir, movedName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

// Renamed is e with the names that its files have now.
func (e Entry) Renamed(moves []Move) Entry {
	for _, m := range moves {
		if e.Seq > m.Seq {
			continue
		}
		for i := range e.Changes {
			c := &e.Changes[i]
			c.Path, c.From, c.To = m.Path(c.Path), m.Path(c.From), m.Path(c.To)
		}
		for _, list := range [][]Path{e.Only, e.Dirs} {
			for i := range list {
				list[i] = Path(m.Path(string(list[i])))
			}
		}
		for i := range e.Gone {
			e.Gone[i].Path = Path(m.Path(string(e.Gone[i].Path)))
		}
		for i := range e.Modes {
			e.Modes[i].Path = Path(m.Path(string(e.Modes[i].Path)))
		}
		for i := range e.Gaps {
			e.Gaps[i].Path = Path(m.Path(string(e.Gaps[i].Path)))
		}
	}
	return e
}
