//go:build !windows

package atomicfile

import (
	"errors"
	"os"
)

// SyncDir returns when the names in a directory are on disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
