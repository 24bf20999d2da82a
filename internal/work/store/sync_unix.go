//go:build unix

package store

import "os"

func openForSync(path string) (*os.File, error) { return os.Open(path) }

// syncDir makes the names in a directory durable.
func (s *Store) syncDir(dir string) error {
	if err := s.ask("syncdir", dir); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
