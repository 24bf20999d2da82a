package changes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// den is a real directory in which tools, commands and another hand make files, links
// and directories of each other. What commands do is found by comparing pictures.
type den struct {
	draw  source
	root  string
	work  *txn.Workspace
	fault Fault
	alone bool // there is no other hand
	n     int
	turn  int
	moved [][2]string // what was renamed since the last entry, from and to
	went  [][2]string // what was ever renamed
	story []string
	// What undo did, for the report of the test.
	undone, refused, merged, left int
}

// picture is all that is below a root; directories are among it.
type picture map[string]*delta.Image

func newDen(base string, draw source, fault Fault, alone bool) (*den, func(), error) {
	d := &den{draw: draw, root: filepath.ToSlash(filepath.Join(base, "w")), fault: fault, alone: alone, turn: 1}
	home := filepath.Join(base, "home")
	if err := os.Mkdir(d.root, 0o755); err != nil {
		return nil, nil, err
	}
	t, err := tree.Open(tree.Options{Roots: []string{d.root}})
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(filepath.Join(home, "store"))
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.Open(home)
	if err != nil {
		return nil, nil, err
	}
	d.work, err = txn.Open(txn.Options{Tree: t, Store: s, Ledger: l, Dir: home})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"a", "b", "d/e", "d/x/f"} {
		d.write(d.path(name), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n")
	}
	return d, func() { _ = d.work.Close(); _ = l.Close(); _ = s.Close() }, nil
}

func (d *den) path(name string) string { return d.root + "/" + name }

func (d *den) tell(format string, args ...any) {
	d.story = append(d.story, fmt.Sprintf(format, args...))
}

func (d *den) write(p, text string) {
	_ = os.MkdirAll(filepath.Dir(p), 0o755)
	_ = os.WriteFile(p, []byte(text), 0o644)
}

// look is the present picture.
func (d *den) look() picture {
	p := picture{}
	_ = filepath.WalkDir(d.root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == d.root {
			return err
		}
		name := filepath.ToSlash(at)
		st, err := e.Info()
		switch {
		case err != nil:
		case st.IsDir():
			p[name] = present.Dir(uint32(st.Mode().Perm()))
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(at)
			p[name] = delta.NewSymlink(to)
		default:
			b, _ := os.ReadFile(at)
			p[name] = delta.NewFile(b, uint32(st.Mode().Perm()))
		}
		return nil
	})
	return p
}

// between is what a scan would find between two pictures, of the paths that are wanted.
func between(was, is picture, wanted func(string) bool) (set delta.Set, o txn.CommitOptions) {
	all := map[string]bool{}
	for p := range was {
		all[p] = true
	}
	for p := range is {
		all[p] = true
	}
	file := func(i *delta.Image) *delta.Image {
		if present.IsDir(i) {
			return nil
		}
		return i
	}
	for _, p := range slices.Sorted(func(yield func(string) bool) {
		for p := range all {
			if !yield(p) {
				return
			}
		}
	}) {
		a, b := was[p], is[p]
		if a.Same(b) || !wanted(p) {
			continue
		}
		switch {
		case present.IsDir(a) && present.IsDir(b):
			o.Modes = append(o.Modes, ledger.DirMode{Path: ledger.Path(p), Pre: a.Mode, Post: b.Mode})
		case present.IsDir(a):
			o.Gone = append(o.Gone, ledger.Dir{Path: ledger.Path(p), Mode: a.Mode})
		case present.IsDir(b):
			o.Dirs = append(o.Dirs, ledger.Path(p))
		}
		if !file(a).Same(file(b)) {
			set = append(set, delta.Change{Path: p, Pre: file(a), Post: file(b)})
		}
	}
	return set, o
}

func (d *den) record(was, is picture, cause, certainty string, wanted func(string) bool) error {
	set, o := between(was, is, wanted)
	if len(set)+len(o.Dirs)+len(o.Gone)+len(o.Modes) == 0 {
		return nil
	}
	o.Cause, o.Origin = cause, d.origin()
	for i, c := range set {
		for _, m := range d.moved {
			if rest, ok := strings.CutPrefix(c.Path+"/", m[0]+"/"); ok && c.Post == nil && is[strings.TrimSuffix(m[1]+"/"+rest, "/")] != nil {
				set[i].To = strings.TrimSuffix(m[1]+"/"+rest, "/")
			}
			if rest, ok := strings.CutPrefix(c.Path+"/", m[1]+"/"); ok && c.Post != nil && is[strings.TrimSuffix(m[0]+"/"+rest, "/")] == nil {
				set[i].From = strings.TrimSuffix(m[0]+"/"+rest, "/")
			}
		}
	}
	d.tell("entry %s %s turn %d: %v dirs %v gone %v modes %v", cause, certainty, d.turn, set.Paths(), o.Dirs, o.Gone, o.Modes)
	for _, c := range set {
		for _, i := range []*delta.Image{c.Pre, c.Post} {
			if i != nil {
				if _, err := d.work.Store.Put(i.Data); err != nil {
					return err
				}
			}
		}
	}
	return d.work.Ledger.Append(&ledger.Entry{Session: "s", Turn: o.Origin.Turn, Call: o.Origin.Call, Cause: cause,
		Certainty: certainty, Exact: true, Changes: ledger.ChangesOf(set), Dirs: o.Dirs, Gone: o.Gone, Modes: o.Modes})
}

func (d *den) origin() txn.Origin {
	return txn.Origin{Session: "s", Turn: fmt.Sprintf("t%d", d.turn), Call: fmt.Sprintf("c%d", d.n)}
}

var denNames = []string{"a", "b", "c", "d", "d/e", "d/x", "d/x/f", "g", "g/h"}

func (d *den) name() string { return d.path(denNames[d.draw(len(denNames))]) }

// mess does one thing as a shell would. Other hands add and change, and their words
// are theirs alone.
func (d *den) mess(who string) {
	d.n++
	p, q, word := d.name(), d.name(), fmt.Sprintf("%s%d", who, d.n)
	other := who == "foreign"
	what := min(d.draw(16), 14) - 2
	if what < 0 {
		what = 1 // mostly lines
	}
	if other {
		what = []int{0, 1, 2, 3, 1, 10, 4, 5, 6, 7, 8, 9, 11}[d.draw(13)]
	}
	if what == 1 || what == 2 {
		p = d.path([]string{"a", "b", "d/e"}[d.draw(3)])
	}
	st, err := os.Lstat(p)
	isFile, is := err == nil && st.Mode().IsRegular(), err == nil
	d.tell("%s does %d at %s and %s: %s", who, what, p, q, word)
	switch what {
	case 0: // a new file, above or below what is there
		if !is {
			d.write(p, word+"\nand more\n")
		}
	case 1, 2: // a line more
		if b, err := os.ReadFile(p); err == nil && isFile {
			lines := strings.SplitAfter(string(b), "\n")
			d.write(p, strings.Join(slices.Insert(lines, d.draw(len(lines)), word+"\n"), ""))
		}
	case 3:
		if !is {
			_ = os.Symlink(word, p)
		}
	case 4:
		_ = os.RemoveAll(p)
	case 5: // a file in the place of a directory, or of anything
		_ = os.RemoveAll(p)
		d.write(p, word+"\n")
	case 6: // a directory in the place of anything
		_ = os.RemoveAll(p)
		_ = os.MkdirAll(p, []fs.FileMode{0o755, 0o700, 0o750}[d.draw(3)])
		if d.draw(2) == 0 {
			d.write(p+"/h", word+"\n")
		}
	case 7: // a link to a directory in the place of anything
		_ = os.RemoveAll(p)
		_ = os.Symlink(filepath.Base(q), p)
	case 8:
		if !strings.HasPrefix(p+"/", q+"/") && !strings.HasPrefix(q+"/", p+"/") {
			_ = os.RemoveAll(q)
			_ = os.MkdirAll(filepath.Dir(q), 0o755)
			if os.Rename(p, q) == nil {
				d.went = append(d.went, [2]string{p, q})
				if !other {
					d.moved = append(d.moved, [2]string{p, q})
				}
			}
		}
	case 9:
		if isFile {
			_ = os.Chmod(p, st.Mode().Perm()^0o111)
		}
	case 10:
		if dir, err := os.Stat(d.path("d")); other && err == nil && dir.IsDir() {
			d.write(d.path("d/"+word), word+"\n")
		} else if is && st.IsDir() {
			_ = os.Chmod(p, st.Mode().Perm()^0o055)
		}
	default:
		_ = os.MkdirAll(p+"/m/n", 0o700)
	}
}

// tool commits a change as a tool does, of a kind that fits.
func (d *den) tool() error {
	d.n++
	p := d.name()
	now, err := present.In(d.work.Tree, d.root).At(p)
	if err != nil || present.IsDir(now) {
		return nil
	}
	set := delta.Set{{Path: p, Pre: now, Post: delta.NewFile(fmt.Appendf(nil, "ours%d\n", d.n), 0o644)}}
	if now != nil && d.draw(3) == 0 {
		set[0].Post = nil
		if d.draw(2) == 0 {
			set = append(set, delta.Change{Path: p + "/k", Post: delta.NewFile([]byte("below\n"), 0o600)})
		}
	} else if now != nil && now.Kind == delta.File {
		set[0].Post = delta.NewFile(append(slices.Clone(now.Data), fmt.Sprintf("ours%d\n", d.n)...), now.Mode)
	}
	d.tell("tool turn %d %v", d.turn, set.Paths())
	_, err = d.work.Commit(ctx(), set, txn.CommitOptions{Origin: d.origin(), Real: true})
	if err != nil {
		d.tell("refused: %v", err)
	}
	return nil
}

// step makes one thing happen and returns the law it broke, or "".
func (d *den) step() string {
	what := d.draw(13)
	if d.alone {
		what = d.draw(4)
	}
	if d.draw(3) == 0 {
		d.turn++
	}
	var err error
	was := d.look()
	d.moved = nil
	switch what {
	case 0:
		err = d.tool()
	case 1, 2, 3, 4:
		for range 1 + d.draw(2) {
			d.mess("ours")
		}
		err = d.record(was, d.look(), ledger.CauseCommand, ledger.Proven, func(string) bool { return true })
	case 5, 6: // nobody noticed, or it was found by a scan
		d.mess("foreign")
		if d.draw(2) == 0 {
			err = d.record(was, d.look(), ledger.CauseOutside, "", func(string) bool { return true })
		}
	case 7: // while a command runs
		d.mess("foreign")
		theirs := d.look()
		d.mess("ours")
		if slices.ContainsFunc(words(theirs), func(w string) bool { return !slices.Contains(words(d.look()), w) }) {
			theirs = d.look() // the command overran what the other hand wrote
		}
		is := d.look()
		was = d.seenMoving(was, theirs, is)
		mixed := func(p string) bool { return !was[p].Same(theirs[p]) }
		err = errors.Join(d.record(was, is, ledger.CauseCommand, ledger.Unproven, mixed),
			d.record(was, is, ledger.CauseCommand, ledger.Proven, func(p string) bool { return !mixed(p) }))
	default:
		return d.takeBack(d.choice())
	}
	if err != nil {
		return "the test works: " + err.Error()
	}
	return ""
}

// seenMoving is was with what the other hand made, also in the place of a directory, before the
// command moved it, or the directory that it is in: a witness looks at what is moved, so it knows
// both halves.
func (d *den) seenMoving(was, theirs, is picture) picture {
	was = maps.Clone(was)
	for p, i := range theirs {
		for _, m := range d.moved {
			rest, ok := strings.CutPrefix(p+"/", m[0]+"/")
			if to := strings.TrimSuffix(m[1]+"/"+rest, "/"); ok && is[p] == nil && is[to].Same(i) &&
				(was[p] == nil || present.IsDir(was[p]) && !present.IsDir(i)) {
				was[p] = i
			}
		}
	}
	return was
}

func (d *den) choice() Choice {
	c := Choice{ByCall: d.draw(2) == 0}
	switch d.draw(5) {
	case 0:
		c.Turn = fmt.Sprintf("t%d", 1+d.draw(d.turn))
	case 1:
		c.Paths = []string{d.name()}
	case 2:
		c.Turn, c.Session, c.Later = fmt.Sprintf("t%d", 1+d.draw(d.turn)), "s", true
	case 3:
		c.Redo = true
	}
	return c
}

func (d *den) reader() Reader {
	return Reader{Ledger: d.work.Ledger, Images: d.work.Store, Base: d.root, Fault: d.fault}
}

// foreign are the words of others in a picture, in names, too.
func words(p picture) []string {
	var list []string
	for name, i := range p {
		for _, w := range strings.FieldsFunc(name+"\n"+string(i.Data), func(r rune) bool { return r == '\n' || r == '/' }) {
			if strings.HasPrefix(w, "foreign") {
				list = append(list, w)
			}
		}
	}
	return list
}

// takeBack undoes, or redoes, and checks the laws.
func (d *den) takeBack(c Choice) string {
	r, before := d.reader(), d.look()
	plan, err := r.Plan(c, present.In(d.work.Tree, d.root))
	if errors.Is(err, ErrNothing) || err != nil && plan == nil {
		return ""
	}
	want, meant := foretold(before, plan), d.meant(plan, c)
	dry, dryErr := r.Undo(ctx(), d.work, c, UndoOptions{DryRun: true})
	if diff := cmp.Diff(before, d.look()); diff != "" {
		return "a dry run writes nothing: " + diff
	}
	got, err := r.Undo(ctx(), d.work, c, UndoOptions{})
	d.tell("take back %+v: %v %q %v", c, got.Files, got.Problem, got.Left)
	if err != nil || dryErr != nil {
		return fmt.Sprintf("dry run and run agree: %v, then %v", dryErr, err)
	}
	dry.DryRun = false
	if diff := cmp.Diff(dry, got); diff != "" {
		return "dry run and run agree: " + diff
	}
	after := d.look()
	if got.Problem != "" {
		d.refused++
		want = before
	}
	if diff := cmp.Diff(want, after); diff != "" {
		return "what was said is what is there: " + diff
	}
	d.left += len(got.Left)
	for _, f := range got.Files {
		if f.Outcome == Merged {
			d.merged++
		}
	}
	if got.Problem != "" || c.Redo {
		return ""
	}
	d.undone++
	if name := d.silent(meant, after, got); name != "" {
		return "what does not come back has a line: " + name
	}
	have := words(after)
	for _, p := range d.follow(c.Paths) { // what nobody saw being changed there was asked for
		if before[p] != nil {
			have = append(have, words(picture{p: before[p]})...)
		}
	}
	if len(c.Paths) > 0 {
		have = append(have, d.restorable()...)
	}
	for _, w := range words(before) {
		if !slices.Contains(have, w) {
			return "no byte of others is lost: " + w
		}
	}
	if d.draw(2) == 0 && got.Whole() {
		if _, err := r.Undo(ctx(), d.work, Choice{Redo: true}, UndoOptions{}); err != nil {
			return "what was undone can be redone: " + err.Error()
		}
		if diff := cmp.Diff(before, d.look()); diff != "" {
			return "undo then redo is the identity: " + diff
		}
		d.tell("and back")
	}
	return ""
}

// meant are what an undo is to bring back, by path: what was there before the first change that
// it takes back.
func (d *den) meant(p *Plan, c Choice) picture {
	b, err := open(d.work.Ledger)
	if err != nil {
		return nil
	}
	alike, want := *p, picture{}
	for _, s := range slices.Backward(joined(alike.steps(b, c), false)) {
		if !s.pre.Same(s.post) {
			want[s.path] = s.pre
		}
	}
	return want
}

// silent is a path that is not as meant and that the report does not name: neither it, nor where it
// was moved, nor, where it is to be a directory again, anything in it.
func (d *den) silent(meant, after picture, r Report) string {
	told, above := map[string]bool{}, map[string]bool{}
	for _, f := range r.Files {
		told[f.Path] = true
		for dir := filepath.Dir(f.Path); !above[dir] && len(dir) > 1; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	for _, l := range r.Left {
		told[l.Path] = true
	}
	for _, name := range slices.Sorted(maps.Keys(meant)) {
		named := slices.ContainsFunc(d.since(name), func(p string) bool { return told[p] })
		if !named && !above[name] && !present.Same(meant[name], after[name]) {
			return fmt.Sprintf("%s: %v, not %v", name, after[name], meant[name])
		}
	}
	return ""
}

// restorable are the words of others that come back with what still stands: where one path of
// several was asked for, a command may have moved them there and written over the other.
func (d *den) restorable() (list []string) {
	b, err := open(d.work.Ledger)
	if err != nil {
		return nil
	}
	for i := range b.entries {
		e := &b.entries[i]
		live := b.live(e, nil)
		for _, c := range e.Set() {
			if !own(e) || doubtful(e) || c.Pre == nil || c.Post == nil || !slices.Contains(live, c.Path) {
				continue
			}
			if full, err := d.reader().load(c.Pre); err == nil {
				list = append(list, words(picture{c.Path: full})...)
			}
		}
	}
	return list
}

// follow adds to paths where the files that they name were moved.
func (d *den) follow(paths []string) []string {
	paths = slices.Clone(paths)
	for _, m := range d.went {
		if slices.Contains(paths, m[0]) {
			paths = append(paths, m[1])
		}
	}
	return paths
}

// since are the names that path may have come to, by itself or with a directory that it was in.
func (d *den) since(path string) []string {
	names := []string{path}
	for _, m := range d.went {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(name+"/", m[0]+"/"); ok {
				names = append(names, strings.TrimSuffix(m[1]+"/"+rest, "/"))
			}
		}
	}
	return names
}

// foretold is the picture that a plan promises.
func foretold(before picture, p *Plan) picture {
	want := picture{}
	for name, i := range before {
		want[name] = i
	}
	for _, dir := range p.prune {
		delete(want, dir)
	}
	for _, dir := range p.make {
		want[string(dir.Path)] = present.Dir(dir.Mode)
	}
	for _, m := range p.chmod {
		want[string(m.Path)] = present.Dir(m.Post)
	}
	for _, c := range p.Set {
		if c.Post != nil {
			want[c.Path] = c.Post
		} else if !present.IsDir(want[c.Path]) {
			delete(want, c.Path)
		}
	}
	// Directories that no entry tells of are made as they are needed.
	above := func(p string) {
		for dir := filepath.Dir(p); len(dir) > 1 && !strings.HasSuffix(dir, "/w"); dir = filepath.Dir(dir) {
			if want[dir] == nil {
				want[dir] = present.Dir(0o755)
			}
		}
	}
	for _, dir := range p.make {
		above(string(dir.Path))
	}
	for _, c := range p.Set {
		if c.Post != nil {
			above(c.Path)
		}
	}
	return want
}

// liveInDen plays a history and returns the law it broke.
func liveInDen(t *testing.T, draw source, fault Fault, alone bool) (string, *den) {
	base, err := os.MkdirTemp("", "kerf-den-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	d, end, err := newDen(base, draw, fault, alone)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	first := d.look()
	for range 4 + draw(10) {
		if broken := d.step(); broken != "" {
			return broken, d
		}
	}
	if !alone {
		return "", d
	}
	for range 40 {
		if broken := d.takeBack(Choice{ByCall: draw(2) == 0}); broken != "" {
			return broken, d
		}
		if _, err := d.reader().Plan(Choice{}, present.In(d.work.Tree, d.root)); errors.Is(err, ErrNothing) {
			if diff := cmp.Diff(first, d.look()); diff != "" {
				return "undoing all gives the beginning: " + diff, d
			}
			return "", d
		}
	}
	return "undoing comes to an end", d
}

// TestLawsOfUndoOfAllKinds plays histories in which files, links and directories take
// each other's places, by tools, commands and another hand.
func TestLawsOfUndoOfAllKinds(t *testing.T) {
	checks := 150
	if os.Getenv("KERF_LONG") != "" {
		checks = 10000
	}
	f := flag.Lookup("rapid.checks")
	defer func(old string) { _ = flag.Set("rapid.checks", old) }(f.Value.String())
	_ = flag.Set("rapid.checks", strconv.Itoa(checks))
	for _, alone := range []bool{false, true} {
		var sum den
		if alone {
			checks /= 4
			_ = flag.Set("rapid.checks", strconv.Itoa(checks))
		}
		rapid.Check(t, func(rt *rapid.T) {
			draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") }
			broken, d := liveInDen(t, draw, NoFault, alone)
			if broken != "" {
				rt.Fatalf("%s\n%s", broken, strings.Join(d.story, "\n"))
			}
			sum.undone, sum.refused, sum.merged, sum.left = sum.undone+d.undone, sum.refused+d.refused, sum.merged+d.merged,
				sum.left+d.left
		})
		t.Logf("%d histories, alone %v: %d undone, %d refused, %d files merged, %d changes left",
			checks, alone, sum.undone, sum.refused, sum.merged, sum.left)
	}
}

// TestLawsOfAllKindsCatchFaults sees the laws fail when planning is broken. Each search begins
// where a history was found that shows the fault, and goes on from there if that no longer does.
func TestLawsOfAllKindsCatchFaults(t *testing.T) {
	for fault, c := range map[Fault]struct {
		law  string
		from uint64
	}{
		TakeUnseen:    {"no byte of others is lost", 53},
		LookNotInside: {"", 829},
		LoseDirMode:   {"undo", 8},
		ForgetKind:    {"", 8},
		LeaveSilently: {"what does not come back has a line", 703},
	} {
		t.Run(strconv.Itoa(int(fault)), func(t *testing.T) {
			t.Parallel()
			for seed := c.from; seed < c.from+3000; seed++ {
				r := rand.New(rand.NewPCG(seed, 3))
				if broken, _ := liveInDen(t, r.IntN, fault, fault == LoseDirMode); broken != "" &&
					strings.HasPrefix(broken, c.law) {
					t.Logf("history %d shows it: %.80s", seed, broken)
					return
				}
			}
			t.Fatal("it is not caught")
		})
	}
}

func ctx() context.Context { return context.Background() }
