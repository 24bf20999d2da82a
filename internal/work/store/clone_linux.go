package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// cloneFile makes path a file that shares its blocks with f.
func cloneFile(f *os.File, path string) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	return cloneInto(f, to)
}

// cloneInto lets the file to have the blocks of from.
func cloneInto(from, to *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}
