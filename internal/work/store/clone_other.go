//go:build !linux && !darwin

package store

import (
	"errors"
	"os"
)

// cloneFile makes path a file that shares its blocks with f.
func cloneFile(_ *os.File, _ string) error { return errors.ErrUnsupported }

// cloneInto lets the file to have the blocks of from.
func cloneInto(_, _ *os.File) error { return errors.ErrUnsupported }
