package pathname

import (
	"path/filepath"
	"testing"
)

func TestInside(t *testing.T) {
	tests := []struct {
		dir, path, rel string
		inside         bool
	}{
		{"/a", "/a", ".", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/ab", "", false},
		{"/a", "/a/..b", "..b", true},
		{"/a/b", "/a", "", false},
		{"/", "/a", "a", true},
		{"/", "/", ".", true},
		{"a", "a/b", "b", true},
		{"/a", "b", "", false},
	}
	for _, tt := range tests {
		dir, path := filepath.FromSlash(tt.dir), filepath.FromSlash(tt.path)
		rel, ok := Rel(dir, path)
		if filepath.ToSlash(rel) != tt.rel || ok != tt.inside || Inside(dir, path) != tt.inside {
			t.Errorf("Rel(%q, %q): got %q, %t; want %q, %t", dir, path, rel, ok, tt.rel, tt.inside)
		}
		if got := Under(tt.dir, tt.path); got != tt.inside {
			t.Errorf("Under(%q, %q): got %t", tt.dir, tt.path, got)
		}
	}
	if Inside(filepath.FromSlash("/a/b"), filepath.FromSlash("/a/b/../c")) {
		t.Error("Inside does not clean names")
	}
}

func TestShort(t *testing.T) {
	a := filepath.FromSlash("/a")
	for path, want := range map[string]string{"/a/b": "b", "/a": ".", "/b": "/b"} {
		if got := Short(a, filepath.FromSlash(path)); got != filepath.FromSlash(want) {
			t.Errorf("Short(%q): got %q, want %q", path, got, want)
		}
	}
	if got := Short("", "b"); got != "b" {
		t.Errorf("without a directory: got %q", got)
	}
}
