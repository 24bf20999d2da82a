//go:build unix

package txn

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
)

// A fake disk. It watches a commit through the fault hook, call by call, and knows
// after each what has been asked of the disk and what has been flushed. Power may be
// lost before any call. Then the disk holds
//
//   - every name that a flush of its directory has made durable, and of the later
//     changes of names any set that keeps the order of changes of the same name; the
//     two names of a rename or an exchange change together, and a directory goes only
//     when it is empty;
//   - every content that was flushed, and of later ones the old, the new, a part of
//     the new, zeros, or the beginning of the new before the rest of the old.
//
// This is weaker than what ext4, xfs and btrfs promise.
type disk struct {
	base   string
	ids    map[uint64]int // inode number -> id; numbers are used again
	next   int
	now    image
	events []*event
	nodes  map[int]*node
}

// image is the file system below base: the entries of directories, by id.
type image map[entry]int

type entry struct {
	dir  int
	name string
}

// event is one change of names.
type event struct {
	names   map[entry]int // what each name is now, 0 for nothing
	emptied []int         // directories that went, which needs them to be empty
	durable bool
}

// node is a file, a directory or a link, with the contents since it was last flushed.
type node struct {
	dir      bool
	link     bool
	contents []content
}

type content struct {
	data string
	mode os.FileMode
}

func newDisk(t *testing.T, base string) *disk {
	d := &disk{base: base, ids: map[uint64]int{}, now: image{}, nodes: map[int]*node{}}
	d.observe(t)
	d.flushAll()
	return d
}

func (d *disk) flushAll() {
	for _, e := range d.events {
		e.durable = true
	}
	for _, n := range d.nodes {
		n.contents = n.contents[len(n.contents)-1:]
	}
}

// observe finds out what has changed since the last look.
func (d *disk) observe(t *testing.T) {
	t.Helper()
	seen := image{}
	alive := map[uint64]bool{}
	var walk func(path string, dir int)
	walk = func(path string, dir int) {
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			p := filepath.Join(path, e.Name())
			st, err := os.Lstat(p)
			if err != nil {
				t.Fatal(err)
			}
			ino := st.Sys().(*syscall.Stat_t).Ino
			alive[ino] = true
			id, known := d.ids[ino]
			if !known {
				d.next++
				id = d.next
				d.ids[ino] = id
				d.nodes[id] = &node{dir: st.IsDir(), link: st.Mode()&os.ModeSymlink != 0}
			}
			seen[entry{dir, e.Name()}] = id
			d.note(t, d.nodes[id], p, st.Mode())
			if st.IsDir() {
				walk(p, id)
			}
		}
	}
	walk(d.base, 0)
	for ino := range d.ids {
		if !alive[ino] {
			delete(d.ids, ino)
		}
	}
	ev := &event{names: map[entry]int{}}
	for k, id := range seen {
		if d.now[k] != id {
			ev.names[k] = id
		}
	}
	for k, id := range d.now {
		if seen[k] == 0 {
			ev.names[k] = 0
			if d.nodes[id].dir {
				ev.emptied = append(ev.emptied, id)
			}
		}
	}
	if len(ev.names) > 0 {
		d.events = append(d.events, ev)
	}
	d.now = seen
}

func (d *disk) note(t *testing.T, n *node, path string, mode os.FileMode) {
	c := content{mode: mode.Perm()}
	switch {
	case n.link:
		c.data, _ = os.Readlink(path)
	case !n.dir:
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c.data = string(b)
	}
	if len(n.contents) == 0 || n.contents[len(n.contents)-1] != c {
		n.contents = append(n.contents, c)
	}
}

// flush notes what the call op on path will have made durable.
func (d *disk) flush(op, path string) {
	switch op {
	case "syncall":
		d.flushAll()
	case "sync":
		if st, err := os.Lstat(path); err == nil {
			n := d.nodes[d.ids[st.Sys().(*syscall.Stat_t).Ino]]
			n.contents = n.contents[len(n.contents)-1:]
		}
	case "syncdir":
		st, err := os.Lstat(path)
		if err != nil {
			return
		}
		dir := d.ids[st.Sys().(*syscall.Stat_t).Ino] // 0 for the base
		needed, neededDir := map[entry]bool{}, map[int]bool{}
		for _, e := range slices.Backward(d.events) {
			touches := false
			for k := range e.names {
				touches = touches || k.dir == dir || needed[k] || neededDir[k.dir]
			}
			if touches {
				e.durable = true
				for _, id := range e.emptied {
					neededDir[id] = true
				}
				for k := range e.names {
					needed[k] = true
				}
			}
		}
	}
}

// state is what one loss of power leaves.
type state struct {
	names    image
	contents map[int]content
}

// lose returns the state in which of the changes that are not durable those in keep
// are there, as far as they do not hang in the air.
func (d *disk) lose(keep func(i int) bool, pick func(id int, c []content) content) state {
	s := state{image{}, map[int]content{}}
	stuck, full := map[entry]bool{}, map[int]bool{}
	i := 0
	for _, e := range d.events {
		if !e.durable {
			i++
			lost := !keep(i - 1)
			for k := range e.names {
				lost = lost || stuck[k]
			}
			for _, id := range e.emptied {
				lost = lost || full[id]
			}
			if lost {
				for k := range e.names {
					stuck[k], full[k.dir] = true, true
				}
				continue
			}
		}
		for k, id := range e.names {
			if s.names[k] = id; id == 0 {
				delete(s.names, k)
			}
		}
	}
	for id, n := range d.nodes {
		s.contents[id] = n.contents[0]
		if len(n.contents) > 1 {
			s.contents[id] = pick(id, n.contents)
		}
	}
	return s
}

func (d *disk) pending() int {
	n := 0
	for _, e := range d.events {
		if !e.durable {
			n++
		}
	}
	return n
}

// The contents that a file may have when it was not flushed.
func pickOld(_ int, c []content) content { return c[0] }
func pickNew(_ int, c []content) content { return c[len(c)-1] }

// pickPart is no shorter than the file ever was since it was flushed: only a
// truncation takes bytes away.
func pickPart(_ int, c []content) content {
	last := c[len(c)-1]
	cut := len(last.data)
	for _, was := range c {
		cut = min(cut, len(was.data))
	}
	return content{last.data[:max(cut, len(last.data)/2)], last.mode}
}

func pickMix(_ int, c []content) content {
	last := c[len(c)-1]
	mixed := pickPart(0, c).data
	if len(c[0].data) > len(mixed) {
		mixed += c[0].data[len(mixed):]
	} else {
		mixed += strings.Repeat("\x00", len(last.data)-len(mixed))
	}
	return content{mixed, last.mode}
}

// losses calls f with states that a loss of power now may leave: the changes of names
// in order up to each, each one alone missing, each one alone there, and some at
// random, with different fates of the contents.
func (d *disk) losses(r *rand.Rand, all bool, f func(what string, s state)) {
	picks := map[string]func(int, []content) content{"old": pickOld, "new": pickNew, "part": pickPart, "mix": pickMix}
	n := d.pending()
	one := func(what string, keep func(int) bool) {
		for name, pick := range picks {
			if all || r.IntN(4) == 0 {
				f(what+", contents "+name, d.lose(keep, pick))
			}
		}
	}
	for i := range n + 1 {
		if !all && i != 0 && i != n && r.IntN(n) > 1 {
			continue
		}
		one(fmt.Sprint("first ", i), func(k int) bool { return k < i })
		one(fmt.Sprint("without ", i), func(k int) bool { return k != i })
		one(fmt.Sprint("only ", i), func(k int) bool { return k == i })
	}
	rounds := 2
	if all {
		rounds = 40
	}
	for range rounds {
		bits := r.Uint64() | r.Uint64()&r.Uint64()
		one(fmt.Sprintf("set %x", bits), func(k int) bool { return bits>>(k%64)&1 == 1 })
	}
}

var inoField = regexp.MustCompile(`"ino":(\d+)`)

// build makes the state on the real disk, in the place of what was there. The journal
// names files by their numbers, which are other ones now.
func (s state) build(t *testing.T, d *disk, old map[uint64]int) {
	t.Helper()
	clear, err := os.ReadDir(d.base)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range clear {
		if err := os.RemoveAll(filepath.Join(d.base, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	made := map[int]string{}
	var late []func()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	keys := slices.SortedFunc(maps.Keys(s.names), func(a, b entry) int {
		if a.dir != b.dir {
			return a.dir - b.dir
		}
		return strings.Compare(a.name, b.name)
	})
	var fill func(dir int, path string)
	fill = func(dir int, path string) {
		for _, k := range keys {
			if k.dir != dir {
				continue
			}
			id := s.names[k]
			n, c, p := d.nodes[id], s.contents[id], filepath.Join(path, k.name)
			switch {
			case n.dir:
				if made[id] != "" {
					continue // a directory has one name; this one is on its way
				}
				made[id] = p
				must(os.Mkdir(p, 0o755))
				fill(id, p)
			case made[id] != "":
				must(os.Link(made[id], p))
			case n.link:
				made[id] = p
				must(os.Symlink(c.data, p))
			case k.name == "journal.jsonl":
				late = append(late, func() { must(os.WriteFile(p, []byte(renumber(c.data, old, made)), 0o600)) })
			default:
				made[id] = p
				must(os.WriteFile(p, []byte(c.data), 0o600))
				must(os.Chmod(p, c.mode))
			}
		}
	}
	fill(0, d.base)
	for _, f := range late {
		f()
	}
}

func renumber(journal string, old map[uint64]int, made map[int]string) string {
	return inoField.ReplaceAllStringFunc(journal, func(field string) string {
		ino, _ := strconv.ParseUint(inoField.FindStringSubmatch(field)[1], 10, 64)
		if ino == 0 {
			return field
		}
		now := uint64(1) // a file that is not there any more
		if st, err := os.Lstat(made[old[ino]]); err == nil {
			now = st.Sys().(*syscall.Stat_t).Ino
		}
		return fmt.Sprintf(`"ino":%d`, now)
	})
}

// key describes a state, to try each once.
func (s state) key(d *disk) string {
	var b strings.Builder
	reach := map[int]string{0: ""}
	for changed := true; changed; {
		changed = false
		for k, id := range s.names {
			if _, ok := reach[k.dir]; ok && d.nodes[id].dir && reach[id] == "" {
				reach[id] = reach[k.dir] + "/" + k.name
				changed = true
			}
		}
	}
	var lines []string
	for k, id := range s.names {
		if p, ok := reach[k.dir]; ok {
			lines = append(lines, fmt.Sprintf("%s/%s=%d %v", p, k.name, id, s.contents[id]))
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// TestSEC_E4_PowerLoss loses power before every call of durable commits.
func TestSEC_E4_PowerLoss(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(t *testing.T) (*fixture, delta.Set)
		fresh bool
	}{
		"every kind":      {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 1) }},
		"first commit":    {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 1) }, fresh: true},
		"flushed at once": {begin: func(t *testing.T) (*fixture, delta.Set) { return scene(t, 4) }},
		"one file": {begin: func(t *testing.T) (*fixture, delta.Set) {
			f := newFixture(t)
			f.write("a*", "old content")
			return f, delta.Set{f.change("a", "new content")}
		}},
		"in place": {begin: func(t *testing.T) (*fixture, delta.Set) {
			f := newFixture(t)
			f.write("h1", "linked content")
			if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
				t.Skip(err)
			}
			return f, delta.Set{f.change("h1", "other content, longer than before")}
		}},
	} {
		t.Run(name, func(t *testing.T) { powerLoss(t, tt.begin, tt.fresh) })
	}
}

func powerLoss(t *testing.T, begin func(t *testing.T) (*fixture, delta.Set), fresh bool) {
	f, set := begin(t)
	if !fresh { // an earlier commit, so that the files of the workspace are there
		f.write("zzz", "0")
		f.commit(f.change("zzz", "1"))
	}
	entries := len(f.entries())
	_ = f.w.Close()
	_ = f.w.Ledger.Close()
	old := f.snapshot()
	d := newDisk(t, filepath.Dir(f.root))
	type moment struct {
		what   string
		state  state
		number map[uint64]int
		acked  bool
	}
	var moments []moment
	tried := map[string]bool{}
	all := os.Getenv("KERF_LONG") != ""
	r := rand.New(rand.NewPCG(1, 2))
	look := func(what string, acked bool) {
		d.observe(t)
		d.losses(r, all, func(how string, s state) {
			if key := fmt.Sprint(acked, s.key(d)); !tried[key] {
				tried[key] = true
				moments = append(moments, moment{what + ", " + how, s, maps.Clone(d.ids), acked})
			}
		})
	}
	calls := 0
	w, err := openAt(f.root, f.home, true, func(op, path string) error {
		calls++
		look(fmt.Sprintf("before call %d (%s %s)", calls, op, filepath.Base(path)), false)
		d.flush(op, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(context.Background(), set, CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	look("after the commit", true)
	next := f.snapshot()
	_ = w.Close()
	_ = w.Ledger.Close()
	olds, news := 0, 0
	if !all {
		r.Shuffle(len(moments), func(i, k int) { moments[i], moments[k] = moments[k], moments[i] })
		acked := func(m moment) bool { return m.acked }
		after := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return !acked(m) })
		before := slices.DeleteFunc(moments, acked)
		moments = append(before[:min(len(before), 36)], after[:min(len(after), 8)]...)
	}
	for _, m := range moments {
		m.state.build(t, d, m.number)
		w, err := openAt(f.root, f.home, false, nil)
		if err != nil {
			t.Fatalf("%s: %v", m.what, err)
		}
		got := f.snapshot()
		ledger, err := w.Ledger.Read(0)
		if err != nil {
			t.Fatalf("%s: %v", m.what, err)
		}
		n := len(ledger) - entries
		switch {
		case same(got, next) && n == 1:
			news++
		case same(got, old) && n == 0 && !m.acked:
			olds++
		default:
			t.Fatalf("%s: %d entries; acknowledged %v\n-old +got\n%s\n-new +got\n%s", m.what, n, m.acked, cmp.Diff(old, got),
				cmp.Diff(next, got))
		}
		for i := range ledger[max(0, len(ledger)-n):] {
			for _, c := range ledger[entries+i].Set() {
				for _, img := range []*delta.Image{c.Pre, c.Post} {
					if img == nil {
						continue
					}
					if _, err := w.Store.Get(img.Sum); err != nil {
						t.Fatalf("%s: %s cannot be had back: %v", m.what, c.Path, err)
					}
				}
			}
		}
		_ = w.Close()
		_ = w.Ledger.Close()
	}
	t.Logf("%d calls, %d states after a loss of power: %d old, %d new", calls, len(moments), olds, news)
	if olds == 0 || news == 0 {
		t.Error("only one of the two outcomes came up")
	}
}
