//go:build unix

package txn

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

// TestSEC_E6_ForeignSaveSurvives lets an editor save, in place or by rename, before
// every call of a commit. Its bytes are there afterwards, in the file or in what the
// commit was made for, and the commit that met them says so.
func TestSEC_E6_ForeignSaveSurvives(t *testing.T) {
	saves := map[string]func(p string) error{
		"in place": func(p string) error { return os.WriteFile(p, []byte("theirs"), 0o644) },
		"rename": func(p string) error {
			if err := os.WriteFile(p+"~", []byte("theirs"), 0o644); err != nil {
				return err
			}
			return os.Rename(p+"~", p)
		},
	}
	changes := map[string]func(f *fixture) delta.Set{
		"edit":   func(f *fixture) delta.Set { return delta.Set{f.change("a", "ours!!")} },
		"edits":  func(f *fixture) delta.Set { return delta.Set{f.change("a", "ours!!"), f.change("b", "B")} },
		"linked": func(f *fixture) delta.Set { return delta.Set{f.change("h", "ours!!")} },
		"links":  func(f *fixture) delta.Set { return delta.Set{f.change("b", "B"), f.change("h", "ours!!")} },
		"delete": func(f *fixture) delta.Set { return delta.Set{f.change("b", "B"), f.change("a")} },
		"create": func(f *fixture) delta.Set { return delta.Set{f.change("b", "B"), f.change("n", "ours!!")} },
		"move":   func(f *fixture) delta.Set { return f.move("a", "to") },
	}
	target := map[string]string{"linked": "h", "links": "h", "create": "n"}
	for how, save := range saves {
		for what, change := range changes {
			name := target[what]
			if name == "" {
				name = "a"
			}
			t.Run(how+" "+what, func(t *testing.T) { foreignSaves(t, save, change, name) })
		}
	}
}

func foreignSaves(t *testing.T, save func(p string) error, change func(f *fixture) delta.Set, name string) {
	step := 1
	if os.Getenv("KERF_LONG") == "" {
		step = 4
	}
	for k := 1; ; k += step {
		f := newFixture(t)
		f.write("a", "before", "b", "b", "h", "before")
		if err := os.Link(f.path("h"), f.path("h2")); err != nil {
			t.Skip(err)
		}
		n, last := 0, ""
		w := f.open(false, func(op, path string) error {
			if n++; n == k {
				last = op + " " + path
				return save(f.path(name))
			}
			return nil
		})
		_, err := w.Commit(context.Background(), change(f), CommitOptions{})
		got := "nothing"
		if img := f.image(name); img != nil {
			got = string(img.Data)
		}
		var mm *MismatchError
		switch {
		case got == "theirs" && (err == nil || errors.As(err, &mm)):
		case n < k && err == nil:
		default:
			t.Fatalf("call %d (%s): file is %q, error %v", k, last, got, err)
		}
		if theirs := delta.NewFile([]byte("theirs"), 0o644); mm != nil && (mm.Path != f.path(name) || mm.Have != theirs.Version) {
			t.Errorf("call %d (%s): %+v is said to be there", k, last, mm)
		}
		f.open(false, nil)
		f.checkClean()
		if img := f.image(name); n >= k && (img == nil || string(img.Data) != "theirs") {
			t.Fatalf("call %d (%s): recovery took the save away", k, last)
		}
		if n < k {
			return
		}
	}
}

// TestADirectoryThatSomebodyMoves goes with all that a commit did in it, or with nothing of it, and no other file is left
// in it, before whichever call it is moved.
func TestADirectoryThatSomebodyMoves(t *testing.T) {
	for _, moved := range []string{"p", "p/d", "p/e/f"} {
		for k := 1; ; k++ {
			f := newFixture(t)
			f.write("p/d/a", "a", "p/d/a2", "a2", "p/e/f/b", "b", "p/c", "c", "q", "q")
			old, n := f.snapshot(), 0
			w := f.open(false, func(op, path string) error {
				if n++; n == k {
					return os.Rename(f.path(moved), f.path("zz"))
				}
				return nil
			})
			_, err := w.Commit(context.Background(), delta.Set{f.change("p/d/a"), f.change("p/d/new", "new"), f.change("p/e/f/b", "B"),
				f.change("p/e/g", "g"), f.change("p/c"), f.change("p/n/x", "x"), f.change("q", "Q")}, CommitOptions{})
			got, want := f.snapshot(), maps.Clone(old)
			if err == nil {
				delete(want, "p/d/a")
				delete(want, "p/c")
				for name, text := range map[string]string{"p/d/new": "new", "p/e/f/b": "B", "p/e/g": "g", "p/n/x": "x", "q": "Q"} {
					want[name] = old["q"][:len(old["q"])-1] + text
				}
				want["p/n"] = old["p"]
			}
			if n >= k {
				for name, is := range maps.Clone(want) {
					if rest, ok := strings.CutPrefix(name, moved); ok && (rest == "" || rest[0] == '/') {
						delete(want, name)
						want["zz"+rest] = is
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s moved before call %d: %v (-want +got):\n%s", moved, k, err, diff)
			}
			if n < k {
				break
			}
		}
	}
}
