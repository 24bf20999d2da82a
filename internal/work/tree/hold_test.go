package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"kerf/internal/text/delta"
)

func TestHoldKeepsMoreDirectoriesThanItMay(t *testing.T) {
	base, tr := place(t)
	held, release := tr.Hold()
	defer release()
	for range 2 {
		for i := range maxHeld + 20 {
			dir := fmt.Sprintf("%s/w/d%d", base, i)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			d, err := held.OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			again, err := held.OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if again != d {
				t.Fatal("opened twice")
			}
			if _, err := d.Sig("."); err != nil {
				t.Fatal(err)
			}
			again.Close()
			d.Close()
		}
	}
	if n := len(held.held.dirs); n != maxHeld {
		t.Errorf("%d directories are open", n)
	}
	var all []*Dir
	for i := range maxHeld + 20 { // none of them can be closed
		d, err := held.OpenDir(fmt.Sprintf("%s/w/d%d", base, i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	for _, d := range all {
		if _, err := d.Sig("."); err != nil {
			t.Error(err)
		}
		d.Close()
	}
}

// TestSEC_P_HoldStaysWhereItBegan: what somebody does to a directory during a step
// does not lead the step elsewhere, and the next step sees it.
func TestSEC_P_HoldStaysWhereItBegan(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open directories cannot be renamed")
	}
	base, tr := place(t)
	held, release := tr.Hold()
	defer release()
	stage := func(tr *Tree, name string) error {
		real, err := tr.Target(base + "/w/sub/" + name)
		if err != nil {
			return err
		}
		d, err := tr.OpenDir(filepath.ToSlash(filepath.Dir(real)))
		if err != nil {
			return err
		}
		defer d.Close()
		_, err = d.Stage(name, delta.NewFile([]byte("x"), 0o644), StageOptions{})
		return err
	}
	if err := stage(held, "one"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(base+"/w/sub", base+"/w/moved"); err != nil {
		t.Fatal(err)
	}
	link(t, base+"/out", base+"/w/sub")
	if err := stage(held, "two"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(base + "/w/moved/two"); err != nil {
		t.Error(err)
	}
	next, done := tr.Hold()
	defer done()
	var outside *OutsideError
	if err := stage(next, "three"); !errors.As(err, &outside) {
		t.Error(err)
	}
	if list, err := os.ReadDir(base + "/out"); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

func TestHoldForgetsWhatItRemoves(t *testing.T) {
	base, tr := place(t)
	held, release := tr.Hold()
	defer release()
	root, err := held.OpenDir(base + "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for i := range 3 {
		d, err := held.OpenDir(base + "/w/sub")
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("f", i)
		if _, err := d.Stage(name, delta.NewFile(nil, 0o644), StageOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := d.Unlink(name); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if err := root.Rmdir("sub"); err != nil {
			if runtime.GOOS == "windows" {
				t.Skip("open directories cannot be removed")
			}
			t.Fatal(err)
		}
		if err := root.Mkdir("sub", 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHoldResolvesAsTheTreeDoes compares the short way with the long one.
func TestHoldResolvesAsTheTreeDoes(t *testing.T) {
	base, tr := place(t)
	link(t, "sub", base+"/w/inside")
	link(t, base+"/out", base+"/w/outside")
	link(t, "f", base+"/w/file")
	link(t, "nowhere", base+"/w/broken")
	write(t, base+"/w/sub/x", "x")
	held, release := tr.Hold()
	defer release()
	for _, rel := range []string{"", "/f", "/file", "/sub", "/sub/x", "/inside", "/inside/x", "/inside/new", "/outside",
		"/outside/victim", "/broken", "/broken/x", "/new/deep/er", "/f/below"} {
		for range 2 { // the second time from memory
			want, wantErr := tr.Target(base + "/w" + rel)
			got, err := held.Target(base + "/w" + rel)
			if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("target of %q: %q, %v; want %q, %v", rel, got, err, want, wantErr)
			}
			want, wantErr = tr.Entry(base + "/w" + rel)
			got, err = held.Entry(base + "/w" + rel)
			if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("entry of %q: %q, %v; want %q, %v", rel, got, err, want, wantErr)
			}
		}
	}
}
