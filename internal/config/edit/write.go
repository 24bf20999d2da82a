package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kerf/internal/atomicfile"
	"kerf/internal/config/document"
)

// Rewrite replaces file by what change makes of it, all or nothing: written
// aside, synced, renamed. A link is followed and its target replaced; mode is
// kept. When another process changed the file meanwhile, change runs again on
// the new content.
func Rewrite(file string, change func([]byte) ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = file, nil
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	const attempts = 5
	for range attempts {
		done, err := rewriteOnce(target, change)
		if err != nil {
			var fault *document.Error
			if errors.As(err, &fault) {
				fault.File = file
				return fault
			}
			return fmt.Errorf("write %s: %w", file, err)
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("write %s: another process keeps changing it", file)
}

func rewriteOnce(target string, change func([]byte) ([]byte, error)) (bool, error) {
	old, mode, err := current(target)
	if err != nil {
		return false, err
	}
	doc, err := change(old)
	if err != nil {
		return false, err
	}
	if bytes.Equal(doc, old) {
		return true, nil
	}
	aside, err := atomicfile.Aside(target, doc, mode)
	if err != nil {
		return false, err
	}
	now, _, err := current(target)
	if err != nil || !bytes.Equal(now, old) {
		return false, errors.Join(err, os.Remove(aside))
	}
	return true, atomicfile.Rename(aside, target)
}

func current(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if err := document.Readable(file, info); err != nil {
		return nil, 0, err
	}
	data, err := os.ReadFile(file)
	return data, info.Mode().Perm(), err
}
