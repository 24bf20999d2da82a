package document

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 1 << 20

// ReadFile parses a file; nil means there is none.
func ReadFile(path string) (*Value, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: path, Message: Cause(err)}
	}
	if err := Readable(path, info); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Message: Cause(err)}
	}
	return Parse(path, data)
}

// Readable refuses what is no regular file or is too large.
func Readable(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &Error{File: path, Message: "expected a regular file"}
	}
	if info.Size() > MaxFile {
		return &Error{File: path, Message: fmt.Sprintf("is larger than %d bytes", MaxFile)}
	}
	return nil
}

// Cause is the reason in a file error, without operation and path.
func Cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
