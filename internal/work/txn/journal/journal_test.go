package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// made is a journal in a directory four levels below a temporary one, and what it asks before each
// change. An error of refuse is the answer.
func made(t *testing.T) (j *File, asked *[]string, refuse map[string]error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home", "workspaces", "id", "journal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	asked, refuse = new([]string), map[string]error{}
	j = &File{Path: filepath.Join(dir, "journal.jsonl"), Before: func(op, path string) error {
		*asked = append(*asked, op+" "+filepath.Base(path))
		return refuse[op+" "+filepath.Base(path)]
	}}
	t.Cleanup(func() { _ = j.Close() })
	return j, asked, refuse
}

// holds fails unless the journal has exactly these lines.
func holds(t *testing.T, j *File, want ...string) {
	t.Helper()
	lines, err := j.Lines()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, l := range lines {
		if l = bytes.Trim(l, "\x00"); len(l) > 0 {
			got = append(got, string(l))
		}
	}
	if !slices.Equal(got, want) || j.Pending() != (len(want) > 0) {
		t.Errorf("%q, not %q; pending %t", got, want, j.Pending())
	}
}

func TestAJournalHasWhatWasAdded(t *testing.T) {
	j, _, _ := made(t)
	holds(t, j)
	for _, n := range []int{1, 2} {
		if err := j.Add(n, n == 2); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, j, "1", "2")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Add("after it was closed", false); err != nil {
		t.Fatal(err)
	}
	holds(t, j, "1", "2", `"after it was closed"`)
	if err := j.Clear(); err != nil {
		t.Fatal(err)
	}
	holds(t, j)
	if err := j.Add(3, false); err != nil {
		t.Fatal(err)
	}
	holds(t, j, "3")
	if err := errors.Join(j.Close(), j.Close(), j.Clear()); err != nil {
		t.Errorf("closed twice, then cleared: %v", err)
	}
	holds(t, j)
}

// TestWhatIsFlushed: the file when that is asked for, and once, when it is new, the names that lead
// to it. The file is opened once.
func TestWhatIsFlushed(t *testing.T) {
	names := []string{"syncdir journal", "syncdir id", "syncdir workspaces", "syncdir home"}
	write, sync := "write journal.jsonl", "sync journal.jsonl"
	for name, c := range map[string]struct {
		was     bool // the file is there already
		durable bool
		want    []string
	}{
		"new, durable": {false, true, slices.Concat([]string{"create journal.jsonl"}, names, []string{write, sync, write, sync})},
		"new":          {false, false, []string{"create journal.jsonl", write, write}},
		"old, durable": {true, true, []string{"create journal.jsonl", write, sync, write, sync}},
		"old":          {true, false, []string{"create journal.jsonl", write, write}},
	} {
		j, asked, _ := made(t)
		if c.was {
			if err := os.WriteFile(j.Path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(j.Add(1, c.durable), j.Add(2, c.durable)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(*asked, c.want) {
			t.Errorf("%s: %q, not %q", name, *asked, c.want)
		}
	}
}

// TestWhatFailsIsTold, whichever step it is, and nothing behind it is done.
func TestWhatFailsIsTold(t *testing.T) {
	broken := errors.New("broken")
	for _, at := range []string{"create journal.jsonl", "syncdir journal", "syncdir id", "syncdir workspaces", "syncdir home",
		"write journal.jsonl", "sync journal.jsonl"} {
		j, asked, refuse := made(t)
		refuse[at] = broken
		if err := j.Add(1, true); !errors.Is(err, broken) || (*asked)[len(*asked)-1] != at {
			t.Errorf("%s fails: %v; %q", at, err, *asked)
		}
		if _, err := os.Lstat(j.Path); (err == nil) == strings.HasPrefix(at, "create") || j.Pending() != strings.HasPrefix(at, "sync ") {
			t.Errorf("%s fails: the file is there: %v; pending: %v", at, err, j.Pending())
		}
	}
	j, _, refuse := made(t)
	if err := errors.Join(j.Add(1, false), j.Close()); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"create journal.jsonl", "truncate journal.jsonl"} {
		refuse[at] = broken
		if err := j.Clear(); !errors.Is(err, broken) {
			t.Errorf("%s fails: %v", at, err)
		}
		holds(t, j, "1")
		delete(refuse, at)
	}
	if err := j.Add(func() {}, false); err == nil {
		t.Error("what is no JSON was added")
	}
	holds(t, j, "1")
	if err := os.RemoveAll(filepath.Dir(j.Path)); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	j = &File{Path: j.Path}
	if err := j.Clear(); err == nil {
		t.Error("a journal that cannot be opened was cleared")
	}
	if err := j.Add(1, true); err == nil {
		t.Error("something was added to a journal that cannot be opened")
	}
	if lines, err := j.Lines(); len(lines) > 0 || err != nil || j.Pending() {
		t.Errorf("no journal has %q, %v", lines, err)
	}
	if err := os.MkdirAll(j.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Lines(); err == nil {
		t.Error("a directory was read")
	}
}

// TestTheJournalIsTheFileAtItsPath: who wrote to a file that is not there any more goes on in that
// which is, and the old one is closed.
func TestTheJournalIsTheFileAtItsPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be moved")
	}
	for _, other := range []bool{false, true} {
		j, _, _ := made(t)
		if err := j.Add(1, false); err != nil {
			t.Fatal(err)
		}
		was := j.f
		if err := os.Rename(j.Path, j.Path+".away"); err != nil {
			t.Fatal(err)
		}
		want := []string{"2"}
		if other {
			if err := os.WriteFile(j.Path, []byte("0\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			want = []string{"0", "2"}
		}
		if err := j.Add(2, false); err != nil {
			t.Fatal(err)
		}
		holds(t, j, want...)
		if _, err := was.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file from before is open: %v", err)
		}
		now := j.f
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := now.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file is open: %v", err)
		}
	}
}

// TestNamesThatAreGone: the one of the journal must be flushed; those above it may be somebody else's.
func TestNamesThatAreGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open directories cannot be moved")
	}
	for _, name := range []string{"journal", "id", "workspaces", "home"} {
		j, _, _ := made(t)
		j.Before = func(op, path string) error {
			if op == "syncdir" && filepath.Base(path) == name {
				return os.Rename(path, path+"-away")
			}
			return nil
		}
		if err := j.Add(1, true); (err != nil) != (name == "journal") {
			t.Errorf("the directory %s is gone: %v", name, err)
		}
	}
}

// TestWhatATornWriteLeft: lines that a loss of power cut, or filled with NULs, are lines, and no damage.
func TestWhatATornWriteLeft(t *testing.T) {
	j, _, _ := made(t)
	if err := os.WriteFile(j.Path, []byte("{\"a\":1}\n\x00\x00{\"b\"\x00\x00\n\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, j, `{"a":1}`, `{"b"`)
	if records, err := j.Records(1); len(records) != 1 || err != nil {
		t.Errorf("%q, %v", records, err)
	}
}

// TestAJournalIsItsOwnersAlone: what files held is in it.
func TestAJournalIsItsOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Windows")
	}
	j, _, _ := made(t)
	if err := j.Add(1, false); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(j.Path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}
