package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/tree"
)

// TestReadingAheadTellsTheSame compares what was read ahead with what is read when it
// is asked for.
func TestReadingAheadTellsTheSame(t *testing.T) {
	root := t.TempDir()
	var paths []string
	for i := range 50 {
		name := fmt.Sprintf("d%d/f%d", i%3, i)
		paths = append(paths, name)
		if i%7 == 6 {
			continue // not there
		}
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths = append(paths, "d1", "d1/f1/below", "../outside", "")
	tr, err := tree.Open(tree.Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	held, release := tr.Hold()
	defer release()
	ahead := &reader{t: held, room: &room{}}
	ahead.ahead(paths)
	if len(ahead.known) != len(paths) {
		t.Fatalf("%d of %d files were read ahead", len(ahead.known), len(paths))
	}
	for _, p := range paths {
		want, wantErr := (&reader{t: tr, room: &room{}}).read(p)
		got, err := ahead.read(p)
		if d := cmp.Diff(want, got); d != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%q: %v, want %v\n%s", p, err, wantErr, d)
		}
	}
}
