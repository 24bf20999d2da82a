//go:build !linux && !darwin && !windows

package guide

import "runtime"

// system names the system.
func system() string { return runtime.GOOS }
