//go:build unix

package store

import "os"

func openForSync(path string) (*os.File, error) { return os.Open(path) }
