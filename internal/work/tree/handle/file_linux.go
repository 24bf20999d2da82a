package handle

import "golang.org/x/sys/unix"

// Sync flushes the content.
func (f File) Sync() error {
	_, err := again(func() (int, error) { return 0, unix.Fsync(f.fd) })
	return err
}
