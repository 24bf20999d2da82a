package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// TestWhatIsCollectedUnderAPutIsWrittenAnew: a put finds an old object in a pack, and a collector
// takes the object out before the put has made the pack young. The pack is there all the same.
func TestWhatIsCollectedUnderAPutIsWrittenAnew(t *testing.T) {
	for name, put := range map[string]func(s *Store, c []Content) error{
		"alone":        func(s *Store, c []Content) error { _, err := s.Put(c[0].Data); return err },
		"among others": func(s *Store, c []Content) error { return s.PutAll(c, false) },
		"kept, or told that it is gone": func(s *Store, c []Content) error {
			if s.Keep(c[0].Sum, false) != nil {
				return s.PutAll(c[:1], false)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, collector := reopen(t, dir), reopen(t, dir)
			all := contentsOf(manyContents(2*minPack, 1))
			if err := s.PutAll(all, false); err != nil {
				t.Fatal(err)
			}
			age(t, dir)
			l := flock.New(filepath.Join(dir, lockName))
			if err := l.Lock(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- put(s, all) }()
			waits(t, l.Path())
			if err := collector.Remove(all[0].Sum); err != nil {
				t.Fatal(err)
			}
			if err := l.Unlock(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(all[0].Sum); err != nil || !bytes.Equal(got, all[0].Data) {
				t.Errorf("put, and then: %d bytes, %v", len(got), err)
			}
		})
	}
}

// waits returns once somebody waits for the lock that this process has on a file.
func waits(t *testing.T, path string) {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	_, id := onDisk(st)
	for range 3000 {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip(err)
		}
		for line := range strings.Lines(string(locks)) {
			f := strings.Fields(line)
			if len(f) > 6 && f[1] == "->" && strings.HasSuffix(f[6], fmt.Sprintf(":%d", id.ino)) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody waits for the lock")
}

// TestACloneTakesNoOthersPlace: a file that is there stays.
func TestACloneTakesNoOthersPlace(t *testing.T) {
	dir := t.TempDir()
	from, there := filepath.Join(dir, "from"), filepath.Join(dir, "there")
	if err := errors.Join(os.WriteFile(from, []byte("x"), 0o600), os.WriteFile(there, []byte("theirs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := cloneFile(f, there); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "theirs" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestAHeadThatCannotBeReadIsTold: a sweep that took it for an empty one would remove what a splice is made on.
func TestAHeadThatCannotBeReadIsTold(t *testing.T) {
	if head, err := readHead("/proc/self/mem"); err == nil {
		t.Errorf("%q, no error", head)
	}
}
