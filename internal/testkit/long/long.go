// Package long says how much the long laws play. KERF_LONG=1 plays what a small machine comes to the end of in
// an hour or two for all packages (make long), KERF_LONG=all all there is (make nightly).
package long

import (
	"os"
	"testing"
)

// Asked reports whether KERF_LONG is set.
func Asked() bool { return os.Getenv("KERF_LONG") != "" }

// Of is all, part or few: with KERF_LONG=all, with another KERF_LONG, and without.
func Of[T any](all, part, few T) T {
	switch os.Getenv("KERF_LONG") {
	case "all":
		return all
	case "":
		return few
	}
	return part
}

// Slow leaves a test out of the quick loop, go test -short.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
}
