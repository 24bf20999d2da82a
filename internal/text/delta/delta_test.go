package delta

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/diff"
)

// state is a tree of files, by path.
type state map[string]*Image

// apply makes the changes of s, each of which must fit.
func (st state) apply(t interface{ Fatalf(string, ...any) }, s Set) state {
	out := maps.Clone(st)
	for _, c := range s {
		if !out[c.Path].Same(c.Pre) {
			t.Fatalf("%s is %v, the change is for %v", c.Path, out[c.Path].At(), c.Pre.At())
		}
		if c.Post == nil {
			delete(out, c.Path)
		} else {
			out[c.Path] = c.Post
		}
	}
	return out
}

func (st state) versions() map[string]Version {
	out := map[string]Version{}
	for p, i := range st {
		out[p] = i.At()
	}
	return out
}

var paths = []string{"/w/a", "/w/b", "/w/c/d", "/w/c/e"}

func someImage() *rapid.Generator[*Image] {
	return rapid.Custom(func(t *rapid.T) *Image {
		if rapid.IntRange(0, 7).Draw(t, "kind") == 0 {
			return NewSymlink(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "target"))
		}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"one\n", "two\n", "three\n", "four"}), 0, 8).Draw(t,
			"text"), "")
		return NewFile([]byte(text), rapid.SampledFrom([]uint32{0o644, 0o755}).Draw(t, "mode"))
	})
}

func someState(t *rapid.T) state {
	return state(rapid.MapOfN(rapid.SampledFrom(paths), someImage(), 0, 4).Draw(t, "base"))
}

// someSet draws changes that fit st: writes, removals, moves and copies.
func someSet(t *rapid.T, st state) (Set, state) {
	var s Set
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		other := rapid.SampledFrom(paths).Draw(t, "other")
		change := Set{{Path: path, Pre: st[path], Post: someImage().Draw(t, "image")}}
		switch kind := rapid.IntRange(0, 4).Draw(t, "change"); {
		case kind == 0:
			change[0].Post = nil
		case kind == 1 && st[other] != nil && other != path:
			change[0].Post, change[0].From = st[other], other
		case kind >= 2 && st[other] != nil && other != path:
			change[0].Post, change[0].From = st[other], other
			change = append(change, Change{Path: other, Pre: st[other], To: path})
			if kind == 3 {
				slices.Reverse(change)
			}
		}
		if change[0].Pre == nil && change[0].Post == nil {
			continue
		}
		st = st.apply(t, change)
		s = append(s, change...)
	}
	return s, st
}

func TestFoldIsTheNetEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := someState(t)
		now, sets := base, []Set(nil)
		for range rapid.IntRange(0, 4).Draw(t, "sets") {
			var s Set
			s, now = someSet(t, now)
			sets = append(sets, s)
		}
		net := Fold(sets...)
		if d := cmp.Diff(now.versions(), base.apply(t, net).versions()); d != "" {
			t.Fatalf("folded history differs: -history +fold\n%s", d)
		}
		checkFolded(t, net)
		if d := cmp.Diff(net, Fold(net)); d != "" {
			t.Fatalf("fold of a fold differs\n%s", d)
		}
		if d := cmp.Diff(base.versions(), now.apply(t, inverse(net)).versions()); d != "" {
			t.Fatalf("inverse does not lead back\n%s", d)
		}
	})
}

// inverse takes s back.
func inverse(s Set) Set {
	var out Set
	for _, c := range slices.Backward(s) {
		out = append(out, Change{Path: c.Path, Pre: c.Post, Post: c.Pre, From: c.To, To: c.From})
	}
	return out
}

func checkFolded(t *rapid.T, net Set) {
	at := map[string]Change{}
	for i, c := range net {
		if i > 0 && net[i-1].Path >= c.Path {
			t.Fatalf("not sorted: %v", net.Paths())
		}
		if c.Pre.Same(c.Post) {
			t.Fatalf("%s does not change", c.Path)
		}
		at[c.Path] = c
	}
	for _, c := range net {
		if c.From == c.Path || c.To == c.Path || c.From != "" && c.Post == nil {
			t.Fatalf("%s is from %q, to %q", c.Path, c.From, c.To)
		}
		if c.To != "" && (c.Pre == nil || c.Post != nil || at[c.To].From != c.Path) {
			t.Fatalf("%s is said to have moved to %s, which is from %q", c.Path, c.To, at[c.To].From)
		}
	}
}

func TestFoldFollowsMoves(t *testing.T) {
	x, y, z := NewFile([]byte("x\n"), 0o644), NewFile([]byte("y\n"), 0o644), NewFile([]byte("z\n"), 0o644)
	move := func(from, to string, i *Image) Set {
		return Set{{Path: from, Pre: i, To: to}, {Path: to, Post: i, From: from}}
	}
	for name, c := range map[string]struct{ in, want Set }{
		"chain":        {slices.Concat(move("/a", "/b", x), move("/b", "/c", x)), move("/a", "/c", x)},
		"there again":  {slices.Concat(move("/a", "/b", x), move("/b", "/a", x)), Set{}},
		"then edited":  {append(move("/a", "/b", x), Change{Path: "/b", Pre: x, Post: y}), Set{{Path: "/a", Pre: x, To: "/b"}, {Path: "/b", Post: y, From: "/a"}}},
		"edited first": {append(Set{{Path: "/a", Pre: x, Post: y}}, move("/a", "/b", y)...), Set{{Path: "/a", Pre: x, To: "/b"}, {Path: "/b", Post: y, From: "/a"}}},
		"source anew":  {append(move("/a", "/b", x), Change{Path: "/a", Post: y}), Set{{Path: "/a", Pre: x, Post: y}, {Path: "/b", Post: x, From: "/a"}}},
		"new, moved":   {append(Set{{Path: "/a", Post: x}}, move("/a", "/b", x)...), Set{{Path: "/b", Post: x}}},
		"made again":   {append(move("/a", "/b", x), Change{Path: "/b", Pre: x}, Change{Path: "/b", Post: z}), Set{{Path: "/a", Pre: x}, {Path: "/b", Post: z}}},
		"no-op":        {Set{{Path: "/a", Pre: x, Post: y}, {Path: "/a", Pre: y, Post: x}}, Set{}},
		"touched":      {Set{{Path: "/a", Pre: x, Post: x}}, Set{}},
	} {
		if d := cmp.Diff(c.want, Fold(c.in)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		var single []Set
		for _, ch := range c.in {
			single = append(single, Set{ch})
		}
		if d := cmp.Diff(Fold(c.in).Paths(), Fold(single...).Paths()); d != "" {
			t.Errorf("%s, one set each: %s", name, d)
		}
	}
}

// TestFoldOfOneSet: within one set From names what a path held before the set, however often
// the set changes that path; what a path held that is gone again comes from nowhere.
// TestFoldChoosesTheMove: of two that took what was at one place, that is the move which still has its
// content, and the other one is a copy.
func TestFoldChoosesTheMove(t *testing.T) {
	text, other := NewFile([]byte("text"), 0o644), NewFile([]byte("other"), 0o644)
	for _, c := range []struct{ b, c *Image }{{other, text}, {text, other}, {text, text}, {other, other}} {
		got := Fold(Set{{Path: "/b", Post: c.b, From: "/a"}, {Path: "/c", Post: c.c, From: "/a"}, {Path: "/a", Pre: text}})
		to := "/b"
		if c.c == text && c.b == other {
			to = "/c"
		}
		if len(got) != 3 || got[0].To != to || got[1].From != "/a" || got[2].From != "/a" {
			t.Errorf("%q and %q: %+v", c.b.Data, c.c.Data, got)
		}
	}
}

// TestOnlyTextsAreAlike: contents that differ are one file that was renamed only where both are text.
func TestOnlyTextsAreAlike(t *testing.T) {
	text := strings.Repeat("a line that both have\n", 20)
	for begin, want := range map[string]int{"": 1, "\x00": 2, "x\x00": 2} {
		set := Set{{Path: "/a", Pre: NewFile([]byte(begin+text), 0o644)}, {Path: "/b", Post: NewFile([]byte(begin+text+"more\n"), 0o644)}}
		if got := Files(set, rel); len(got) != want {
			t.Errorf("with %q before: %d files", begin, len(got))
		}
	}
}

func TestFoldOfOneSet(t *testing.T) {
	x, y, z := NewFile([]byte("x\n"), 0o644), NewFile([]byte("y\n"), 0o644), NewFile([]byte("z\n"), 0o644)
	for name, c := range map[string]struct{ in, want Set }{
		"changed twice, then copied": {
			Set{{Path: "/a", Pre: x, Post: y, From: "/c"}, {Path: "/a", Pre: y, Post: z}, {Path: "/b", Post: x, From: "/a"}},
			Set{{Path: "/a", Pre: x, Post: z, From: "/c"}, {Path: "/b", Post: x, From: "/a"}}},
		"of what is gone": {
			Set{{Path: "/t", Post: x, From: "/a"}, {Path: "/t", Pre: x}, {Path: "/b", Post: x, From: "/t"}},
			Set{{Path: "/b", Post: x}}},
		"of two that are the same the first is the move": {
			Set{{Path: "/a", Pre: x, To: "/b"}, {Path: "/b", Post: x, From: "/a"}, {Path: "/c", Post: x, From: "/a"}},
			Set{{Path: "/a", Pre: x, To: "/b"}, {Path: "/b", Post: x, From: "/a"}, {Path: "/c", Post: x, From: "/a"}}},
		"the one that is the same is the move": {
			Set{{Path: "/a", Pre: x, To: "/b"}, {Path: "/b", Post: y, From: "/a"}, {Path: "/c", Post: x, From: "/a"}},
			Set{{Path: "/a", Pre: x, To: "/c"}, {Path: "/b", Post: y, From: "/a"}, {Path: "/c", Post: x, From: "/a"}}},
	} {
		if d := cmp.Diff(c.want, Fold(c.in)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

func TestPathsAreToldOnce(t *testing.T) {
	s := Set{{Path: "/b"}, {Path: "/a"}, {Path: "/b"}, {Path: "/c"}, {Path: "/a"}}
	if d := cmp.Diff([]string{"/b", "/a", "/c"}, s.Paths()); d != "" {
		t.Error(d)
	}
}

func TestVersions(t *testing.T) {
	var none *Image
	for want, i := range map[string]*Image{
		"absent":                                    none,
		"a file of mode 0640, 1 bytes, 2d711642":    NewFile([]byte("x"), 0o640),
		"a symlink of mode 0000, 1 bytes, 2d711642": NewSymlink("x"),
	} {
		if got := i.At().String(); got != want || i.At().Absent() != (i == nil) {
			t.Errorf("%q, not %q; absent: %v", got, want, i.At().Absent())
		}
	}
}

func TestConflictsInWords(t *testing.T) {
	file := func(s string) *Image { return NewFile([]byte(s), 0o644) }
	for want, c := range map[string]struct{ pre, post, now *Image }{
		"/f is gone, and the change is for a file of mode 0644, 1 bytes, 2d711642": {file("x"), file("y"), nil},
		"/f exists now, and the change would create it":                            {nil, file("y"), file("z")},
		"/f changed, and the change would delete it":                               {file("x"), nil, file("z")},
		"/f changed in a way that cannot be merged":                                {file("x"), file("y"), NewSymlink("z")},
		"/f changed at line 2, where the change applies too":                       {file("a\nb\n"), file("a\nc\n"), file("a\nd\n")},
	} {
		if _, err := Rebase(Change{Path: "/f", Pre: c.pre, Post: c.post}, c.now); err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func TestRebase(t *testing.T) {
	file := func(s string) *Image { return NewFile([]byte(s), 0o644) }
	x := func(i *Image) *Image { j := *i; j.Mode = 0o755; return &j }
	blind := func(i *Image) *Image { j := *i; j.Data, j.Loaded = nil, false; return &j }
	base, edited, elsewhere := file("a\nb\nc\n"), file("a\nb\nC\n"), file("A\nb\nc\n")
	for _, c := range []struct {
		name           string
		pre, post, now *Image
		want           *Image // nil with conflict
		conflict       bool
	}{
		{"unchanged", base, edited, base, edited, false},
		{"merged", base, edited, elsewhere, file("A\nb\nC\n"), false},
		{"merged mode of now", base, edited, x(elsewhere), x(file("A\nb\nC\n")), false},
		{"merged mode of change", base, x(edited), elsewhere, x(file("A\nb\nC\n")), false},
		{"mode only", base, x(base), elsewhere, x(elsewhere), false},
		{"mode onto a mode", base, edited, x(base), x(edited), false},
		{"needs no bytes", base, blind(edited), x(base), x(blind(edited)), false},
		{"already so, needs no bytes", base, blind(edited), x(blind(edited)), x(blind(edited)), false},
		{"same place", base, edited, file("a\nb\nX\n"), nil, true},
		{"already so", base, edited, edited, edited, false},
		{"already so, other mode", base, edited, x(edited), x(edited), false},
		{"create onto nothing", nil, edited, nil, edited, false},
		{"create onto a file", nil, edited, base, nil, true},
		{"create what is there", nil, edited, edited, edited, false},
		{"delete a changed file", base, nil, elsewhere, nil, true},
		{"delete what is gone", base, nil, nil, nil, false},
		{"edit what is gone", base, edited, nil, nil, true},
		{"now a link", base, edited, NewSymlink("x"), nil, true},
		{"links", NewSymlink("x"), NewSymlink("y"), NewSymlink("z"), nil, true},
		{"binary", file("a\x00\nb\nc\n"), file("a\x00\nb\nC\n"), file("A\x00\nb\nc\n"), nil, true},
	} {
		in := Change{Path: "/f", Pre: c.pre, Post: c.post, From: "/g"}
		got, err := Rebase(in, c.now)
		var conflict *ConflictError
		if c.conflict {
			if !errors.As(err, &conflict) || conflict.Ours != c.now || conflict.Theirs != c.post || conflict.Error() == "" {
				t.Errorf("%s: got %v, %v", c.name, got, err)
			}
			continue
		}
		if d := cmp.Diff(Change{Path: "/f", Pre: c.now, Post: c.want, From: "/g"}, got); d != "" || err != nil {
			t.Errorf("%s: %v -want +got\n%s", c.name, err, d)
		}
	}
	if _, err := Rebase(Change{Pre: base, Post: blind(edited)}, elsewhere); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("without bytes: %v", err)
	}
}

func rel(p string) string { return strings.TrimPrefix(p, "/w/") }

func TestFilesPairsRenames(t *testing.T) {
	text := strings.Repeat("some line\nanother\nand more of it\n", 9)
	f := func(s string) *Image { return NewFile([]byte(s), 0o644) }
	blind := NewFile([]byte(text), 0o755)
	blind.Data, blind.Loaded = nil, false
	one := f(text)
	for name, c := range map[string]struct {
		in   Set
		want []string
	}{
		"told": {Set{{Path: "/w/a", Pre: f("x\n"), To: "/w/b"}, {Path: "/w/b", Post: f("y\n"), From: "/w/a"}}, []string{"a>b"}},
		"told by one half only": {Set{{Path: "/w/a", Pre: f("x\n")}, {Path: "/w/b", Post: f("y\n"), From: "/w/a"}},
			[]string{"-a", "+b"}},
		"same":          {Set{{Path: "/w/a", Pre: f("x\n")}, {Path: "/w/b", Post: f("x\n")}}, []string{"a>b"}},
		"same, names":   {Set{{Path: "/w/1/f", Pre: f("x\n")}, {Path: "/w/1/g", Pre: f("x\n")}, {Path: "/w/2/f", Post: f("x\n")}, {Path: "/w/2/g", Post: f("x\n")}}, []string{"1/f>2/f", "1/g>2/g"}},
		"empty":         {Set{{Path: "/w/a", Pre: f("")}, {Path: "/w/b", Post: f("")}}, []string{"-a", "+b"}},
		"alike":         {Set{{Path: "/w/a", Pre: f(text + "z\n")}, {Path: "/w/b", Post: f(text + "more of it\n")}}, []string{"a>b"}},
		"unlike":        {Set{{Path: "/w/a", Pre: f(text)}, {Path: "/w/b", Post: f("x" + strings.ReplaceAll(text, "\n", ".\n"))}}, []string{"-a", "+b"}},
		"best wins":     {Set{{Path: "/w/a", Pre: f(text + "q\n")}, {Path: "/w/b", Post: f(text + text[:90])}, {Path: "/w/c", Post: f(text + "r\n")}}, []string{"+b", "a>c"}},
		"file and link": {Set{{Path: "/w/a", Pre: f("x")}, {Path: "/w/b", Post: NewSymlink("x")}}, []string{"-a", "+b"}},
		"modified":      {Set{{Path: "/w/a", Pre: f("x"), Post: f("y")}}, []string{"a"}},
		"blind":         {Set{{Path: "/w/a", Pre: blind}, {Path: "/w/b", Post: one}}, []string{"a>b"}},
		"blind, new":    {Set{{Path: "/w/b", Post: blind}}, []string{"+b opaque"}},
	} {
		var got []string
		for _, f := range Files(c.in, rel) {
			s := f.NewPath
			switch {
			case f.OldMode == 0:
				s = "+" + f.NewPath
			case f.NewMode == 0:
				s = "-" + f.OldPath
			case f.OldPath != f.NewPath:
				s = f.OldPath + ">" + f.NewPath
			}
			if f.Opaque {
				s += " opaque"
			}
			got = append(got, s)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

func TestFilesOfManyAreQuick(t *testing.T) {
	var s Set
	for i := range 3000 {
		same := NewFile([]byte("the same\n"), 0o644)
		s = append(s,
			Change{Path: fmt.Sprintf("/w/old/%d", i), Pre: same},
			Change{Path: fmt.Sprintf("/w/new/x%d", i), Post: same},
			Change{Path: fmt.Sprintf("/w/p/%d", i), Pre: NewFile(fmt.Appendf(nil, "a\nb\nc\nd\ne\n%d\n", i), 0o644)},
			Change{Path: fmt.Sprintf("/w/q/%d", i), Post: NewFile(fmt.Appendf(nil, "a\nb\nc\nd\ne\nf%d\n", i), 0o644)})
	}
	if n := len(Files(s, rel)); n < 9000-maxComparisons || n > 9000 {
		t.Errorf("%d files", n)
	}
}

// TestGitAppliesFiles lets git make a history's net diff.
func TestGitAppliesFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no git, or modes and links that are not its own")
	}
	rapid.Check(t, func(rt *rapid.T) {
		base := someState(rt)
		now, sets := base, []Set(nil)
		for range 2 {
			var s Set
			s, now = someSet(rt, now)
			sets = append(sets, s)
		}
		patch := diff.Unified(Files(Fold(sets...), rel))
		dir := t.TempDir()
		base.write(t, dir)
		if len(patch) > 0 {
			cmd := exec.Command("git", "apply", "--binary", "--whitespace=nowarn", "-")
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
				"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if out, err := cmd.CombinedOutput(); err != nil {
				rt.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
			}
		}
		if d := cmp.Diff(now.versions(), readState(t, dir).versions()); d != "" {
			rt.Fatalf("-want +got\n%s\n%s", d, patch)
		}
	})
}

func (st state) write(t *testing.T, dir string) {
	for p, i := range st {
		p = filepath.Join(dir, filepath.FromSlash(rel(p)))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if i.Kind == Symlink {
			err = os.Symlink(string(i.Data), p)
		} else if err = os.WriteFile(p, i.Data, 0o600); err == nil {
			err = os.Chmod(p, os.FileMode(i.Mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func readState(t *testing.T, dir string) state {
	st := state{}
	for _, p := range paths {
		file := filepath.Join(dir, filepath.FromSlash(rel(p)))
		info, err := os.Lstat(file)
		if err != nil {
			continue
		}
		if info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(file)
			if err != nil {
				t.Fatal(err)
			}
			st[p] = NewSymlink(to)
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		st[p] = NewFile(b, uint32(info.Mode().Perm())|0o044)
	}
	return st
}

// TestChangesOfOnePathAreOne, from the first to the last, with where it came from and went to.
func TestChangesOfOnePathAreOne(t *testing.T) {
	i := func(text string) *Image { return NewFile([]byte(text), 0o644) }
	got, err := Set{{Path: "a", Pre: i("1"), Post: i("2"), From: "f"}, {Path: "b", Post: i("b")}, {Path: "a", Pre: i("2"), Post: i("3")},
		{Path: "b", Pre: i("b"), To: "t"}, {Path: "a", Pre: i("3"), Post: i("4"), From: "g"}, {Path: "c", Pre: i("c"), To: "u"}, {Path: "c", Post: i("d")}}.Net()
	want := Set{{Path: "a", Pre: i("1"), Post: i("4"), From: "g"}, {Path: "b", To: "t"}, {Path: "c", Pre: i("c"), Post: i("d"), To: "u"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	if !slices.Equal(want.Paths(), got.Paths()) {
		t.Errorf("%v", got.Paths())
	}
}
