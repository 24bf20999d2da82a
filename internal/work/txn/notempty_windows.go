package txn

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }

// syncDir does nothing: Windows has no way to flush a directory.
func syncDir(string) error { return nil }
