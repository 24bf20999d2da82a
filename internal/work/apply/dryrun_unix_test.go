//go:build unix

package apply

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/ordinary"
)

// TestADryRunEndsAsTheRunWould: whatever the modes of files and directories forbid, a dry run fails
// exactly where the run fails, tells the same files and writes nothing.
func TestADryRunEndsAsTheRunWould(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	ended := map[bool]int{}
	for seed := range uint64(300) {
		ended[dryRunOf(t, rand.New(rand.NewPCG(seed, 1)))]++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if ended[true] < 50 || ended[false] < 50 {
		t.Errorf("the runs ended %v: one kind is rare", ended)
	}
}

// dryRunOf plays one patch, and reports whether it was applied.
func dryRunOf(t *testing.T, r *rand.Rand) bool {
	names := []string{"a", "d/a", "d/b", "d/e/a", "f/a", "f/g/h"}
	before := map[string]string{"kept": ten()}
	for _, name := range names {
		if r.IntN(3) > 0 {
			before[name] = ten("1", name)
		}
	}
	after := maps.Clone(before)
	for range 1 + r.IntN(3) {
		switch name := names[r.IntN(len(names))]; r.IntN(3) {
		case 0:
			delete(after, name)
		default:
			after[name] = ten("1", name, "5", fmt.Sprint(r.IntN(100)+11))
		}
	}
	text := unifiedDiff(before, after)
	if text == "" {
		return true
	}
	p := newPlace(t, before)
	linked := r.IntN(2) == 0 && before["a"] != ""
	if linked {
		p.must(os.MkdirAll(filepath.Join(p.root, "l"), 0o755))
		p.must(os.Link(filepath.Join(p.root, "a"), filepath.Join(p.root, "l", "a")))
	}
	closed := func(mode os.FileMode) os.FileMode {
		if r.IntN(6) == 0 {
			return mode &^ 0o222
		}
		return mode
	}
	modes := map[string]os.FileMode{}
	p.must(filepath.WalkDir(p.root, func(at string, e fs.DirEntry, err error) error {
		modes[at] = closed(0o644)
		if e.IsDir() {
			modes[at] = closed(0o755)
		}
		return err
	}))
	for at, mode := range modes {
		p.must(os.Chmod(at, mode))
	}
	defer func() {
		for at := range modes {
			if st, err := os.Lstat(at); err == nil && st.IsDir() {
				p.must(os.Chmod(at, 0o755))
			}
		}
	}()
	was := p.files()
	dry, dryErr := p.apply(text, Options{DryRun: true})
	if d := cmp.Diff(was, p.files()); d != "" {
		t.Errorf("a dry run wrote:\n%s", d)
	}
	if names, err := os.ReadDir(filepath.Join(filepath.Dir(p.root), "home")); err == nil {
		for _, e := range names {
			if e.Name() == "journal.jsonl" {
				t.Errorf("a dry run left %s", e.Name())
			}
		}
	}
	got, err := p.apply(text, Options{})
	if (err == nil) != (dryErr == nil) {
		t.Errorf("%s\nmodes %v: the dry run ends with %v, the run with %v", text, modes, dryErr, err)
	}
	if d := cmp.Diff(told(got), told(dry)); d != "" && !linked { // the run tells the other name, too
		t.Errorf("told otherwise:\n%s", d)
	}
	return err == nil
}
