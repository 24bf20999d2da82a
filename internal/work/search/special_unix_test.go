//go:build unix

package search

import (
	"path/filepath"
	"testing"

	"kerf/internal/work/boundary"
)

// anything is a boundary that hides nothing.
type anything struct{}

func (anything) At(string) boundary.Verdict { return boundary.Verdict{Access: boundary.Writable} }
func (anything) Of(string, boundary.FileID, bool) boundary.Verdict {
	return boundary.Verdict{Access: boundary.Writable}
}
func (anything) HidesBelow(string) bool { return false }

// TestSEC_P4_SearchesDoNotWaitForAFIFO: a FIFO in the place of a directory, or of a file, is
// an error, and nobody waits for somebody to write into it.
func TestSEC_P4_SearchesDoNotWaitForAFIFO(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	fifo(t, pipe)
	for name, s := range map[string]*Searcher{"bounded": New(Options{Roots: []string{dir}, Ripgrep: "-", Boundary: anything{}}),
		"free": New(Options{Roots: []string{dir}, Ripgrep: "-"})} {
		if _, _, err := s.Glob(t.Context(), pipe, "*", 10); err == nil {
			t.Errorf("%s: glob: no error", name)
		}
		if _, _, err := s.List(t.Context(), pipe, 1, 10); err == nil {
			t.Errorf("%s: list: no error", name)
		}
		if _, _, err := s.Glob(t.Context(), filepath.Join(pipe, "x"), "*", 10); err == nil {
			t.Errorf("%s: glob below: no error", name)
		}
		if _, _, err := s.Grep(t.Context(), Query{Pattern: "x", Dir: pipe}); err == nil {
			t.Errorf("%s: grep: no error", name)
		}
		if paths, _, err := s.Glob(t.Context(), dir, "*", 10); err != nil || len(paths) != 1 {
			t.Errorf("%s: control: %v, %v", name, paths, err)
		}
	}
}
