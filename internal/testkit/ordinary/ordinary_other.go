//go:build !linux

package ordinary

import (
	"os"
	"testing"
)

// Bound reports whether the modes of files bind this process.
func Bound() bool { return os.Geteuid() != 0 }

// Run reports whether a test goes on in this process; here it always does.
func Run(*testing.T) bool { return true }
