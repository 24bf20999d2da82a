// Package journal keeps the file that says which transaction is under way.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"kerf/internal/atomicfile"
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
	return err == nil && st.Size() > 0
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
	f, err := os.OpenFile(j.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
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

// Lines returns what was added, with what a torn write left.
func (j *File) Lines() (lines [][]byte, err error) {
	data, err := os.ReadFile(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		lines = append(lines, bytes.Trim(line, "\x00"))
	}
	return lines, err
}
