//go:build unix

package modes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/work/tree"
)

// place is a root with directories in it, and the calls that change the disk.
type place struct {
	t     *testing.T
	root  string
	tree  *tree.Tree
	calls []string
	fails string // the call that fails
}

// newPlace makes directories with these modes; those above come first. A name that ends in a plus
// sign is that of a file.
func newPlace(t *testing.T, dirs ...any) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: filepath.ToSlash(root)}
	p.tree, err = tree.Open(tree.Options{Roots: []string{p.root}, Before: func(op, path string) error {
		call := op + strings.TrimSuffix(" "+strings.TrimPrefix(path, p.root), "/")
		if p.calls = append(p.calls, call); call == p.fails {
			return syscall.EIO
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(dirs); i += 2 {
		if name, file := strings.CutSuffix(dirs[i].(string), "+"); file {
			err = errors.Join(err, os.WriteFile(p.at(name), nil, 0o644))
		} else if name != "" { // that is the root
			err = errors.Join(err, os.Mkdir(p.at(name), 0o755))
		}
	}
	for i := len(dirs) - 2; i >= 0; i -= 2 {
		if name := dirs[i].(string); !strings.HasSuffix(name, "+") {
			err = errors.Join(err, os.Chmod(p.at(name), dirs[i+1].(os.FileMode)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i := 0; i < len(dirs); i += 2 {
			_ = os.Chmod(p.at(dirs[i].(string)), 0o700)
		}
	})
	return p
}

func (p *place) at(name string) string { return strings.TrimSuffix(p.root+"/"+name, "/") }

// mode is that of a directory, which may lie in closed ones.
func (p *place) mode(name string) os.FileMode {
	p.t.Helper()
	for i, c := range name {
		if c != '/' {
			continue
		}
		above := p.at(name[:i])
		st, err := os.Stat(above)
		if err = errors.Join(err, os.Chmod(above, 0o700)); err != nil {
			p.t.Fatal(err)
		}
		defer os.Chmod(above, st.Mode())
	}
	st, err := os.Lstat(p.at(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return st.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
}

func (p *place) dir(name string, was, want uint32) Dir {
	p.t.Helper()
	_, id, err := Of(p.tree, p.at(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return Dir{Path: p.at(name), ID: id, Was: was, Want: want}
}

func TestOf(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	p := newPlace(t, "d", os.FileMode(0o750), "e", 0o701|fs.ModeSetgid, "f+", os.FileMode(0))
	perm, id, err := Of(p.tree, p.at("d"))
	other, otherID, err2 := Of(p.tree, p.at("e"))
	if err = errors.Join(err, err2); err != nil || perm != 0o750 || other != 0o701 || id == (ID{}) || id == otherID || id[0] != otherID[0] {
		t.Errorf("%o %v, %o %v, %v", perm, id, other, otherID, err)
	}
	for _, name := range []string{"none", "f", "f/x"} {
		if perm, id, err := Of(p.tree, p.at(name)); err == nil || perm != 0 || id != (ID{}) {
			t.Errorf("%s: %o, %v, %v", name, perm, id, err)
		}
	}
}

// TestBegin opens a directory to its owner if it is the one that is meant, and to nobody else.
func TestBegin(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for name, c := range map[string]struct {
		mode   os.FileMode
		change func(p *place, d *Dir)
		want   os.FileMode
		err    string
	}{
		"closed":          {0o500, nil, 0o700, ""},
		"locked":          {0, nil, 0o700, ""},
		"others stay":     {0o055, nil, 0o755, ""},
		"special bits":    {0o550 | fs.ModeSetgid | fs.ModeSticky, nil, 0o750 | fs.ModeSetgid | fs.ModeSticky, ""},
		"open":            {0o755, nil, 0o755, ""},
		"its ID unknown":  {0o500, func(_ *place, d *Dir) { d.ID = ID{} }, 0o700, ""},
		"another mode":    {0o500, func(_ *place, d *Dir) { d.Was = 0o550 }, 0o500, "has changed"},
		"another one":     {0o500, func(_ *place, d *Dir) { d.ID[1]++ }, 0o500, "has changed"},
		"another device":  {0o500, func(_ *place, d *Dir) { d.ID[0]++ }, 0o500, "has changed"},
		"cannot":          {0o500, func(p *place, _ *Dir) { p.fails = "chmod /d" }, 0o500, "is closed by its mode 0500 and cannot be opened"},
		"open and cannot": {0o755, func(p *place, _ *Dir) { p.fails = "chmod /d" }, 0o755, "input/output error"},
		"gone":            {0o500, func(_ *place, d *Dir) { d.Path += "x" }, 0o500, "no such file"},
	} {
		p := newPlace(t, "d", c.mode)
		d := p.dir("d", uint32(c.mode.Perm()), 0o711)
		if c.change != nil {
			c.change(p, &d)
		}
		err := Begin(p.tree, d)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || p.mode("d") != c.want {
			t.Errorf("%s: mode %v, %v", name, p.mode("d"), err)
		}
		if tried := slices.Contains(p.calls, "chmod /d"); tried != (c.err == "" || p.fails != "") {
			t.Errorf("%s: %q", name, p.calls)
		}
		if err != nil && p.fails != "" && strings.Contains(err.Error(), "closed") == (name == "open and cannot") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgain opens what is closed as before or as after, and nothing else.
func TestAgain(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for name, c := range map[string]struct {
		mode   os.FileMode
		change func(p *place, d *Dir)
		want   os.FileMode
	}{
		"as before":                  {0o500, nil, 0o700},
		"as after":                   {0o400, nil, 0o700},
		"open as before":             {0o755, func(_ *place, d *Dir) { d.Was = 0o755 }, 0o755},
		"neither":                    {0o100, nil, 0o100},
		"its ID unknown":             {0o500, func(_ *place, d *Dir) { d.ID = ID{} }, 0o700},
		"another one":                {0o500, func(_ *place, d *Dir) { d.ID[1]++ }, 0o500},
		"writable, not to be opened": {0o300, func(_ *place, d *Dir) { d.Was, d.Want = 0o300, 0o300 }, 0o300},
		"cannot":                     {0o500, func(p *place, _ *Dir) { p.fails = "chmod /d" }, 0o500},
	} {
		p := newPlace(t, "d", c.mode, "d/in", os.FileMode(0o500))
		d := p.dir("d", 0o500, 0o400)
		if c.change != nil {
			c.change(p, &d)
		}
		Again(p.tree, []Dir{{Path: p.at("none"), Was: 0o500}, d})
		if got := p.mode("d"); got != c.want || slices.Contains(p.calls, "chmod /d") != (c.want != c.mode || p.fails != "") {
			t.Errorf("%s: mode %v, %q", name, got, p.calls)
		}
	}
	p := newPlace(t, "d", os.FileMode(0o500), "d/in", os.FileMode(0o500))
	outer, inner := p.dir("d", 0o500, 0o500), p.dir("d/in", 0o500, 0o500)
	if err := os.Chmod(p.at("d"), 0); err != nil {
		t.Fatal(err)
	}
	outer.Was = 0
	Again(p.tree, []Dir{inner, outer}) // that in it can be reached only then
	if p.mode("d") != 0o700 || p.mode("d/in") != 0o700 {
		t.Errorf("%v, in it %v", p.mode("d"), p.mode("d/in"))
	}
}

// TestEnd gives a directory its mode if it has the one that it was opened with, and flushes it if asked.
func TestEnd(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for name, c := range map[string]struct {
		mode   os.FileMode
		change func(p *place, d *Dir)
		want   os.FileMode
		calls  string // but for flushes
		failed string
	}{
		"opened":               {0o755, nil, 0o711, "chmod", ""},
		"special bits":         {0o755 | fs.ModeSetgid | fs.ModeSticky, nil, 0o711 | fs.ModeSetgid | fs.ModeSticky, "chmod", ""},
		"to be as it is":       {0o755, func(_ *place, d *Dir) { d.Want = 0o755 }, 0o755, "", ""},
		"of somebody else":     {0o751, nil, 0o751, "none", ""},
		"not opened":           {0o055, nil, 0o055, "none", ""},
		"another one":          {0o755, func(_ *place, d *Dir) { d.ID[1]++ }, 0o755, "none", ""},
		"its ID unknown":       {0o755, func(_ *place, d *Dir) { d.ID = ID{} }, 0o711, "chmod", ""},
		"made":                 {0o700, func(_ *place, d *Dir) { d.Made = true }, 0o711, "chmod", ""},
		"not made":             {0o700, nil, 0o700, "none", ""},
		"made by an older one": {0o640, func(_ *place, d *Dir) { d.ID, d.Next = ID{}, 0o640 }, 0o711, "chmod", ""},
		"by this one":          {0o640, func(_ *place, d *Dir) { d.Next = 0o640 }, 0o640, "none", ""},
		"cannot":               {0o755, func(p *place, _ *Dir) { p.fails = "chmod /d" }, 0o755, "chmod", "give the directory its mode 0711: "},
		"gone":                 {0o755, func(_ *place, d *Dir) { d.Path += "x" }, 0o755, "none", ""},
		"a link":               {0o755, func(_ *place, d *Dir) { d.Path = filepath.Dir(d.Path) + "/l" }, 0o755, "none", ""},
	} {
		for _, durable := range []bool{false, true} {
			p := newPlace(t, "d", c.mode)
			if err := os.Symlink("d", p.at("l")); err != nil {
				t.Skip(err)
			}
			d := p.dir("d", 0o055, 0o711)
			if c.change != nil {
				c.change(p, &d)
			}
			var failed []string
			End(p.tree, []Dir{d}, durable, func(path string, err error) {
				if !errors.Is(err, ErrMode) || !errors.Is(err, syscall.EIO) {
					t.Errorf("%s: %v", name, err)
				}
				failed = append(failed, path+": "+err.Error())
			})
			var want []string
			if c.calls == "chmod" {
				want = append(want, "chmod /d")
			}
			if durable && c.calls != "none" && c.failed == "" {
				want = append(want, "syncdir /d")
			}
			if got := p.mode("d"); got != c.want || !slices.Equal(p.calls, want) {
				t.Errorf("%s: mode %v, %q, not %q", name, got, p.calls, want)
			}
			if len(failed) > 1 || (len(failed) == 1) != (c.failed != "") || c.failed != "" && !strings.HasPrefix(failed[0], p.at("d")+": "+c.failed) {
				t.Errorf("%s: %q", name, failed)
			}
		}
	}
	p := newPlace(t, "d", os.FileMode(0o700), "d/in", os.FileMode(0o700), "d/in/in", os.FileMode(0o700), "e", os.FileMode(0o700))
	all := []Dir{p.dir("d", 0, 0), p.dir("d/in/in", 0, 0o500), p.dir("d/in", 0, 0), p.dir("e", 0, 0o100)}
	End(p.tree, all, true, func(path string, err error) { t.Errorf("%s: %v", path, err) })
	for name, want := range map[string]os.FileMode{"d": 0, "d/in": 0, "d/in/in": 0o500, "e": 0o100} {
		if got := p.mode(name); got != want {
			t.Errorf("%s has mode %v", name, got)
		}
	}
	if all[0].Path != p.at("d") || all[3].Path != p.at("e") {
		t.Error("the caller's list is sorted")
	}
	p = newPlace(t, "d", os.FileMode(0o755))
	p.fails = "syncdir /d"
	told := 0
	End(p.tree, []Dir{p.dir("d", 0o055, 0o711)}, true, func(string, error) { told++ })
	if told != 1 {
		t.Errorf("a flush that fails is told %d times", told)
	}
}

// TestFind finds what keeps its owner from a path, the outermost first, and opens up the way.
func TestFind(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for name, c := range map[string]struct {
		dirs          []any
		change, reach []string
		want          []string // with their modes, of one round after the other
	}{
		"nothing":                       {[]any{"d", os.FileMode(0o755)}, []string{"d/x", "x"}, []string{"d/x"}, nil},
		"to change in a closed one":     {[]any{"d", os.FileMode(0o500)}, []string{"d/x", "d/y"}, nil, []string{"d 500"}},
		"to reach in a closed one":      {[]any{"d", os.FileMode(0o500)}, nil, []string{"d/x"}, nil},
		"both":                          {[]any{"d", os.FileMode(0o500)}, []string{"d/x"}, []string{"d/x"}, []string{"d 500"}},
		"to reach, and to change":       {[]any{"d", os.FileMode(0o500), "e", os.FileMode(0o500)}, []string{"e/x"}, []string{"d/x"}, []string{"e 500"}},
		"to reach in a locked one":      {[]any{"d", os.FileMode(0o600)}, nil, []string{"d/x"}, []string{"d 600"}},
		"to change in a locked one":     {[]any{"d", os.FileMode(0)}, []string{"d/x"}, nil, []string{"d 0"}},
		"to make below a closed one":    {[]any{"d", os.FileMode(0o500)}, []string{"d/new/deep/x"}, nil, []string{"d 500"}},
		"to reach what is not there":    {[]any{"d", os.FileMode(0o500)}, nil, []string{"d/new/deep/x"}, nil},
		"in an open one of a closed":    {[]any{"d", os.FileMode(0o500), "d/in", os.FileMode(0o755)}, []string{"d/in/x"}, nil, nil},
		"one behind the other":          {[]any{"d", os.FileMode(0), "d/in", os.FileMode(0o500)}, []string{"d/in/x"}, nil, []string{"d 0", "d/in 500"}},
		"each of two":                   {[]any{"e", os.FileMode(0o500), "d", os.FileMode(0o500)}, []string{"e/x", "d/x"}, nil, []string{"d 500", "e 500"}},
		"below a file":                  {[]any{"f+", os.FileMode(0)}, []string{"f/x"}, nil, nil},
		"below a file in a closed one":  {[]any{"d", os.FileMode(0o500)}, []string{"d/f/x"}, nil, []string{"d 500"}},
		"outside":                       {[]any{"d", os.FileMode(0o500)}, []string{"../x/y"}, nil, nil},
		"the root":                      {[]any{"", os.FileMode(0o500)}, []string{"x"}, nil, []string{" 500"}},
		"one that lists and enters not": {[]any{"d", os.FileMode(0o600), "d/in", os.FileMode(0o700)}, []string{"d/in/x"}, nil, []string{"d 600"}},
	} {
		p := newPlace(t, c.dirs...)
		s := In(p.tree)
		for _, x := range c.change {
			s.Change(p.at(x))
		}
		for _, x := range c.reach {
			s.Reach(p.at(x))
		}
		var got []string
		for range 5 {
			found := s.Find()
			for _, d := range found {
				got = append(got, fmt.Sprintf("%s %o", strings.TrimPrefix(strings.TrimPrefix(d.Path, p.root), "/"), d.Was))
				if d.Want != d.Was || d.ID == (ID{}) {
					t.Errorf("%s: %+v", name, d)
				}
				if err := Begin(p.tree, d); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if len(found) == 0 {
				break
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}
