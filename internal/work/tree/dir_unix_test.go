//go:build unix

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
)

// watched is a tree over a directory whose calls are listed, and may be answered instead.
type watched struct {
	t     *testing.T
	dir   string
	tree  *Tree
	calls []string
	// before, when not nil, is asked before each call; n counts from 1.
	before func(n int, op string) error
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, dir: dir}
	w.tree = openTree(t, Options{Roots: []string{dir}, Before: func(op, path string) error {
		w.calls = append(w.calls, op)
		if w.before != nil {
			return w.before(len(w.calls), op)
		}
		return nil
	}})
	return w
}

// open begins anew with the list of calls.
func (w *watched) open(before func(n int, op string) error) *Dir {
	w.t.Helper()
	d, err := w.tree.OpenDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(d.Close)
	w.calls, w.before = nil, before
	return d
}

func (w *watched) at(name string) string { return filepath.Join(w.dir, name) }

// write makes a file with exactly the mode.
func (w *watched) write(name, text string, mode fs.FileMode) {
	w.t.Helper()
	if err := os.WriteFile(w.at(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(w.at(name), mode); err != nil {
		w.t.Fatal(err)
	}
}

// has are the names in the directory, with modes and contents.
func (w *watched) has() map[string]string {
	w.t.Helper()
	list, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := os.ReadFile(w.at(e.Name()))
		if info.Mode()&fs.ModeSymlink != 0 {
			var target string
			target, err = os.Readlink(w.at(e.Name()))
			text = []byte(target)
		}
		if err != nil && !info.IsDir() {
			w.t.Fatal(err)
		}
		got[e.Name()] = fmt.Sprintf("%v %s", info.Mode(), text)
	}
	return got
}

// old waits until a change of the file would show in its signature.
func (w *watched) old(name string) Signature {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		sig, err := w.tree.Sig(w.at(name))
		if err != nil || time.Now().After(end) {
			w.t.Fatalf("%s stays fresh: %v", name, err)
		}
		if !sig.Fresh(time.Now()) {
			return sig
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestStage(t *testing.T) {
	umask := fs.FileMode(syscall.Umask(0o022))
	t.Cleanup(func() { syscall.Umask(int(umask)) })
	for name, c := range map[string]struct {
		mode  fs.FileMode
		o     StageOptions
		want  string
		calls []string
	}{
		"new":         {0o666, StageOptions{}, "-rw-r--r-- text", []string{"create", "write"}},
		"exact":       {0o666, StageOptions{Exact: true}, "-rw-rw-rw- text", []string{"create", "write", "chmod"}},
		"exact fits":  {0o640, StageOptions{Exact: true}, "-rw-r----- text", []string{"create", "write"}},
		"durable":     {0o600, StageOptions{Durable: true}, "-rw------- text", []string{"create", "write", "sync"}},
		"as another":  {0o666, StageOptions{Like: "like"}, "-rw-rw-rw- text", []string{"create", "write", "meta", "chmod"}},
		"as one seen": {0o666, StageOptions{Like: "like", Seen: &Entry{own: true}}, "-rw-rw-rw- text", []string{"create", "write", "chmod"}},
		"no set-id":   {fs.FileMode(0o4755), StageOptions{Exact: true}, "-rwxr-xr-x text", []string{"create", "write"}},
	} {
		w := newWatched(t)
		w.write("like", "x", 0o664)
		d := w.open(nil)
		if !d.h.Plain() {
			t.Skip("new files get attributes here")
		}
		if c.o.Seen != nil && !d.h.Bare("like") {
			continue // the system does not tell
		}
		sig, err := d.Stage("a", delta.NewFile([]byte("text"), uint32(c.mode)), c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := w.has()["a"]; got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
		if d := cmp.Diff(c.calls, w.calls); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if now, err := d.Sig("a"); err != nil || now != sig {
			t.Errorf("%s: the signature is %+v, not %+v: %v", name, sig, now, err)
		}
		if _, err := d.Stage("a", delta.NewFile(nil, 0o600), c.o); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: a name that is taken: %v", name, err)
		}
	}
	w := newWatched(t)
	d := w.open(nil)
	if sig, err := d.Stage("l", delta.NewSymlink("to/it"), StageOptions{}); err != nil || sig.Mode&fs.ModeSymlink == 0 {
		t.Errorf("a link: %v, %v", sig.Mode, err)
	}
	if got := w.has()["l"]; !strings.HasSuffix(got, " to/it") {
		t.Errorf("the link is %s", got)
	}
}

// TestStageFailsAtEachCall: what fails is told, and nothing more is done.
func TestStageFailsAtEachCall(t *testing.T) {
	o := StageOptions{Like: "like", Durable: true}
	broken := errors.New("broken")
	for k := 1; k <= 5; k++ {
		w := newWatched(t)
		w.write("like", "x", 0o664)
		d := w.open(func(n int, op string) error {
			if n == k {
				return broken
			}
			return nil
		})
		_, err := d.Stage("a", delta.NewFile([]byte("text"), 0o640), o)
		if !errors.Is(err, broken) || len(w.calls) != k {
			t.Errorf("call %d of %v: %v", k, w.calls, err)
		}
		if err == nil || !strings.Contains(err.Error(), w.at("a")) {
			t.Errorf("call %d: %v", k, err)
		}
	}
	w := newWatched(t)
	if _, err := w.open(func(int, string) error { return broken }).Stage("l", delta.NewSymlink("x"), o); !errors.Is(err, broken) {
		t.Errorf("a link: %v", err)
	}
}

func TestWriteInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		mode     uint32
		durable  bool
		calls    []string
	}{
		"longer":  {"old", "new and longer", 0o644, true, []string{"write", "write", "truncate", "sync"}},
		"shorter": {"old and longer", "new", 0o644, false, []string{"write", "write", "truncate"}},
		"a mode":  {"old", "new", 0o600, true, []string{"write", "write", "truncate", "chmod", "sync"}},
		"nothing": {"old", "", 0o644, false, []string{"write", "write", "truncate"}},
	} {
		w := newWatched(t)
		w.write("a", c.old, 0o644)
		if err := os.Link(w.at("a"), w.at("b")); err != nil {
			t.Skip(err)
		}
		d := w.open(nil)
		seen, err := d.Look("a", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.WriteInPlace("a", delta.NewFile([]byte(c.new), c.mode), seen, c.durable, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := fmt.Sprintf("%v %s", fs.FileMode(c.mode), c.new)
		if d := cmp.Diff(map[string]string{"a": want, "b": want}, w.has()); d != "" {
			t.Errorf("%s: (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(c.calls, w.calls); d != "" {
			t.Errorf("%s: (-want +got):\n%s", name, d)
		}
	}
	w := newWatched(t)
	d := w.open(nil)
	if _, err := d.WriteInPlace("none", delta.NewFile(nil, 0o600), nil, true, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.Symlink("elsewhere", w.at("l")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WriteInPlace("l", delta.NewFile(nil, 0o600), nil, true, nil); err == nil {
		t.Error("it follows a link")
	}
}

// TestWriteInPlaceStopsForOthers: before whichever step somebody else writes to the file, or puts
// another one into its place, what they did stays as it is.
func TestWriteInPlaceStopsForOthers(t *testing.T) {
	others := map[string]func(w *watched) string{
		"writes": func(w *watched) string {
			if err := os.WriteFile(w.at("a"), []byte("theirs, which is the longest"), 0o600); err != nil {
				w.t.Fatal(err)
			}
			return "theirs, which is the longest"
		},
		"replaces": func(w *watched) string {
			w.write("new", "theirs", 0o600)
			if err := os.Rename(w.at("new"), w.at("a")); err != nil {
				w.t.Fatal(err)
			}
			return "theirs"
		},
		"removes": func(w *watched) string {
			if err := os.Remove(w.at("a")); err != nil {
				w.t.Fatal(err)
			}
			return ""
		},
	}
	for name, other := range others {
		for _, guard := range []bool{true, false} {
			for k := 1; k <= 5; k++ {
				w := newWatched(t)
				w.write("a", "old", 0o644)
				seen, err := w.open(nil).Look("a", 0)
				if err != nil {
					t.Fatal(err)
				}
				theirs := ""
				d := w.open(func(n int, op string) error {
					if n == k {
						theirs = other(w)
					}
					return nil
				})
				if !guard {
					seen = nil
				}
				_, err = d.WriteInPlace("a", delta.NewFile([]byte("new"), 0o600), seen, true, nil)
				if guard != errors.Is(err, ErrChanged) || !guard && err != nil {
					t.Errorf("somebody %s before step %d (guarded: %v): %v", name, k, guard, err)
				}
				got, _ := os.ReadFile(w.at("a"))
				if guard && string(got) != theirs {
					t.Errorf("somebody %s before step %d: %q, not %q", name, k, got, theirs)
				}
				if guard && len(w.calls) != k {
					t.Errorf("somebody %s before step %d: %v", name, k, w.calls)
				}
			}
		}
	}
}

// TestACutWriteInPlaceIsKnown: what is there after a crash at each step is known to be a mixture of
// old and new.
func TestACutWriteInPlaceIsKnown(t *testing.T) {
	dead := errors.New("dead")
	rapid.Check(t, func(r *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 6)
		pre, post := delta.NewFile(letters.Draw(r, "pre"), 0o644), delta.NewFile(letters.Draw(r, "post"), 0o600)
		k := rapid.IntRange(1, 5).Draw(r, "step")
		w := newWatched(t)
		w.write("a", string(pre.Data), 0o644)
		d := w.open(func(n int, op string) error {
			if n >= k {
				return dead
			}
			return nil
		})
		_, err := d.WriteInPlace("a", post, nil, true, nil)
		if !errors.Is(err, dead) || len(w.calls) != k {
			r.Fatalf("step %d: %v, %v", k, w.calls, err)
		}
		if torn, err := d.Torn("a", pre, post, nil); err != nil || !torn {
			r.Fatalf("step %d: %s is no mixture: %v", k, w.has()["a"], err)
		}
	})
}

// tornTwin says in a plain way what Torn does: no shorter than both, no longer than both, and each
// byte is one of them, where a file that was made longer has zeroes.
func tornTwin(got, pre, post []byte) bool {
	if bytes.Equal(got, pre) || bytes.Equal(got, post) {
		return true
	}
	if len(got) < min(len(pre), len(post)) || len(got) > max(len(pre), len(post)) {
		return false
	}
	padded := func(b []byte) []byte { return append(slices.Clone(b), make([]byte, len(got))...) }
	a, b := padded(pre), padded(post)
	for i := range got {
		if got[i] != a[i] && got[i] != b[i] {
			return false
		}
	}
	return true
}

func TestTorn(t *testing.T) {
	w := newWatched(t)
	d := w.open(nil)
	yes := 0
	rapid.Check(t, func(r *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 0, 4)
		got, pre, post := letters.Draw(r, "got"), letters.Draw(r, "pre"), letters.Draw(r, "post")
		w.write("a", string(got), 0o600)
		torn, err := d.Torn("a", delta.NewFile(pre, 0o600), delta.NewFile(post, 0o600), nil)
		if want := tornTwin(got, pre, post); err != nil || torn != want {
			r.Fatalf("%q may be of %q and %q: %v, not %v: %v", got, pre, post, torn, want, err)
		}
		if torn {
			yes++
		}
	})
	if yes < 5 {
		t.Errorf("%d mixtures were drawn", yes)
	}
	a := delta.NewFile([]byte("a"), 0o600)
	if err := os.Symlink("a", w.at("l")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none", "l"} {
		if torn, err := d.Torn(name, a, a, nil); torn || err != nil {
			t.Errorf("%s may be torn: %v, %v", name, torn, err)
		}
	}
	if err := os.Mkdir(w.at("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if torn, err := d.Torn("dir", a, a, nil); torn || !errors.Is(err, ErrDirectory) {
		t.Errorf("a directory may be torn: %v, %v", torn, err)
	}
}

// TestSwapAtEachCall: two files trade names, in one step or in several. Whichever step is the last,
// and whichever fails, Unswap leaves both files, under the old names or the new ones.
func TestSwapAtEachCall(t *testing.T) {
	dead := errors.New("dead")
	refuse := map[string]map[string]bool{
		"exchange": {}, "links": {"exchange": true}, "renames": {"exchange": true, "link": true},
	}
	calls := map[string][]string{
		"exchange": {"exchange"}, "links": {"exchange", "link", "rename", "rename"},
		"renames": {"exchange", "link", "rename", "rename", "rename"},
	}
	old := map[string]string{"a": "-rw------- 1", "b": "-rw-r--r-- 2"}
	swapped := map[string]string{"a": old["b"], "b": old["a"]}
	begin := func() *watched {
		w := newWatched(t)
		w.write("a", "1", 0o600)
		w.write("b", "2", 0o644)
		return w
	}
	for way, no := range refuse {
		for k := 0; k <= len(calls[way]); k++ {
			for _, sticky := range []bool{false, true} {
				w := begin()
				d := w.open(func(n int, op string) error {
					switch {
					case k > 0 && (n == k || sticky && n > k):
						return dead
					case no[op]:
						return fmt.Errorf("not here: %w", errors.ErrUnsupported)
					}
					return nil
				})
				err := d.Swap("a", "b")
				if k == 0 {
					if err != nil || !cmp.Equal(swapped, w.has()) || !slices.Equal(calls[way], w.calls) {
						t.Errorf("%s: %v, %v, %v", way, err, w.has(), w.calls)
					}
					continue
				}
				failed := calls[way][min(k, len(calls[way]))-1]
				if failed != "link" && !errors.Is(err, dead) || failed == "link" && !sticky && err != nil {
					t.Errorf("%s, call %d fails: %v", way, k, err)
				}
				w.before = nil
				if err := d.Unswap("a", "b"); err != nil {
					t.Errorf("%s, after call %d: %v", way, k, err)
				}
				if got := w.has(); !cmp.Equal(old, got) && !cmp.Equal(swapped, got) {
					t.Errorf("%s, after call %d: %v", way, k, got)
				}
				if err := d.Unswap("a", "b"); err != nil {
					t.Errorf("%s, the second time after call %d: %v", way, k, err)
				}
			}
		}
	}
	w := begin()
	if err := w.open(nil).Exchange("a", "b"); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := w.open(nil).Swap("a", "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with nothing: %v", err)
	}
}

func TestMoveReplacesNothing(t *testing.T) {
	w := newWatched(t)
	w.write("a", "1", 0o600)
	w.write("b", "2", 0o600)
	d := w.open(nil)
	if err := d.Mkdir("sub", 0o755); err != nil {
		t.Fatal(err)
	}
	sub, err := w.tree.OpenDir(w.dir + "/sub")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if sub.Path() != w.dir+"/sub" {
		t.Errorf("it says that it is %s", sub.Path())
	}
	if err := d.Move("a", d, "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := d.Move("a", sub, "c"); err != nil {
		t.Error(err)
	}
	if err := d.Move("a", sub, "d"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), w.dir+"/sub/d") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := d.Rmdir("sub"); err == nil {
		t.Error("a directory with a file in it went")
	}
	if err := sub.Move("c", d, "c"); err != nil {
		t.Error(err)
	}
	if err := d.Rmdir("sub"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{"b": "-rw------- 2", "c": "-rw------- 1"}, w.has()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestFlushes: each kind of flush is one call, and its failure is told.
func TestFlushes(t *testing.T) {
	w := newWatched(t)
	w.write("a", "1", 0o600)
	broken := errors.New("broken")
	for op, flush := range map[string]func(d *Dir) error{
		"syncdir": (*Dir).Sync, "syncall": (*Dir).SyncAll, "sync": func(d *Dir) error { return d.SyncFile("a") },
	} {
		d := w.open(nil)
		if err := flush(d); err != nil && !(op == "syncall" && errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s: %v", op, err)
		}
		if !slices.Equal(w.calls, []string{op}) {
			t.Errorf("%s: %v", op, w.calls)
		}
		if err := flush(w.open(func(int, string) error { return broken })); !errors.Is(err, broken) {
			t.Errorf("%s fails: %v", op, err)
		}
	}
	if err := w.open(nil).SyncFile("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestUnchanged: a file that was only renamed is what it was; one that was written, got another
// mode, went or was replaced is not, however shortly after.
func TestUnchanged(t *testing.T) {
	ways := map[string]struct {
		do   func(w *watched) error
		want bool
	}{
		"nothing": {func(w *watched) error { return nil }, true},
		"renamed": {func(w *watched) error {
			return errors.Join(os.Rename(w.at("a"), w.at("b")), os.Rename(w.at("b"), w.at("a")))
		}, true},
		"written": {func(w *watched) error { return os.WriteFile(w.at("a"), []byte("next"), 0o600) }, false},
		"longer":  {func(w *watched) error { return os.WriteFile(w.at("a"), []byte("longer"), 0o600) }, false},
		"a mode":  {func(w *watched) error { return os.Chmod(w.at("a"), 0o640) }, false},
		"gone":    {func(w *watched) error { return os.Remove(w.at("a")) }, false},
		"another": {func(w *watched) error {
			w.write("b", "text", 0o600)
			return os.Rename(w.at("b"), w.at("a"))
		}, false},
	}
	for name, way := range ways {
		for _, aged := range []bool{false, true} {
			w := newWatched(t)
			w.write("a", "text", 0o600)
			if aged {
				w.old("a")
			}
			d := w.open(nil)
			e, err := d.Look("a", 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := way.do(w); err != nil {
				t.Fatal(err)
			}
			if got, err := d.Unchanged("a", e); err != nil || got != way.want {
				t.Errorf("%s (old: %v): unchanged is %v, %v", name, aged, got, err)
			}
		}
	}
	// One that was written within a tick of the clock, so that no time tells.
	w := newWatched(t)
	w.write("a", "text", 0o600)
	d := w.open(nil)
	e, err := d.Look("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.write("a", "next", 0o600)
	if err := os.Chtimes(w.at("a"), time.Unix(0, e.Sig.Mtime), time.Unix(0, e.Sig.Mtime)); err != nil {
		t.Fatal(err)
	}
	e.Sig.Mtime = time.Now().UnixNano()
	if err := os.Chtimes(w.at("a"), time.Unix(0, e.Sig.Mtime), time.Unix(0, e.Sig.Mtime)); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Unchanged("a", e); err != nil || got {
		t.Errorf("written within a tick: %v, %v", got, err)
	}
}

func TestHolds(t *testing.T) {
	w := newWatched(t)
	w.write("a", "text", 0o600)
	if err := errors.Join(os.Symlink("to", w.at("l")), os.Mkdir(w.at("dir"), 0o755), syscall.Mkfifo(w.at("pipe"), 0o600)); err != nil {
		t.Skip(err)
	}
	d := w.open(nil)
	file := func(text string, mode uint32) delta.Version { return delta.NewFile([]byte(text), mode).Version }
	for name, c := range map[string]struct {
		at   string
		v    delta.Version
		want bool
	}{
		"itself": {"a", file("text", 0o600), true}, "another mode": {"a", file("text", 0o644), false},
		"another text": {"a", file("next", 0o600), false}, "less": {"a", file("tex", 0o600), false}, "more": {"a", file("text!", 0o600), false},
		"a link": {"l", delta.NewSymlink("to").Version, true}, "another link": {"l", delta.NewSymlink("of").Version, false},
		"nothing": {"none", file("text", 0o600), false}, "a directory": {"dir", file("", 0o755), false}, "a pipe": {"pipe", file("", 0o600), false},
		"a file for a link": {"a", delta.NewSymlink("text").Version, false},
	} {
		if got, err := d.Holds(c.at, c.v); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestLookTellsHowToWrite: what decides about writing in place.
func TestLookTellsHowToWrite(t *testing.T) {
	w := newWatched(t)
	w.write("one", "1", 0o600)
	w.write("two", "2", 0o600)
	w.write("fixed", "3", 0o400)
	if err := errors.Join(os.Link(w.at("two"), w.at("more")), os.Symlink("one", w.at("l")), os.Mkdir(w.at("dir"), 0o755)); err != nil {
		t.Skip(err)
	}
	d := w.open(nil)
	for name, want := range map[string]Entry{
		"one": {Own: true, own: true}, "two": {Links: true, InPlace: true, own: true}, "more": {Links: true, InPlace: true, own: true},
		"fixed": {own: true}, "l": {own: true},
	} {
		e, err := d.Look(name, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := (Entry{Own: e.Own, own: e.own, Links: e.Links, InPlace: e.InPlace}); got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	if _, err := d.Look("dir", 0); !errors.Is(err, ErrDirectory) {
		t.Errorf("a directory: %v", err)
	}
	if e, err := d.Look("none", 0); e != nil || err != nil {
		t.Errorf("nothing: %v, %v", e, err)
	}
	var large *TooLargeError
	if _, err := d.Look("one", 1); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	w.write("long", "long", 0o600)
	if _, err := d.Look("long", 3); !errors.As(err, &large) || large.Size != 4 || large.Limit != 3 {
		t.Errorf("over the limit: %v", err)
	} else if !strings.Contains(err.Error(), "4 bytes, more than the limit of 3") {
		t.Errorf("it says %v", err)
	}
	if err := d.Writable("none"); !errors.Is(err, ErrNoAccess) {
		t.Errorf("nothing can be written: %v", err)
	}
	for range 2 {
		if err := errors.Join(d.Writable("one"), d.Writable(".")); err != nil {
			t.Error(err)
		}
	}
}

// TestADirectoryThatMayNotBeWritten is told of each time it is asked for. Root may write all.
func TestADirectoryThatMayNotBeWritten(t *testing.T) {
	w := newWatched(t)
	if err := os.Chmod(w.at("."), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.at("."), 0o755)
	d := w.open(nil)
	for range 2 {
		if err := d.Writable("."); errors.Is(err, ErrNoAccess) != (os.Geteuid() != 0) {
			t.Errorf("as user %d: %v", os.Geteuid(), err)
		}
	}
}

// TestWhatWasReadIsKnown: a file that was read once and did not change is not read again.
func TestWhatWasReadIsKnown(t *testing.T) {
	w := newWatched(t)
	w.write("a", "text", 0o600)
	sig := w.old("a")
	img, err := w.tree.Read(w.at("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := w.tree.known.get(w.at("a"), sig); !ok {
		t.Error("it is not known")
	}
	d := w.open(nil)
	if e, ok := d.Known("a", img); !ok || e.Image != img || e.Sig != sig || !e.stable {
		t.Errorf("%+v, %v", e, ok)
	}
	for name, other := range map[string]*delta.Image{"a": delta.NewFile([]byte("next"), 0o600), "none": img} {
		if _, ok := d.Known(name, other); ok {
			t.Errorf("%s is known to be what it is not", name)
		}
	}
	bogus := delta.NewFile([]byte("not what is there"), 0o600).Version
	w.tree.known.put(w.at("a"), sig, bogus)
	if v, err := w.tree.Version(w.at("a")); err != nil || v != bogus {
		t.Errorf("it is read again: %v, %v", v, err)
	}
	w.write("a", "next", 0o600)
	if v, err := w.tree.Version(w.at("a")); err != nil || v != delta.NewFile([]byte("next"), 0o600).Version {
		t.Errorf("after a change: %v, %v", v, err)
	}
}

// TestLookComparesWithWhatIsExpected: what a file holds is told truly, whatever was expected, and
// the same image is given back where that is what it holds.
func TestLookComparesWithWhatIsExpected(t *testing.T) {
	w := newWatched(t)
	d := w.open(nil)
	sizes := []int{0, 1, 3, 64 << 10, 64<<10 + 1, 2*hashAhead + 7}
	rapid.Check(t, func(r *rapid.T) {
		text := bytes.Repeat([]byte("x"), rapid.SampledFrom(sizes).Draw(r, "size"))
		other := slices.Clone(text)
		switch rapid.IntRange(0, 4).Draw(r, "difference") {
		case 0:
			other = append(other, 'y')
		case 1:
			other = other[:len(other)/2]
		case 2, 3:
			if len(other) > 0 {
				other[rapid.IntRange(0, len(other)-1).Draw(r, "at")] = 'y'
			}
		}
		want := delta.NewFile(text, 0o600)
		img := delta.NewFile(other, rapid.SampledFrom([]uint32{0o600, 0o644}).Draw(r, "mode"))
		img.Loaded = rapid.Bool().Draw(r, "loaded")
		w.write("a", string(text), 0o600)
		e, err := d.LookFor("a", 0, img)
		if err != nil || !e.Image.Same(want) || !bytes.Equal(e.Image.Data, text) {
			r.Fatalf("%v, %v", e, err)
		}
		if taken := e.Image == img; taken != (img.Loaded && img.Same(want)) {
			r.Fatalf("what was expected is taken: %v", taken)
		}
	})
}

// TestAFileThatIsAlwaysWrittenIsRead: what cannot be read twice the same is given as it was read.
func TestAFileThatIsAlwaysWrittenIsRead(t *testing.T) {
	w := newWatched(t)
	w.write("a", "text", 0o600)
	d := w.open(nil)
	var wait sync.WaitGroup
	end, begun := make(chan struct{}), make(chan struct{})
	wait.Go(func() {
		f, err := os.OpenFile(w.at("a"), os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		defer f.Close()
		close(begun)
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
				_, _ = f.WriteAt([]byte{byte('a' + i%26)}, 0)
			}
		}
	})
	<-begun
	for range 20 {
		if e, err := d.Look("a", 0); err != nil || e.Image.Size != 4 || string(e.Image.Data[1:]) != "ext" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	close(end)
	wait.Wait()
}

func TestOtherNames(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"w/sub", "v", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, base+"/w/a", "text")
	write(t, base+"/w/alone", "text")
	for _, name := range []string{"w/sub/b", "w/c", "v/d", "out/e"} {
		if err := os.Link(base+"/w/a", filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	write(t, base+"/w/p", "text")
	if err := os.Link(base+"/w/p", base+"/w/q"); err != nil {
		t.Fatal(err)
	}
	tr := openTree(t, Options{Roots: []string{base + "/w", base + "/w/sub", base + "/v"}})
	for name, c := range map[string]struct {
		of    string
		limit int
		want  []string
	}{
		"all":     {"w/a", 1000, []string{"v/d", "w/c", "w/sub/b"}}, // each once, also in two roots
		"alone":   {"w/alone", 1000, nil},
		"a pair":  {"w/p", 1000, []string{"w/q"}}, // the last one, too
		"bounded": {"w/a", 0, nil},
		"a few":   {"w/a", 2, []string{"w/sub/b"}}, // w/sub itself, which is looked through first, and b
		"fewer":   {"w/a", 1, nil},
	} {
		got, err := tr.OtherNames(filepath.Join(base, c.of), c.limit)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range got {
			got[i], _ = filepath.Rel(base, got[i])
		}
		slices.Sort(got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if _, err := tr.OtherNames(base+"/w/none", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// closed is a boundary that says of names what they are, and of one file that it is hidden.
type closed struct {
	names  map[string]boundary.Reach
	hidden os.FileInfo
}

func (c closed) At(path string) boundary.Verdict {
	if access := c.names[filepath.Base(path)]; access != "" {
		return boundary.Verdict{Access: access, Why: "of its name"}
	}
	return boundary.Verdict{Access: boundary.Writable}
}

func (c closed) Of(path string, id boundary.FileID, several bool) boundary.Verdict {
	if want, _ := boundary.IdentityOf(c.hidden); several && id == want {
		return boundary.Verdict{Access: boundary.Hidden, Why: "it is the other one"}
	}
	return c.At(path)
}

// TestBoundaryIsAskedAboutNamesAndFiles: before reading and writing, about the real path and the
// file that was found there.
func TestBoundaryIsAskedAboutNamesAndFiles(t *testing.T) {
	base, _ := place(t)
	for _, name := range []string{"free", "fixed", "secret"} {
		write(t, base+"/w/"+name, name)
	}
	link(t, "secret", base+"/w/to-secret")
	link(t, "free", base+"/w/to-free")
	link(t, "fixed", base+"/w/to-fixed")
	if err := os.Link(base+"/w/secret", base+"/w/same"); err != nil {
		t.Skip(err)
	}
	hidden, err := os.Lstat(base + "/w/secret")
	if err != nil {
		t.Fatal(err)
	}
	tr := openTree(t, Options{Roots: []string{base + "/w"}, Boundary: closed{hidden: hidden,
		names: map[string]boundary.Reach{"secret": boundary.Hidden, "fixed": boundary.Protected}}})
	for name, want := range map[string]struct{ read, write bool }{
		"free": {true, true}, "to-free": {true, true}, "fixed": {true, false}, "to-fixed": {true, false}, "secret": {},
		"same": {}, "to-secret": {}, "new": {true, true},
	} {
		var refused *boundary.RefusedError
		if _, err := tr.Read(base+"/w/"+name, 0); errors.As(err, &refused) == want.read || !want.read && err == nil {
			t.Errorf("%s is read: %v", name, err)
		}
		refused = nil
		if err := tr.MayWrite(base+"/w/"+name, false); errors.As(err, &refused) == want.write || !want.write && err == nil {
			t.Errorf("%s may be written: %v", name, err)
		}
		if refused != nil && !strings.HasPrefix(refused.Path, base+"/w/") {
			t.Errorf("%s: the refusal names %s", name, refused.Path)
		}
	}
	for _, name := range []string{"to-free", "to-fixed", "to-secret"} { // the links themselves
		if err := tr.MayWrite(base+"/w/"+name, true); err != nil {
			t.Errorf("the link %s: %v", name, err)
		}
	}
	for name, writable := range map[string]bool{"free": true, "fixed": false, "secret": false, "same": false} {
		d, err := tr.OpenDir(base + "/w")
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Look(name, 0)
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.CheckWrite(base+"/w/"+name, e); (err == nil) != writable {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tr.CheckWrite(base+"/w/same", nil); err != nil {
		t.Errorf("a name of which no more is known: %v", err)
	}
	open := openTree(t, Options{Roots: []string{base + "/w"}})
	if err := errors.Join(open.CheckWrite(base+"/w/secret", nil), open.MayWrite(base+"/w/secret", false)); err != nil {
		t.Errorf("without a boundary: %v", err)
	}
	if err := open.MayWrite(base+"/out/victim", false); err == nil {
		t.Error("outside of the roots something may be written")
	}
}

func TestHidden(t *testing.T) {
	base, tr := place(t)
	link(t, "sub", base+"/w/l")
	for name, want := range map[string]bool{"/w/f": false, "/w/f/x": true, "/w/f/x/y": true, "/w/sub/x": false, "/w/l/x": true,
		"/w/none/x": false, "/out/victim/x": false, "/w": false} {
		if got := tr.Hidden(base + name); got != want {
			t.Errorf("%s is hidden: %v", name, got)
		}
	}
}

func TestTemporaryNames(t *testing.T) {
	a, b := TemporaryName(), TemporaryName()
	if a == b || !IsTemporary(a) || !IsTemporary(b) || strings.Contains(a, "/") {
		t.Errorf("%s, %s", a, b)
	}
	for _, name := range []string{"", a + "x", "x" + a, a[1:], a[:len(a)-1], strings.Replace(a, ".tmp", "0.tmp", 1),
		".kerf-0123456789ABCDEF.tmp", ".kerf-.tmp", ".kerf-0123456789abcdeg.tmp"} {
		if IsTemporary(name) {
			t.Errorf("%q is a temporary name", name)
		}
	}
}

// TestLinksThatGoUp: what comes behind a link that goes up is named from where it leads.
func TestLinksThatGoUp(t *testing.T) {
	base, tr := place(t)
	link(t, "sub/..", base+"/w/up")
	link(t, "../..", base+"/w/sub/out")
	for name, want := range map[string]string{"/w/up/new": "/w/new", "/w/up/f": "/w/f", "/w/up/sub/new/x": "/w/sub/new/x", "/w/up": "/w"} {
		if got, err := tr.Target(base + name); err != nil || got != base+want {
			t.Errorf("%s is %s, not %s: %v", name, got, want, err)
		}
	}
	var out *OutsideError
	if got, err := tr.Target(base + "/w/sub/out/out/victim"); !errors.As(err, &out) || out.Via == "" {
		t.Errorf("%s, %v", got, err)
	} else if !strings.Contains(err.Error(), "is a link that leads outside") {
		t.Errorf("it says %v", err)
	}
}

// TestAfterRelease: what is opened through a step that is over is the caller's own.
func TestAfterRelease(t *testing.T) {
	base, tr := place(t)
	held, release := tr.Hold()
	release()
	d, err := held.OpenDir(base + "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.hold != nil {
		t.Error("the step keeps a directory")
	}
	if _, err := d.Sig("f"); err != nil {
		t.Error(err)
	}
	release()
	if _, err := d.Sig("f"); err != nil {
		t.Errorf("after a second release: %v", err)
	}
}

// TestHoldLetsGo: a step that found out where paths lead uses none of its directories any more, so
// that it can close them for others.
func TestHoldLetsGo(t *testing.T) {
	base, tr := place(t)
	link(t, "../f", base+"/w/sub/l")
	held, release := tr.Hold()
	defer release()
	for _, name := range []string{"/w/f", "/w/sub/l", "/w/sub/none", "/w/none/x", "/w"} {
		got, err := held.Target(base + name)
		want, _ := tr.Target(base + name)
		if err != nil || got != want {
			t.Errorf("%s is %s, not %s: %v", name, got, want, err)
		}
		if _, err := held.Version(base + name); err != nil && !errors.Is(err, ErrDirectory) {
			t.Error(err)
		}
	}
	if len(held.held.dirs) == 0 {
		t.Error("nothing was held")
	}
	for path, d := range held.held.dirs {
		if d.users != 0 {
			t.Errorf("%s has %d users", path, d.users)
		}
	}
}

func TestRootIsFoundAsItWasGiven(t *testing.T) {
	base, _ := place(t)
	link(t, "w", base+"/to-w")
	tr := openTree(t, Options{Roots: []string{base + "/to-w/", base + "/out"}})
	for given, want := range map[string]string{base + "/to-w": base + "/w", base + "/out/": base + "/out", base + "/w": "", base: ""} {
		if got := tr.Root(given); got != want {
			t.Errorf("%s is %q, not %q", given, got, want)
		}
	}
}

// TestWhatCannotBeLookedAtIsToldOf: only what is not there is nothing.
func TestWhatCannotBeLookedAtIsToldOf(t *testing.T) {
	base, tr := place(t)
	for name, absent := range map[string]bool{"none": true, strings.Repeat("x", 300): false} {
		p := filepath.ToSlash(filepath.Join(base, "w", name))
		for what, look := range map[string]func() (nothing bool, err error){
			"sig":     func() (bool, error) { sig, err := tr.Sig(p); return sig == Signature{}, err },
			"read":    func() (bool, error) { img, err := tr.Read(p, 0); return img == nil, err },
			"entry":   func() (bool, error) { img, err := tr.ReadEntry(p, 0); return img == nil, err },
			"version": func() (bool, error) { v, err := tr.Version(p); return v == delta.Version{}, err },
		} {
			if nothing, err := look(); !nothing || (err == nil) != absent {
				t.Errorf("%s of a name of %d bytes: nothing %v, %v", what, len(name), nothing, err)
			}
		}
	}
}

// TestWhatADirectoryCannotSayIsToldOf: a name that is too long, and a directory that is closed.
func TestWhatADirectoryCannotSayIsToldOf(t *testing.T) {
	base, tr := place(t)
	d, err := tr.OpenDir(base + "/w")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Unswap("none", "f"); err != nil {
		t.Errorf("of no swap: %v", err)
	}
	if err := d.Unswap(strings.Repeat("x", 252), "f"); err == nil {
		t.Error("of a third name that is too long: no error")
	}
	d.Close()
	for _, name := range []string{".", "f"} {
		for range 2 { // what it remembers too
			if err := d.Writable(name); err == nil {
				t.Errorf("closed: %s is writable", name)
			}
		}
	}
}
