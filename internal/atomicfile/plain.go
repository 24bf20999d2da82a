package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// ErrKind says that there is something else where a file of Kerf's own should be: a pipe, say,
// in which a reader would wait for ever, or a device that has no end.
var ErrKind = errors.New("this is no file")

// Plain returns an error if there is something at path and it is no file.
func Plain(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: ErrKind}
	}
	return nil
}

// Open is os.Open for files only.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for files only.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if err := Plain(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flag, mode)
}

// Read is os.ReadFile for files only.
func Read(path string) ([]byte, error) {
	if err := Plain(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
