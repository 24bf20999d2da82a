package guide

import "golang.org/x/sys/unix"

// system names the system and its version.
func system() string {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return "macOS"
	}
	return "macOS " + version
}
