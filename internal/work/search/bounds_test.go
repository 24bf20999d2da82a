package search

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sparse makes a file that is said to be large and takes no room.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}

// TestGrepTellsOfLargeFiles: a file that is passed over is named, also when ripgrep passes
// over it, and nothing of it is read.
func TestGrepTellsOfLargeFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("needle\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"1.bin", "2.bin", "3.bin", "4.bin"} {
		sparse(t, filepath.Join(dir, name), 20<<30)
	}
	for _, rg := range []string{"-", ""} {
		s := New(Options{Roots: []string{dir}, Ripgrep: rg, RipgrepFrom: 1, Bytes: 1 << 20})
		lines, missed, err := s.Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
		if err != nil || len(lines) != 2 {
			t.Fatalf("rg %q: %v, %v", rg, lines, err)
		}
		if missed.Larges != 4 || len(missed.Large) != maxNamed || missed.Large[0] != filepath.ToSlash(dir)+"/1.bin" || missed.Stopped {
			t.Errorf("rg %q: %+v", rg, missed)
		}
		_, missed, err = s.Grep(t.Context(), Query{Pattern: "needle", Dir: filepath.Join(dir, "1.bin")})
		if err != nil || missed.Larges != 1 {
			t.Errorf("rg %q: one file: %+v, %v", rg, missed, err)
		}
	}
}

// TestSearchesStop: a search ends when it has read its share or used up its time, and
// says so.
func TestSearchesStop(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("needle\n"+strings.Repeat("x", 1000)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	whole, missed, err := New(Options{Roots: []string{dir}, Ripgrep: "-"}).Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
	if err != nil || len(whole) != 3 || missed.Stopped {
		t.Fatalf("control: %v, %+v, %v", whole, missed, err)
	}
	little := New(Options{Roots: []string{dir}, Ripgrep: "-", Bytes: 1500})
	lines, missed, err := little.Grep(t.Context(), Query{Pattern: "needle", Dir: dir})
	if err != nil || len(lines) != 1 || !missed.Stopped {
		t.Errorf("after so much: %v, %+v, %v", lines, missed, err)
	}
	short := New(Options{Roots: []string{dir}, Ripgrep: "-", Time: time.Nanosecond})
	if lines, missed, err = short.Grep(t.Context(), Query{Pattern: "needle", Dir: dir}); err != nil || len(lines) != 0 || !missed.Stopped {
		t.Errorf("after so long: %v, %+v, %v", lines, missed, err)
	}
	if _, more, err := short.Glob(t.Context(), dir, "**", 10); err != nil || !more {
		t.Errorf("glob after so long: %v, %v", more, err)
	}
	if _, more, err := short.List(t.Context(), dir, 3, 10); err != nil || !more {
		t.Errorf("list after so long: %v, %v", more, err)
	}
}
