//go:build unix

package tree

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSteady: what is written or put in the place of a file while it is read shows in one of three
// things, each of which is enough.
func TestSteady(t *testing.T) {
	sig := Signature{Dev: 1, Ino: 2, Size: 3, Mtime: 4, Ctime: 5}
	another, later := sig, sig
	another.Ino++
	later.Mtime++
	for _, c := range []struct {
		what               string
		named, opened, now Signature
		size               int64
		want               bool
	}{
		{"nothing", sig, sig, sig, 3, true}, {"written before it was opened", later, sig, sig, 3, true},
		{"written while it was read", sig, sig, later, 3, false}, {"read in part", sig, sig, sig, 2, false},
		{"grown and shrunk", sig, sig, sig, 4, false}, {"another file by then", another, sig, sig, 3, false},
	} {
		if got := steady(c.named, c.opened, c.now, c.size); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// TestWhatIsReadIsSignedAsItIs: with the signature that the file had after the reading, not the one
// that its name had before.
func TestWhatIsReadIsSignedAsItIs(t *testing.T) {
	for what, change := range map[string]func(file string) error{
		"nothing": func(string) error { return nil },
		"written": func(file string) error { return os.WriteFile(file, []byte("longer text"), 0o644) },
		"replaced": func(file string) error {
			return os.Rename(file+".new", file)
		},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		write(t, file, "text")
		write(t, file+".new", "other")
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		tr := openTree(t, Options{Roots: []string{dir}})
		d, err := tr.OpenDir(filepath.ToSlash(tr.first))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		st, err := d.h.Lstat("f")
		if err != nil {
			t.Fatal(err)
		}
		e := entryOf(st)
		if err := change(file); err != nil {
			t.Fatal(err)
		}
		if err := d.readFile("f", wanted{limit: 100, whole: 100}, e); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		now, err := d.h.Lstat("f")
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Image.Data) != string(want) || e.Sig != now.Signature || e.stable != (what != "replaced") {
			t.Errorf("%s: %q, stable %v, signed %+v, want %+v", what, e.Image.Data, e.stable, e.Sig, now.Signature)
		}
	}
}

// TestAFileThatStaysIsReadOnce, however often one that is being written is.
func TestAFileThatStaysIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "text")
	tr := openTree(t, Options{Roots: []string{dir}})
	d, err := tr.OpenDir(filepath.ToSlash(tr.first))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	takes := func(look func() (*Entry, error)) float64 {
		return testing.AllocsPerRun(20, func() {
			if e, err := look(); err != nil || !e.stable {
				t.Fatal(e, err)
			}
		})
	}
	once := takes(func() (*Entry, error) { return d.lookOnce("f", wanted{limit: 100, whole: 100}) })
	if all := takes(func() (*Entry, error) { return d.Look("f", 100) }); all > once+once/2 {
		t.Errorf("it takes %v allocations, reading it once %v", all, once)
	}
}
