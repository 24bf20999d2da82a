package rollout

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/faults"
)

// TestNothingStaysOpen behind any call but those that say so, however it ends.
func TestNothingStaysOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	sound, stop := errors.New("sound"), errors.New("stop")
	read := func(dir string) error { _, _, err := Read(dir); return err }
	resume := func(o Options) func(string) error {
		return func(dir string) error {
			w, _, _, err := Resume(dir, o)
			if err != nil {
				return err
			}
			return w.Close()
		}
	}
	calls := map[string]func(dir string) error{
		"read": read, "open": resume(Options{}), "resume": resume(joined(1)), "resume from anew": resume(joined(0)), "verify": Verify,
		"forward": func(dir string) error {
			for _, err := range Forward(dir, Ahead{}) {
				return err
			}
			return stop
		},
		"backward": func(dir string) error {
			for _, err := range Backward(dir) {
				return err
			}
			return stop
		},
		"find":     func(dir string) error { Find(dir, 1, 0, 0, nil); return nil },
		"line sum": func(dir string) error { _, err := LineSum(dir, 0, 10); return err },
		"metadata": func(dir string) error {
			_, err := LoadMetadata(dir)
			return errors.Join(err, SaveMetadata(dir, Metadata{ID: "y"}))
		},
		"blob": func(dir string) error { _, err := LoadBlob(dir, strings.Repeat("0", 64)); return err },
		"live": func(dir string) error { Live(dir); return nil },
		"hold": func(dir string) error {
			release, err := Hold(dir)
			if err == nil {
				release()
			}
			return err
		},
		"everything": func(dir string) error {
			w, _, err := Extend(dir, joined(1))
			if err != nil {
				return err
			}
			_, err = w.SaveDiff([]byte("+x\n"))
			_, e := w.SaveBlob([]byte("x"))
			return errors.Join(err, e, w.SavePlan("x"), w.NoteMetadata(Metadata{ID: "x"}), w.Append(Entry{"compacted", said{"c"}}), w.Sync(),
				w.Append(Entry{"user_input", said{"x"}}), w.Close())
		},
	}
	spoil := map[string]func(dir string) error{
		"": func(string) error { return sound },
		"a torn end": func(dir string) error {
			b, err := os.ReadFile(file1(dir))
			return errors.Join(err, os.WriteFile(file1(dir), b[:len(b)-20], 0o600))
		},
		"junk": func(dir string) error {
			b, err := os.ReadFile(file1(dir))
			return errors.Join(err, os.WriteFile(file1(dir), append([]byte("junk\n"), b...), 0o600))
		},
		"no record": func(dir string) error { return os.Remove(file1(dir)) },
		"a directory for the record": func(dir string) error {
			return errors.Join(os.Remove(file1(dir)), os.Mkdir(file1(dir), 0o700))
		},
		"a directory for the head": func(dir string) error {
			name := filepath.Join(dir, headName)
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o700))
		},
		"a directory for the new record": func(dir string) error {
			b, err := os.ReadFile(file1(dir))
			return errors.Join(err, os.WriteFile(file1(dir), append([]byte("junk\n"), b...), 0o600), os.MkdirAll(file1(dir)+".new/x", 0o700))
		},
		"a damaged blob": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, blobsName), 0o700),
				os.WriteFile(filepath.Join(dir, blobsName, strings.Repeat("0", 64)), nil, 0o600))
		},
		"other metadata": func(dir string) error { return os.WriteFile(filepath.Join(dir, metadataName), []byte("{"), 0o600) },
		"much metadata": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, metadataName), make([]byte, maxMetadata+1), 0o600)
		},
	}
	for how, change := range spoil {
		for what, call := range calls {
			dir := cutSession(t)
			if err := errors.Join(SaveMetadata(dir, Metadata{ID: "x"}), change(dir)); err != nil && !errors.Is(err, sound) {
				t.Fatal(err)
			}
			for range 2 { // the first may mend it
				err := call(dir)
				if left := faults.Opened(t, dir); len(left) > 0 {
					t.Fatalf("%s, %s (%v): %q stay open", how, what, err, left)
				}
			}
		}
	}
	dir := cutSession(t)
	w, _, _, err := Open(dir, Options{})
	if err != nil || len(faults.Opened(t, dir)) != 3 { // the record, the head, the lock
		t.Fatalf("%v, %q", err, faults.Opened(t, dir))
	}
	if _, _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLive) || len(faults.Opened(t, dir)) != 3 {
		t.Errorf("%v, %q", err, faults.Opened(t, dir))
	}
	if err := w.Close(); err != nil || len(faults.Opened(t, dir)) > 0 {
		t.Errorf("%v, %q", err, faults.Opened(t, dir))
	}
}

// TestALinkInThePlaceOfADiff is not followed when the diff is flushed, nor is a FIFO waited for.
func TestALinkInThePlaceOfADiff(t *testing.T) {
	dir := session(t, 1)
	w, _, err := Extend(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	name, err := w.SaveDiff([]byte("+x\n"))
	if err != nil {
		t.Fatal(err)
	}
	path, other := filepath.Join(dir, name), filepath.Join(dir, "other")
	mustWrite(t, other, nil)
	for what, put := range map[string]func() error{
		"a link": func() error { return os.Symlink(other, path) },
		"a FIFO": func() error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := errors.Join(os.Remove(path), put()); err != nil {
			t.Fatal(err)
		}
		if err := w.Sync(); err == nil {
			t.Errorf("%s is flushed", what)
		}
	}
	if err := errors.Join(os.Remove(path), w.Sync()); err != nil {
		t.Errorf("the diff is gone: %v", err)
	}
}

// TestADirectoryIsClosedToOthers when its session is opened, and is not touched if it is.
func TestADirectoryIsClosedToOthers(t *testing.T) {
	dir := session(t, 1)
	touched := func() int64 {
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		return changedAt(st)
	}
	for _, mode := range []os.FileMode{0o755, 0o700, 0o500} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		w, _, err := Extend(dir, Options{})
		if err != nil {
			t.Fatalf("%v: %v", mode, err)
		}
		was := touched()
		release, err := Hold(dir)
		if !errors.Is(err, ErrLive) || release != nil || touched() != was {
			t.Errorf("%v: %v", mode, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if release, err = Hold(dir); err != nil || touched() != was {
			t.Errorf("%v: it is touched, %v", mode, err)
		}
		release()
	}
	for _, name := range []string{rolloutName, headName, lockName} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		w, _, err := Extend(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	diffs := filepath.Join(dir, diffsName)
	if err := os.Mkdir(diffs, 0o755); err != nil {
		t.Fatal(err)
	}
	w, _, err := Extend(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.SaveDiff([]byte("+x\n")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(diffs); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// changedAt is when something about a file was changed, in nanoseconds.
func changedAt(st os.FileInfo) int64 { return st.Sys().(*syscall.Stat_t).Ctim.Nano() }

// TestAFIFOIsNoFileOfASession, under whichever of its names.
func TestAFIFOIsNoFileOfASession(t *testing.T) {
	path := filepath.Join(t.TempDir(), headName)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := private(path, os.O_RDWR|os.O_CREATE); f != nil || err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v, %v", f, err)
	}
}
