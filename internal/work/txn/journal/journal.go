// Package journal keeps the file that says which transaction is under way.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"kerf/internal/atomicfile"
	"kerf/internal/pathname"
	"kerf/internal/work/tree"
)

// File is the file that holds the transaction under way, and is empty otherwise. Whoever
// uses it holds the workspace's lock, except for Pending.
type File struct {
	Path string
	// Before, when not nil, is asked before each change, and its error becomes the call's.
	Before func(op, path string) error
	f      *os.File
}

// Pending reports whether there may be something to recover.
func (j *File) Pending() bool {
	st, err := os.Stat(j.Path)
	return err == nil && (st.Size() > 0 || !st.Mode().IsRegular())
}

func (j *File) ask(op, path string) error {
	if j.Before == nil {
		return nil
	}
	return j.Before(op, path)
}

// Add writes r as one line of JSON, and flushes it if asked.
func (j *File) Add(r any, durable bool) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := j.open(durable); err != nil {
		return err
	}
	if err := j.ask("write", j.Path); err != nil {
		return err
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	if err := j.ask("sync", j.Path); err != nil {
		return err
	}
	return j.f.Sync()
}

// open makes j.f the file that is at the path now. A new one gets a durable name if
// asked.
func (j *File) open(durable bool) error {
	if j.f != nil {
		now, err := os.Stat(j.Path)
		mine, err2 := j.f.Stat()
		if err == nil && err2 == nil && os.SameFile(now, mine) {
			return nil
		}
		_ = j.Close()
	}
	if err := j.ask("create", j.Path); err != nil {
		return err
	}
	_, err := os.Stat(j.Path)
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := atomicfile.OpenFile(j.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	j.f = f
	if !isNew || !durable {
		return nil
	}
	return j.settleName()
}

// NewLevels is how many directories above the journal may have been made with it:
// the workspace's, that of all workspaces, and Kerf's home.
const NewLevels = 3

// settleName makes the name of the journal durable, and those of the directories that
// lead to it.
func (j *File) settleName() error {
	dir := filepath.Dir(j.Path)
	for level := 0; level <= NewLevels; level, dir = level+1, filepath.Dir(dir) {
		if err := j.ask("syncdir", dir); err != nil {
			return err
		}
		if err := atomicfile.SyncDir(dir); err != nil && level == 0 {
			return err // those above may belong to somebody else
		}
	}
	return nil
}

// Close releases the file, which may be used again afterwards.
func (j *File) Close() error {
	if j.f == nil {
		return nil
	}
	err := j.f.Close()
	j.f = nil
	return err
}

// Clear empties the journal. It need not be durable: recovery does nothing for a
// transaction that has been dealt with.
func (j *File) Clear() error {
	if err := j.open(false); err != nil {
		return err
	}
	if err := j.ask("truncate", j.Path); err != nil {
		return err
	}
	return j.f.Truncate(0)
}

// Lines returns what was added, with what a torn write left, zero bytes say.
func (j *File) Lines() ([][]byte, error) {
	data, err := atomicfile.Read(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return bytes.Split(data, []byte("\n")), err
}

// takeAway is what to do about a journal that is of no use.
const takeAway = "look at the files that were to be changed, then take the journal away"

// Records returns the lines of a journal up to the given format. What a torn write left is left out: what it would
// have announced has not begun. A whole line that cannot be understood, and one that no commit writes, are
// an error: files may be half changed, and only the journal knows.
func (j *File) Records(format int) (records [][]byte, err error) {
	lines, err := j.Lines()
	begun := ""
	for i, line := range lines {
		torn := i == len(lines)-1 || len(line) == 0 || bytes.IndexByte(line, 0) >= 0
		line = bytes.Trim(line, "\x00")
		var r about
		switch err := json.Unmarshal(line, &r); {
		case err != nil && torn:
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: line %d is damaged; %s", j.Path, i+1, takeAway)
		case r.V > format:
			return nil, fmt.Errorf("%s was written by a newer Kerf, which can finish it", j.Path)
		case r.Type == "intent" && r.ID != begun || !r.sound():
			return nil, fmt.Errorf("%s: line %d is nothing that Kerf writes; %s", j.Path, i+1, takeAway)
		case r.Type == "begin":
			begun = r.ID
		}
		records = append(records, line)
	}
	return records, err
}

// about is what must be right in a record before anything is done for it.
type about struct {
	V        int
	Type, ID string
	Ops      []*struct {
		Kind      string
		Path, Tmp pathname.Path
		Pre, Post *struct{}
	}
}

// sound reports whether the steps of a record are known ones, and name real paths and temporary files of
// Kerf's own.
func (r *about) sound() bool {
	for _, o := range r.Ops {
		if o == nil || !clean(o.Path) || o.Tmp != "" && !(clean(o.Tmp) && tree.IsTemporary(path.Base(string(o.Tmp)))) {
			return false
		}
		switch o.Kind {
		case "create":
			if o.Post == nil {
				return false
			}
		case "replace", "inplace":
			if o.Pre == nil || o.Post == nil {
				return false
			}
		case "remove", "linked", "mkdir", "rmdir", "chmod":
		default:
			return false
		}
	}
	return true
}

func clean(p pathname.Path) bool { return path.Clean(string(p)) == string(p) }

// PlaceOf is the device and the inode of a root, by which a copy of it is told from it; zero where the system
// does not tell.
func PlaceOf(t *tree.Tree, root string) [2]uint64 {
	d, err := t.OpenDir(root)
	if err != nil {
		return [2]uint64{}
	}
	defer d.Close()
	sig, _ := d.Sig(".") // zero if there is an error
	return [2]uint64{sig.Dev, sig.Ino}
}
