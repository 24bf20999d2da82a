package store

import "os"

// openForSync opens for writing, without which Windows does not flush.
func openForSync(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }
