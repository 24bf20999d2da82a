package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/faults"
	"kerf/internal/testkit/memory"
	"kerf/internal/testkit/powerloss"
	"kerf/internal/text/delta"
)

const roleKey, sizeKey = "KERF_STORE_ROLE", "KERF_STORE_SIZE"

func TestMain(m *testing.M) {
	faults.Child()
	if role := os.Getenv(roleKey); role != "" {
		if err := durably(role, os.Getenv("KERF_STORE_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(memory.Run(m))
}

// roles are the ways in which contents become durable.
var roles = map[string]func(s *Store, data []byte, file *os.File) error{
	"put": func(s *Store, data []byte, _ *os.File) error {
		_, err := s.PutSync(data)
		return err
	},
	"put again": func(s *Store, data []byte, _ *os.File) error {
		if _, err := s.Put(data); err != nil {
			return err
		}
		_, err := s.PutSync(data)
		return err
	},
	"put, then flushed": func(s *Store, data []byte, _ *os.File) error {
		sum, err := s.Put(data)
		return errors.Join(err, s.Sync(sum))
	},
	"put with others": func(s *Store, data []byte, _ *os.File) error {
		var list []Content
		for i := range 40 {
			more := fmt.Appendf(bytes.Clone(data), "%d", i)
			list = append(list, Content{Sum: delta.SumOf(more), Data: more})
		}
		return s.PutAll(append(list, Content{Sum: delta.SumOf(data), Data: data}), true)
	},
	"a file": func(s *Store, _ []byte, f *os.File) error {
		_, err := s.PutFile(Source{File: f, Durable: true})
		return err
	},
	"a file by a second name": func(s *Store, _ []byte, f *os.File) error {
		_, err := s.PutFile(Source{File: f, Link: f.Name(), Durable: true})
		return err
	},
	"a file, and it again": func(s *Store, _ []byte, f *os.File) error {
		_, err := s.PutFile(Source{File: f, Link: f.Name()})
		if err == nil {
			_, err = f.Seek(0, 0)
		}
		if err == nil {
			_, err = s.PutFile(Source{File: f, Link: f.Name(), Durable: true})
		}
		return err
	},
}

// contents are what the roles make durable: some that fits in memory, and for those with a file
// more, which is kept as it is or, as text, compressed.
func contents(role string) map[string][]byte {
	small, large := []byte(strings.Repeat("a line that is kept\n", 4000)), incompressible(maxWhole+1000)
	switch role {
	case "a file":
		text := []byte(strings.Repeat("a line that is kept\n", 60_000))
		return map[string][]byte{"small": small, "large": large, "large text": text}
	case "a file by a second name", "a file, and it again":
		return map[string][]byte{"large": large}
	}
	return map[string][]byte{"small": small}
}

// durably makes a content durable in one of the ways.
func durably(role, dir string) error {
	s, err := Open(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	defer s.Close()
	content := contents(role)[os.Getenv(sizeKey)]
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return roles[role](s, content, f)
}

// TestWhatIsDurableSurvivesALossOfPower: a process makes a content durable and ends; then power is
// lost. Whatever of that was not flushed may be gone, and the content is there. The flushes are
// those that the kernel was asked for.
func TestWhatIsDurableSurvivesALossOfPower(t *testing.T) {
	for role := range roles {
		for size, content := range contents(role) {
			t.Run(role+", "+size, func(t *testing.T) {
				t.Parallel()
				losePower(t, role, size, content)
			})
		}
	}
}

func losePower(t *testing.T, role, size string, content []byte) {
	base := t.TempDir()
	d, err := powerloss.New(base)
	if err != nil {
		t.Fatal(err)
	}
	var watching error
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleKey+"="+role, sizeKey+"="+size, "KERF_STORE_DIR="+base)
	var out strings.Builder
	cmd.Stderr = &out
	_, err = faults.Run(cmd, faults.Plan{Below: []string{base}, See: func(c faults.Call) {
		watching = errors.Join(watching, d.Observe())
		switch {
		case c.Name == "syncfs":
			d.FlushAll()
		case c.Flush():
			d.Flush(c.Path)
		}
	}})
	if errors.Is(err, faults.ErrUnavailable) {
		t.Skip(err)
	}
	if err = errors.Join(err, watching, d.Observe()); err != nil {
		t.Fatalf("%v %s", err, out.String())
	}
	var states []powerloss.State
	var hows []string
	d.Losses(rand.New(rand.NewPCG(1, 2)), true, func(how string, s powerloss.State) {
		states, hows = append(states, s), append(hows, how)
	})
	for i, state := range states {
		if err := state.Build(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(filepath.Join(base, "store"))
		if err != nil {
			t.Fatalf("%s: %v", hows[i], err)
		}
		got, err := s.Get(delta.SumOf(content))
		_ = s.Close()
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%s: %d bytes, %v", hows[i], len(got), err)
		}
	}
	t.Logf("%d states", len(states))
}

// TestNothingStaysOpen: files that are put, copied out and looked through by collections are closed.
func TestNothingStaysOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what is forgotten
	s := openStore(t)
	pre := largeText(1)
	putPair(t, s, pre, append([]byte("first\n"), pre...))
	data := incompressible(maxWhole + 1000)
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	var before int
	for i := range 20 {
		if i == 1 { // the first round may open what stays on purpose
			before = open()
		}
		f := fileOf(t, data)
		kept, err := s.PutFile(Source{File: f})
		if err == nil {
			err = s.CopyTo(kept.Sum, f)
		}
		if err == nil {
			_, err = s.Sweep(t.Context(), s.Horizon(time.Now()), func(Object) bool { return true }, false)
		}
		if err = errors.Join(err, s.Remove(kept.Sum), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+5 {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

// TestAFileThatGrowsIsKeptWhole: the kernel says that it is empty, and it is large.
func TestAFileThatGrowsIsKeptWhole(t *testing.T) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	s := openStore(t)
	kept, err := s.PutFile(Source{File: f})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(kept.Sum); err != nil || int64(len(data)) != kept.Size || delta.SumOf(data) != kept.Sum {
		t.Errorf("%+v: %d bytes, %v", kept, len(data), err)
	}
}

// TestAGiftFromAnotherFileSystem that cannot be removed there is told of.
func TestAGiftFromAnotherFileSystem(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "kerf-gift-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	data := incompressible(maxWhole + 1)
	s := openStore(t)
	other := filepath.Join(dir, "file")
	if err := os.WriteFile(other, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Rename(other, filepath.Join(t.TempDir(), "x")) == nil {
		t.Skip("it is the same file system")
	}
	if _, err := s.PutFile(Source{File: fileOf(t, data), Take: dir}); err == nil {
		t.Error("it is there, and nobody is told")
	}
	checkHas(t, s, delta.SumOf(data), data)
	if kept, err := s.PutFile(Source{File: fileOf(t, data), Take: other}); err != nil || kept.How != Known {
		t.Errorf("a gift that is known: %+v, %v", kept, err)
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("a gift that was copied is there")
	}
}
