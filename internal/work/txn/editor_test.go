//go:build unix

package txn

import (
	"context"
	"errors"
	"os"
	"testing"

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
