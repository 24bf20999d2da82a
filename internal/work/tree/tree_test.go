package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

// place makes a base directory with a root w, a sibling w-evil and a directory out.
func place(t *testing.T) (base string, tr *Tree) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"w/sub", "w-evil", "out"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(base, "out/victim"), "secret")
	write(t, filepath.Join(base, "w/f"), "text\n")
	return filepath.ToSlash(base), openTree(t, Options{Roots: []string{filepath.Join(base, "w")}})
}

func openTree(t *testing.T, o Options) *Tree {
	t.Helper()
	tr, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
}

func TestSEC_P1_ContainmentIsByComponents(t *testing.T) {
	base, tr := place(t)
	for path, want := range map[string]string{
		"f":                          base + "/w/f",
		"sub/../f":                   base + "/w/f",
		".":                          base + "/w",
		base + "/w//./f":             base + "/w/f",
		base + "/w":                  base + "/w",
		"../w/f":                     base + "/w/f",
		"../w-evil/x":                "",
		base + "/w/../w-evil/x":      "",
		base + "/w-evil/x":           "",
		base:                         "",
		"..":                         "",
		"/":                          "",
		"/etc/passwd":                "",
		"sub/../../../../etc/passwd": "",
	} {
		got, err := tr.Resolve(path)
		var out *OutsideError
		if got != want || want == "" && !errors.As(err, &out) {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
		if _, err := tr.Read(path, 0); want == "" && !errors.As(err, &out) {
			t.Errorf("read %s: %v", path, err)
		}
	}
}

func TestSEC_P2_OddNamesAreLiteral(t *testing.T) {
	base, tr := place(t)
	for path, want := range map[string]string{
		"~/x":                     base + "/w/~/x",
		"$HOME/x":                 base + "/w/$HOME/x",
		"file:///x":               base + "/w/file:/x",
		"a\nb\x1b[31m":            base + "/w/a\nb\x1b[31m",
		"\xff\xfe":                base + "/w/\xff\xfe",
		strings.Repeat("d/", 300): base + "/w" + strings.Repeat("/d", 300),
	} {
		got, err := tr.Resolve(path)
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v", path, got, err)
		}
		if img, err := tr.Read(path, 0); img != nil || err != nil {
			t.Errorf("read %q: %v, %v", path, img, err)
		}
	}
	for _, path := range []string{"", "a\x00b", "\x00"} {
		if _, err := tr.Resolve(path); !errors.Is(err, ErrBadPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := tr.Read(strings.Repeat("x", 5000), 0); err == nil {
		t.Error("a name of 5000 bytes was read")
	}
	if _, err := tr.Read(strings.Repeat("x/", 2500), 0); err != nil {
		t.Error("a path of 5000 bytes:", err)
	}
}

func TestResolveNeverLeaves(t *testing.T) {
	base, tr := place(t)
	parts := rapid.SampledFrom([]string{"..", ".", "", "a", "w", "w-evil", "~", "sub", "..."})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(parts, 1, 8).Draw(t, "parts"), "/")
		if rapid.Bool().Draw(t, "absolute") {
			path = base + "/w/" + path
		}
		got, err := tr.Resolve(path)
		if err == nil && got != base+"/w" && !strings.HasPrefix(got, base+"/w/") {
			t.Fatalf("%q became %q", path, got)
		}
	})
}

func TestRootUnderAnotherSpelling(t *testing.T) {
	base, _ := place(t)
	link(t, "w", base+"/alias")
	for _, root := range []string{base + "/alias", base + "/w"} {
		tr := openTree(t, Options{Roots: []string{root}, Cwd: root})
		for _, path := range []string{"f", base + "/alias/f", base + "/w/f"} {
			got, err := tr.Resolve(path)
			if got != base+"/w/f" || err != nil {
				t.Errorf("root %s: %s: %q, %v", root, path, got, err)
			}
		}
		if got, err := tr.Resolve(base + "/alias/new/file"); got != base+"/w/new/file" || err != nil {
			t.Errorf("new: %q, %v", got, err)
		}
		if _, err := tr.Resolve(base + "/alias/../out/victim"); err == nil {
			t.Error("left through the alias")
		}
	}
}

func TestSeveralRoots(t *testing.T) {
	base, _ := place(t)
	tr := openTree(t, Options{Roots: []string{base + "/w", base + "/out", base + "/w/sub"}})
	if d := cmp.Diff(base+"/w", tr.Roots()[0]); d != "" {
		t.Error(d)
	}
	if img, err := tr.Read(base+"/out/victim", 0); err != nil || string(img.Data) != "secret" {
		t.Error(img, err)
	}
	// A link from one root into another stays inside.
	link(t, "../out/victim", base+"/w/cross")
	if img, err := tr.Read("cross", 0); err != nil || string(img.Data) != "secret" {
		t.Error(img, err)
	}
	if got := tr.Rel(base + "/w/a/b"); got != "a/b" {
		t.Error(got)
	}
	if got := tr.Rel(base + "/out/b"); got != base+"/out/b" {
		t.Error(got)
	}
}

func TestRootOfEverything(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no root of everything")
	}
	base, _ := place(t)
	tr := openTree(t, Options{Roots: []string{"/"}, Cwd: base})
	img, err := tr.Read("out/victim", 0)
	if err != nil || string(img.Data) != "secret" {
		t.Fatal(img, err)
	}
	if _, err := tr.Read("/", 0); !errors.Is(err, ErrDirectory) {
		t.Error(err)
	}
	if _, err := tr.Read("/etc", 0); !errors.Is(err, ErrDirectory) {
		t.Error(err)
	}
}

func TestReadTellsStateAndAbsence(t *testing.T) {
	base, tr := place(t)
	img, err := tr.Read("f", 0)
	want := delta.NewFile([]byte("text\n"), 0o644)
	if runtime.GOOS == "windows" {
		want.Mode = 0o666
	}
	if d := cmp.Diff(want, img); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, path := range []string{"missing", "missing/deep", "f/below"} {
		if img, err := tr.Read(path, 0); img != nil || err != nil {
			t.Errorf("%s: %v, %v", path, img, err)
		}
	}
	if _, err := tr.Read("sub", 0); !errors.Is(err, ErrDirectory) {
		t.Error(err)
	}
	if _, err := tr.Read(".", 0); !errors.Is(err, ErrDirectory) {
		t.Error(err)
	}
	var large *TooLargeError
	if _, err := tr.Read("f", 4); !errors.As(err, &large) || large.Size != 5 || large.Limit != 4 {
		t.Error(err)
	}
	if _, err := tr.Read("f", 5); err != nil {
		t.Error(err)
	}
	write(t, base+"/w/empty", "")
	if img, err := tr.Read("empty", 10); err != nil || img.Size != 0 {
		t.Error(img, err)
	}
}

func TestSEC_L1_LinksOutAreRefused(t *testing.T) {
	base, tr := place(t)
	link(t, base+"/out/victim", base+"/w/abs")
	link(t, "../out/victim", base+"/w/rel")
	link(t, base+"/out", base+"/w/dir")
	link(t, "dir/victim", base+"/w/hop")
	link(t, "..", base+"/w/parent")
	link(t, "sub/../../out/victim", base+"/w/sneaky")
	link(t, base+"/w/../out/victim", base+"/w/sneaky2")
	for _, path := range []string{"abs", "rel", "dir/victim", "hop", "parent/out/victim", "parent/w/f", "dir/new/file",
		"sneaky", "sneaky2", "parent"} {
		var out *OutsideError
		if img, err := tr.Read(path, 0); !errors.As(err, &out) || img != nil {
			t.Errorf("read %s: %v, %v", path, img, err)
		}
		if got, err := tr.Target(path); !errors.As(err, &out) {
			t.Errorf("target of %s: %q, %v", path, got, err)
		}
		if _, err := tr.Sig(path); !errors.As(err, &out) {
			t.Errorf("signature of %s: %v", path, err)
		}
		if _, err := tr.Version(path); !errors.As(err, &out) {
			t.Errorf("version of %s: %v", path, err)
		}
	}
	// The link itself may be looked at, which is how it can be removed.
	if img, err := tr.ReadEntry("abs", 0); err != nil || img.Kind != delta.Symlink ||
		string(img.Data) != base+"/out/victim" {
		t.Error(img, err)
	}
}

func TestSEC_L5_LinksToNowhereAreRefused(t *testing.T) {
	base, tr := place(t)
	link(t, "missing", base+"/w/dangling")
	link(t, "loop2", base+"/w/loop")
	link(t, "loop", base+"/w/loop2")
	link(t, "self/x", base+"/w/self")
	link(t, "/proc/self/fd/0", base+"/w/fd")
	for _, path := range []string{"dangling", "loop", "self", "self/x", "fd", "dangling/x"} {
		if img, err := tr.Read(path, 0); err == nil || img != nil {
			t.Errorf("read %s: %v, %v", path, img, err)
		}
		if got, err := tr.Target(path); err == nil {
			t.Errorf("target of %s: %q", path, got)
		}
	}
}

func TestTargetIsReal(t *testing.T) {
	base, tr := place(t)
	write(t, base+"/w/sub/g", "g")
	link(t, "sub", base+"/w/d")
	link(t, "d/g", base+"/w/l")
	link(t, base+"/w/sub/../d/./g", base+"/w/dots")
	for path, want := range map[string]string{
		"f": "f", "l": "sub/g", "d/g": "sub/g", "d/new/x": "sub/new/x", "dots": "sub/g", "missing/x": "missing/x"} {
		if got, err := tr.Target(path); got != base+"/w/"+want || err != nil {
			t.Errorf("%s: %q, %v, want %s", path, got, err, want)
		}
	}
	if got, err := tr.Entry("d/g"); got != base+"/w/sub/g" || err != nil {
		t.Error(got, err)
	}
	if got, err := tr.Entry("l"); got != base+"/w/l" || err != nil {
		t.Error(got, err)
	}
	if img, err := tr.Read("l", 0); err != nil || string(img.Data) != "g" {
		t.Error(img, err)
	}
}

func TestVersionFollowsChanges(t *testing.T) {
	base, tr := place(t)
	path := base + "/w/f"
	past := time.Now().Add(-time.Hour)
	for i := range 5 {
		text := fmt.Sprintf("text %d", i) // always as long
		write(t, path, text)
		if err := os.Chtimes(path, past, past); err != nil { // and always as old
			t.Fatal(err)
		}
		for range 3 {
			v, err := tr.Version("f")
			if err != nil || v.Sum != delta.SumOf([]byte(text)) {
				t.Fatalf("%d: %v %v", i, v, err)
			}
		}
	}
	if v, err := tr.Version("gone"); !v.Absent() || err != nil {
		t.Error(v, err)
	}
}

func TestCacheIsUsedAndBounded(t *testing.T) {
	c := newCache()
	old := Signature{Ino: 1, Size: 1, Mtime: 1, Ctime: 1, Mode: 0o644}
	v := delta.NewFile([]byte("x"), 0o644).Version
	for i := range maxKnown + 500 {
		c.put(fmt.Sprint("/w/", i), old, v)
	}
	if len(c.files) != maxKnown {
		t.Errorf("%d entries", len(c.files))
	}
	c.put("/w/a", old, v)
	if got, ok := c.get("/w/a", old); !ok || got != v {
		t.Error("not found")
	}
	touched := old
	touched.Ctime++
	if _, ok := c.get("/w/a", touched); ok {
		t.Error("found under another signature")
	}
	fresh := old
	fresh.Mtime = time.Now().UnixNano()
	c.put("/w/b", fresh, v)
	if _, ok := c.get("/w/b", fresh); ok {
		t.Error("a fresh file was remembered")
	}
}

func TestVersionsNumberWhatIsSeen(t *testing.T) {
	var v Versions
	a, b := delta.NewFile([]byte("a"), 0o644).Version, delta.NewFile([]byte("b"), 0o644).Version
	for i, step := range []struct {
		path string
		now  delta.Version
		want int
	}{{"x", a, 1}, {"x", a, 1}, {"x", b, 2}, {"y", b, 1}, {"x", a, 3}, {"x", delta.Version{}, 4}, {"x", a, 5}} {
		if got := v.Observe(step.path, step.now); got != step.want {
			t.Errorf("step %d: got %d, want %d", i, got, step.want)
		}
	}
	// A forgotten path never gets a number that it had.
	for i := range maxObserved + 10 {
		v.Observe(fmt.Sprint(i), a)
	}
	if len(v.seen) > maxObserved {
		t.Error(len(v.seen))
	}
}

func TestMemoryOfKnownFiles(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := newCache()
	var v Versions
	for i := range 10_000 {
		path := fmt.Sprintf("/home/somebody/project/internal/package%d/file.go", i)
		ver := delta.Version{Kind: delta.File, Size: int64(i), Sum: delta.SumOf([]byte(path))}
		c.put(path, Signature{Ino: uint64(i), Mtime: 1}, ver)
		v.Observe(path, ver)
	}
	used := int64(heap() - before)
	if used > 2<<20 {
		t.Errorf("%d bytes", used)
	}
	t.Logf("%d bytes", used)
	runtime.KeepAlive(&c)
	runtime.KeepAlive(&v)
}
