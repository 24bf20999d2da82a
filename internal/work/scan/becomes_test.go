package scan

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

// kinds are what a path may be: what is planted, with x for the path, the files that it comes to, and
// the mode that it then gets.
var kinds = map[string]struct {
	plant []string
	files map[string]*delta.Image // by what follows the path
	mode  os.FileMode
}{
	"nothing":      {},
	"file":         {[]string{"x=1"}, map[string]*delta.Image{"": delta.NewFile([]byte("1"), 0o644)}, 0},
	"other":        {[]string{"x=2"}, map[string]*delta.Image{"": delta.NewFile([]byte("2"), 0o644)}, 0},
	"program":      {[]string{"x=1"}, map[string]*delta.Image{"": delta.NewFile([]byte("1"), 0o755)}, 0o755},
	"empty file":   {[]string{"x"}, map[string]*delta.Image{"": delta.NewFile(nil, 0o644)}, 0},
	"link":         {[]string{"x->1"}, map[string]*delta.Image{"": delta.NewSymlink("1")}, 0},
	"other link":   {[]string{"x->2"}, map[string]*delta.Image{"": delta.NewSymlink("2")}, 0},
	"empty dir":    {[]string{"x/"}, nil, 0},
	"dir":          {[]string{"x/f=3"}, map[string]*delta.Image{"/f": delta.NewFile([]byte("3"), 0o644)}, 0},
	"shut dir":     {[]string{"x/f=3"}, map[string]*delta.Image{"/f": delta.NewFile([]byte("3"), 0o644)}, 0o700},
	"nested dir":   {[]string{"x/d/"}, nil, 0},
	"no file":      {nil, nil, 0}, // a FIFO
	"and a file":   {[]string{"x/f=3", "x/g=4"}, map[string]*delta.Image{"/f": delta.NewFile([]byte("3"), 0o644), "/g": delta.NewFile([]byte("4"), 0o644)}, 0},
	"another in d": {[]string{"x/f=5"}, map[string]*delta.Image{"/f": delta.NewFile([]byte("5"), 0o644)}, 0},
}

func isDirKind(kind string) bool {
	return strings.Contains(kind, "dir") || kind == "and a file" || kind == "another in d"
}

// become makes a path be of a kind.
func (w *world) become(name, kind string) {
	w.Helper()
	w.must(os.RemoveAll(w.at(name)))
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	for _, p := range kinds[kind].plant {
		w.plant(name + strings.TrimPrefix(p, "x"))
	}
	if mode := kinds[kind].mode; mode != 0 {
		w.must(os.Chmod(w.at(name), mode))
	}
	if kind == "no file" {
		fifo(w.TB.(*testing.T), w.at(name))
	}
}

// told is what a Diff is to tell of a path that was of one kind and is of another.
func told(name, was, is string) (gone, rest []string, gaps []string) {
	pre, post := kinds[was].files, kinds[is].files
	image := func(i *delta.Image) string {
		if i == nil {
			return "none"
		}
		return fmt.Sprintf("%s %o %q", i.Kind, i.Mode, i.Data)
	}
	all := map[string]bool{}
	for p := range pre {
		all[p] = true
	}
	for p := range post {
		all[p] = true
	}
	for p := range maps.Keys(all) {
		line := fmt.Sprintf("%s: %s -> %s", name+p, image(pre[p]), image(post[p]))
		switch {
		case pre[p].Same(post[p]):
		case post[p] == nil:
			gone = append(gone, line)
		default:
			rest = append(rest, line)
		}
	}
	empty := func(kind string) []string {
		return map[string][]string{"empty dir": {name}, "nested dir": {name, name + "/d"}}[kind]
	}
	for _, p := range empty(was) {
		if !slices.Contains(empty(is), p) && (p != name || !isDirKind(is)) {
			gaps = append(gaps, "gap "+p+": directory: an empty directory was removed")
		}
	}
	for _, p := range empty(is) {
		if !slices.Contains(empty(was), p) && (p != name || !isDirKind(was)) {
			gaps = append(gaps, "gap "+p+": directory: an empty directory was made")
		}
	}
	if was != is && was == "no file" {
		gaps = append(gaps, "gap "+name+": special: was not a regular file (mode prw-r--r--)")
	}
	if was != is && is == "no file" {
		gaps = append(gaps, "gap "+name+": special: is not a regular file (mode prw-r--r--)")
	}
	return gone, rest, gaps
}

// TestEveryKindBecomesEveryOther: what a path was and what it is are told, and nothing of the paths
// beside it; young files and old ones, those that git has and those that are kept.
func TestEveryKindBecomesEveryOther(t *testing.T) {
	all := slices.Sorted(maps.Keys(kinds))
	for how, prepare := range map[string]func(w *world){
		"young": func(*world) {},
		"old":   (*world).aged,
		"git": func(w *world) {
			w.git("init", "-q")
			w.git("add", "-A")
			w.git("commit", "-qm", "x")
			w.settle()
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, Options{})
			each := func(f func(name, was, is string)) {
				for i, was := range all {
					for j, is := range all {
						f(fmt.Sprintf("%02d/%02d/x", i, j), was, is)
					}
				}
			}
			each(func(name, was, _ string) { w.become(name, was) })
			each(func(name, _, _ string) { w.plant(filepath.Dir(name) + "/beside=b") })
			prepare(w)
			before := w.snap()
			var gone, rest, gaps []string
			each(func(name, was, is string) {
				if was != is {
					w.become(name, is)
				}
				g, r, l := told(name, was, is)
				gone, rest, gaps = append(gone, g...), append(rest, r...), append(gaps, l...)
			})
			slices.Sort(gone)
			slices.Sort(rest)
			byPath := func(line string) string { return strings.Replace(line, ": ", "\x00", 1) }
			slices.SortFunc(gaps, func(a, b string) int { return strings.Compare(byPath(a), byPath(b)) })
			after := w.snap()
			set, found := w.diff(before, after)
			for i := range set { // what is alike is paired elsewhere
				set[i].From, set[i].To = "", ""
			}
			want := strings.Join(slices.Concat(gone, rest, gaps), "\n") + "\n"
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(w.show(set, found), "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			set, found = w.diff(after, w.snap())
			w.wants("nothing more", "", set, found)
		})
	}
}

// listed are the files and directories of a Snap, with what is known of each.
func (w *world) listed(s *Snap) []string {
	out := []string{fmt.Sprintf("%d entries, %d bytes held", s.Files, s.Held)}
	var list func(n *node, at string)
	list = func(n *node, at string) {
		for i := range n.entries {
			switch e := &n.entries[i]; {
			case e.dir != nil:
				out = append(out, fmt.Sprintf("%s/ %o", at+e.name, e.sig.mode.Perm()))
				list(e.dir, at+e.name+"/")
			case e.body == nil:
				out = append(out, at+e.name+" special")
			default:
				out = append(out, fmt.Sprintf("%s %s %d %s from %d", at+e.name, e.sig.mode, e.body.size, e.body.sum, e.body.from))
			}
		}
	}
	for _, n := range s.roots {
		list(n, "")
	}
	return out
}

// TestWhatIsNotedIsAsIfItHadBeenSeen: after a Note of any change the Snap is what a new Scanner sees,
// and nothing is left to be told.
func TestWhatIsNotedIsAsIfItHadBeenSeen(t *testing.T) {
	w := newWorld(t, Options{})
	type one struct{ name, was, is string }
	var all []one
	for i, was := range []string{"nothing", "file", "empty file", "link", "dir", "no file"} {
		for j, is := range []string{"nothing", "file", "other", "program", "empty file", "link", "other link"} {
			for depth, name := range []string{"%d/%d/x", "deep/%d/%d/y/x"} {
				if depth == 1 && (was == "nothing") {
					continue // an empty directory would stay, or not
				}
				all = append(all, one{fmt.Sprintf(name, i, j), was, is})
			}
		}
	}
	for _, o := range all {
		w.become(o.name, o.was)
		w.plant(filepath.Dir(o.name) + "/beside=b")
	}
	snap := w.snap()
	for _, o := range all {
		w.become(o.name, o.is)
		w.scan.Note(w.at(o.name), kinds[o.is].files[""])
	}
	seen := w.scan
	w.open(Options{})
	if d := cmp.Diff(w.listed(w.snap()), w.listed(snap)); d != "" {
		t.Errorf("(-seen +noted):\n%s", d)
	}
	w.scan = seen
	set, gaps := w.diff(snap, w.snap())
	w.wants("nothing is left", "", set, gaps)
}

// TestWhatIsNotWatchedIsNotNoted: names of Kerf and git, what is outside, and what is not followed.
func TestWhatIsNotWatchedIsNotNoted(t *testing.T) {
	w := newWorld(t, Options{Caps: Caps{Files: 4}}, "a=1", "d/1", "d/2", "d/3", "d/4")
	img := delta.NewFile([]byte("1"), 0o644)
	w.scan.Note(w.at("a"), img) // there is no Snap
	snap := w.snap()
	was, top := w.listed(snap), snap.roots[0]
	for _, name := range []string{".git/x", "b/.git", "b/.git/x", ".kerf-0123456789abcdef.tmp", "b/.kerf-0123456789abcdef.tmp",
		"../x", ".", "../" + filepath.Base(w.dir) + "x/y"} {
		w.scan.Note(w.at(name), img)
	}
	if d := cmp.Diff(was, w.listed(snap)); d != "" || snap.roots[0] != top {
		t.Errorf("(-before +after):\n%s", d)
	}
	w.scan.Note(w.at("d/1"), img)
	if d := cmp.Diff(was, w.listed(snap)); d != "" {
		t.Errorf("below what is shut (-before +after):\n%s", d)
	}
}

// TestWhatTheStoreRefusesIsAGapOfItsOwn, told with the reason, whoever asks for it.
func TestWhatTheStoreRefusesIsAGapOfItsOwn(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "b=2")
	before := w.snap()
	w.plant("a=11", "c=3")
	w.store.refuse = true
	w.scan.Note(w.at("a"), delta.NewFile([]byte("11"), 0o644))
	after := w.snap()
	var got []string
	for _, g := range after.Gaps {
		got = append(got, fmt.Sprintf("%s %s: %s", filepath.Base(g.Path), g.Kind, g.Reason))
	}
	want := []string{"a lost: not kept: it could not be stored", "c lost: not kept: no space left"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("gaps (-want +got):\n%s", d)
	}
	set, gaps := w.diff(before, after)
	w.wants("refused", "c: none -> file 644 ?1\ngap c: lost: not kept: no space left\n", set, gaps)
	w.store.refuse = false
	w.store.data = nil
	w.must(os.Remove(w.at("b")))
	set, gaps = w.diff(after, w.snap())
	w.wants("forgotten", "b: file 644 ?1 -> none\ngap b: lost: the store does not have its content any more: not in the store\n",
		set, gaps)
	w.store.misname = true
	w.plant("d=4")
	if g := w.snap().Gaps; len(g) != 3 || g[2].Reason != "not kept: the store gave it another name" {
		t.Errorf("under another name: %v", g)
	}
}

// TestWhatOthersDidBeforeAChangeIsNotMissed, for every kind that the Snap may know and every kind that
// was found when the change was made.
func TestWhatOthersDidBeforeAChangeIsNotMissed(t *testing.T) {
	w := newWorld(t, Options{})
	files := []string{"nothing", "file", "other", "program", "link", "other link"}
	for _, kind := range append(files, "dir", "no file", "empty file") {
		w.become(kind, kind)
	}
	missed := func(name string, now *delta.Image) string {
		c, ok, err := w.scan.Missed(t.Context(), w.at(name), now)
		return fmt.Sprintf("%v %v %s", ok, err, strings.TrimSpace(w.show(delta.Set{c}, nil)))
	}
	none := "false <nil> : none -> none"
	if got := missed("file", nil); got != none {
		t.Errorf("without a Snap: %s", got)
	}
	w.snap()
	for _, was := range append(files, "dir", "no file", "empty file") {
		for _, is := range files {
			want, pre, post := none, kinds[was].files[""], kinds[is].files[""]
			if !pre.Same(post) {
				want = "true <nil> " + strings.TrimSpace(w.show(delta.Set{{Path: filepath.ToSlash(w.at(was)), Pre: pre, Post: post}}, nil))
			}
			if got := missed(was, post); got != want {
				t.Errorf("%s, then %s: %s, want %s", was, is, got, want)
			}
		}
	}
	img := kinds["file"].files[""]
	for name, known := range map[string]bool{".git/x": false, "d/.git": true, "../x": false, ".": false, "file/x": true,
		"link/x": true, "nothing/x/y": true, "dir/f": true, "dir/no": true, "dir/no/x": true} {
		if e, ok := w.scan.known(filepath.ToSlash(w.at(name))); ok != known || (e != nil) != (name == "dir/f") {
			t.Errorf("%s: known %v, %+v", name, ok, e)
		}
	}
	w.store.data = nil
	if got, want := missed("file", kinds["other"].files[""]), "scan: "+w.at("file")+": its former content: "+
		"the store does not have its content any more: not in the store"; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	w.open(Options{Caps: Caps{Files: 3}})
	w.snap()
	if got := missed("file", img); got != none {
		t.Errorf("in what is shut: %s", got)
	}
}

// TestADoneContextIsAnErrorAndChangesNothing.
func TestADoneContextIsAnErrorAndChangesNothing(t *testing.T) {
	w := repository(t, "a=1")
	before := w.snap()
	w.plant("a=2")
	after := w.snap()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := w.scan.Snapshot(done); s != nil || err == nil || err.Error() != "scan "+w.dir+": context canceled" || w.scan.last != after {
		t.Errorf("Snapshot: %v, %v, the last is another: %v", s, err, w.scan.last != after)
	}
	if set, gaps, err := w.scan.Diff(done, before, after); set != nil || gaps != nil || err == nil ||
		err.Error() != "scan: diff: context canceled" {
		t.Errorf("Diff: %v, %v, %v", set, gaps, err)
	}
	for _, c := range [][2]*Snap{{nil, after}, {before, nil}} {
		if _, _, err := w.scan.Diff(t.Context(), c[0], c[1]); err == nil || err.Error() != "scan: diff without a snapshot" {
			t.Errorf("without a Snap: %v", err)
		}
	}
	w.git("add", "-A")
	w.settle()
	w.open(Options{})
	w.snap()
	if _, _, err := w.scan.Missed(done, w.at("a"), nil); err == nil || err.Error() != "scan: "+w.at("a")+": context canceled" {
		t.Errorf("Missed: %v", err)
	}
}
