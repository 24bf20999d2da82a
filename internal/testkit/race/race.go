// Package race says whether the race detector watches the tests.
package race

// Costs is how much more memory a program takes that looks for races: for eight bytes the detector keeps 32 about who
// touched them (Go's manual, "Data Race Detector": five to ten times).
func Costs() int {
	if Watched {
		return 5
	}
	return 1
}
