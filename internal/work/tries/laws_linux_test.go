package tries_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/pathname"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/overlay"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

// tree is what a directory holds, by path.
type tree map[string]node

func (h *house) look(dir string) tree {
	h.Helper()
	t, err := look(dir)
	if err != nil {
		h.Fatal(err)
	}
	return t
}

// plain is what keeping is about: files, links and directories with their modes. Pipes are
// left out, and directories in which there is nothing else.
func (t tree) plain() map[string]string {
	p := map[string]string{}
	for path, n := range t {
		if !n.pipe() && !t.onlyPipes(path) {
			p[path] = n.plain()
		}
	}
	return p
}

// alike is the difference of two trees in plain words.
func alike(a, b tree) string {
	x, y := a.plain(), b.plain()
	for path := range union(a, b) {
		if a.onlyPipes(path) || b.onlyPipes(path) { // a copy has no pipes
			delete(x, path)
			delete(y, path)
		}
	}
	return cmp.Diff(x, y)
}

func (t tree) onlyPipes(dir string) bool {
	pipes := false
	for path, n := range t {
		if path != dir && pathname.Under(dir, path) {
			if n.file() {
				return false
			}
			pipes = pipes || n.pipe()
		}
	}
	return pipes
}

// attempt is a try of a history.
type attempt struct {
	*tries.Try
	steps []step
	base  tree // what it began with
	mid   tree // when others had changed that
	seen  tree // at its end, by what ran in it
}

// history is one random course of things.
type history struct {
	*house
	r             *rand.Rand
	seed          uint64
	pool, has     []string
	linked        bool // files of the directory have several names
	during, later bool // others change it while the try runs, and after
	user          *maker
	did           []deed // by others
	parted        string
	before        tree
	tries         []*attempt
}

func newHistory(t *testing.T, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 21))
	h := &history{house: newHouse(t), r: r, seed: seed}
	h.copied = seed%2 == 1
	if r.IntN(6) == 0 {
		h.dir = filepath.Join(filepath.Dir(h.dir), "w\xfe,:\\ x")
		if err := os.Mkdir(h.dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range r.Perm(len(names))[:3] {
		h.pool = append(h.pool, names[i])
	}
	h.linked = r.IntN(3) == 0
	h.during, h.later = r.IntN(3) == 0, r.IntN(2) == 0
	h.parted = []string{"", "", "paths", "hunks"}[r.IntN(4)]
	h.user = newMaker(r, "user", h.pool)
	m := newMaker(r, "base", h.pool)
	for range 14 {
		d := m.deed()
		if d.Op != "link" || h.linked {
			_ = d.do(h.dir)
		}
	}
	for path, n := range h.look(h.dir) {
		if n.file() && n.Kind[0] == '-' {
			h.has = append(h.has, path)
		}
	}
	slices.Sort(h.has)
	for range r.IntN(3) {
		if h.linked && len(h.has) > 0 {
			_ = deed{Op: "link", A: m.name(), B: h.has[r.IntN(len(h.has))]}.do(h.dir)
		}
	}
	h.before = h.look(h.dir)
	h.linked = slices.ContainsFunc(slices.Collect(maps.Values(h.before)), func(n node) bool { return n.file() && n.Links > 1 })
	return h
}

// others changes the tree as a user with an editor does.
func (h *history) others() {
	for range 1 + h.r.IntN(4) {
		d := h.user.deed()
		d.Op = []string{"line", "line", "append", "save", "write", "mkdir", "chmod", "unlink", "rmtree", "mv"}[h.r.IntN(10)]
		if h.r.IntN(3) > 0 { // what is there
			var paths []string
			for path, n := range h.look(h.dir) {
				if n.file() {
					paths = append(paths, path)
				}
			}
			if slices.Sort(paths); len(paths) > 0 {
				d.A = paths[h.r.IntN(len(paths))]
			}
		}
		if d.A == "." {
			d.Op = "chmod"
		}
		if d.Op == "mv" {
			d.B = fmt.Sprintf("moved%d", h.user.n)
		}
		if d.Op != "rmtree" || h.r.IntN(3) == 0 {
			h.did = append(h.did, d)
			_ = d.do(h.dir)
		}
	}
}

// attempt runs steps in a new try.
func (h *history) attempt(who string) *attempt {
	h.Helper()
	m := newMaker(h.r, who, h.pool)
	m.has = h.has
	a := &attempt{steps: m.steps(1+h.r.IntN(6), h.during)}
	var err error
	if a.Try, err = tries.New(h.home, []string{h.dir}, who); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = a.Remove() })
	a.base = h.look(h.dir)
	if h.copied {
		if _, err := a.Copy(); err != nil {
			h.Fatal(err)
		}
	}
	file := filepath.Join(filepath.Dir(h.dir), "orders."+who)
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(gob.NewEncoder(f).Encode(orders{h.home, h.dir, a.steps}), f.Close())
	}
	if err != nil {
		h.Fatal(err)
	}
	h.run(a, file)
	h.read(file+".seen", &a.seen)
	h.tries = append(h.tries, a)
	return a
}

func (h *history) read(file string, into *tree) {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(gob.NewDecoder(f).Decode(into), f.Close())
	}
	if err != nil {
		h.Fatal(err)
	}
}

// run runs the orders, and lets others change the tree while it waits.
func (h *history) run(a *attempt, file string) {
	h.Helper()
	answers, answer, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	now := h.look(h.dir)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		for b := make([]byte, 1); ; {
			if n, _ := said.Read(b); n == 0 {
				return
			}
			h.others()
			now = h.look(h.dir)
			a.mid = now
			_, _ = answer.Write(b)
		}
	}()
	code, err := a.Run(h.Context(), h.home, tries.Command{Dir: h.dir, Argv: []string{"/proc/self/exe", deedsFlag, file},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: answers, Stdout: says, Stderr: os.Stderr})
	_ = says.Close()
	<-waiting
	for _, f := range []*os.File{answers, answer, said} {
		_ = f.Close()
	}
	if errors.Is(err, overlay.ErrImpossible) {
		h.Skip(err)
	}
	if err != nil || code != 0 {
		h.Fatalf("exit code %d, %v", code, err)
	}
	if d := cmp.Diff(now, h.look(h.dir)); d != "" {
		h.fail("the try changed the directory (-before +after):\n%s", d)
	}
}

func (h *history) fail(format string, args ...any) {
	h.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, format, args...)
	fmt.Fprintf(&b, "\nseed %d, copied %v, during %v, later %v, linked %v, parted %q\n", h.seed, h.copied, h.during, h.later,
		h.linked, h.parted)
	for _, a := range h.tries {
		for _, s := range a.steps {
			fmt.Fprintf(&b, "try %d: %s\n", a.ID, s.Way)
			for _, d := range s.Deeds {
				fmt.Fprintf(&b, "\t%s %+q %+q %+q %d\n", d.Op, d.A, d.B, d.Text, d.N)
			}
		}
	}
	for _, d := range h.did {
		fmt.Fprintf(&b, "others: %s %+q %+q %+q %d\n", d.Op, d.A, d.B, d.Text, d.N)
	}
	fmt.Fprintf(&b, "before: %q\n", h.before.plain())
	h.Fatal(b.String())
}

// kept keeps a try, or says what is in conflict: then nothing is written unless the conflict
// is settled.
func (h *history) kept(a *attempt, o tries.Options) (*tries.Plan, bool) {
	h.Helper()
	ws, err := workspace.Open(workspace.Options{Home: h.home, Roots: []string{h.dir}})
	if err != nil {
		h.Fatal(err)
	}
	defer ws.Close()
	before := h.look(h.dir)
	plan, err := a.Plan(h.Context(), ws, o)
	if err != nil {
		h.fail("%v", err)
	}
	if plan.Count(tries.Conflict) > 0 && o.Conflicts != settle.Skip {
		if d := cmp.Diff(before, h.look(h.dir)); d != "" {
			h.fail("in conflict, and written:\n%s", d)
		}
		return plan, false
	}
	if !plan.Empty() {
		if err := plan.Commit(context.Background(), ws.Txn); err != nil {
			h.fail("%v\n%s%+v", err, rows(plan), plan)
		}
	}
	if err := a.Remember(plan); err != nil {
		h.Fatal(err)
	}
	after := h.look(h.dir)
	for path, n := range after {
		if was := before[path]; n.file() && was.plain() == n.plain() && was != n && was.Links == 1 {
			h.fail("%q did not change, and was touched: %v is %v", path, was, n)
		}
		if was := before[path]; n.file() && was.file() && was.Kind[0] == n.Kind[0] && was.Xattr != n.Xattr {
			h.fail("%q lost an attribute: %v is %v", path, was, n)
		}
	}
	return plan, true
}

// undone takes back what was kept last.
func (h *history) undone(want tree) {
	h.Helper()
	ws, err := workspace.Open(workspace.Options{Home: h.home, Roots: []string{h.dir}})
	if err != nil {
		h.Fatal(err)
	}
	defer ws.Close()
	list, err := ws.Ledger.Read(0)
	if err != nil {
		h.Fatal(err)
	}
	last := changes.Choice{Entry: list[len(list)-1].Seq}
	report, err := ws.Changes().Undo(h.Context(), ws.Txn, last, changes.UndoOptions{})
	if err != nil || report.Problem != "" {
		h.fail("undo: %v %s", err, report.Problem)
	}
	if d := cmp.Diff(want.plain(), h.look(h.dir).plain()); d != "" {
		h.fail("undo of keep (-before +undone):\n%s\n%+v", d, report)
	}
	if _, err := ws.Changes().Undo(h.Context(), ws.Txn, changes.Choice{Redo: true}, changes.UndoOptions{}); err != nil {
		h.fail("redo: %v", err)
	}
}

// count2 is what was seen.
type tally struct{ conflicts, merges, kept, undone, parted int }

// part keeps some of a try.
func (h *history) part(a *attempt) (whole bool) {
	h.Helper()
	before := h.look(h.dir)
	o := tries.Options{}
	switch h.parted {
	case "paths":
		for range 1 + h.r.IntN(2) {
			o.Paths = append(o.Paths, filepath.Join(h.dir, newMaker(h.r, "", h.pool).name()))
		}
	case "hunks":
		o.Pick = func(tries.Hunk) (bool, error) { return h.r.IntN(2) == 0, nil }
	}
	if _, ok := h.kept(a, o); !ok || o.Paths == nil {
		return ok
	}
	now := h.look(h.dir)
	for path := range union(before, now) {
		full := filepath.Join(h.dir, path)
		named := slices.ContainsFunc(o.Paths, func(p string) bool { return pathname.Under(p, full) || pathname.Under(full, p) })
		if !named && before[path].plain() != now[path].plain() {
			h.fail("%q was not named (%q), and is %q, was %q", path, o.Paths, now[path].plain(), before[path].plain())
		}
	}
	return true
}

func union(trees ...tree) map[string]bool {
	all := map[string]bool{}
	for _, t := range trees {
		for path := range t {
			all[path] = true
		}
	}
	return all
}

// added are the lines of a file that another version of it has not.
func added(b, u node) []string {
	var list []string
	for line := range strings.Lines(u.Text) {
		if !strings.Contains(b.Text, strings.TrimSuffix(line, "\n")) && strings.HasPrefix(line, "user ") {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
	}
	return list
}

// merged is the law of keeping: of each path there is what the one side made of it that changed
// it; of a text that both changed, all that the others wrote. Now is what was there when the try
// was kept.
func (h *history) merged(a *attempt, now, kept tree, what string) {
	h.Helper()
	base, seen := a.base, a.seen
	below := func(t tree, dir string) bool {
		for path := range t {
			if path != dir && pathname.Under(dir, path) {
				return true
			}
		}
		return false
	}
	for path := range union(base, now, seen, kept) {
		b, u, v, k := base[path], now[path], seen[path], kept[path]
		if b.pipe() || u.pipe() || v.pipe() {
			continue
		}
		dirs := u.dir() || u.Kind == ""
		ok := true
		switch {
		case v.plain() == b.plain() || v.plain() == u.plain():
			ok = k.plain() == u.plain() || k.dir() && dirs && below(kept, path)
		case u.plain() == b.plain():
			ok = k.plain() == v.plain() || k.dir() && below(kept, path)
		case u.dir() && v.dir():
			ok = k.plain() == u.plain() || b.Kind != "" && b.plain() == u.plain()
		case u.file() && u.Kind[0] == '-':
			for _, line := range added(b, u) {
				ok = ok && strings.Contains(k.Text, line)
			}
		}
		if !ok && a.careful(b, u, v, k) {
			ok = true
		}
		if !ok && a.mid != nil && (v.plain() == a.mid[path].plain() && k.plain() == u.plain() || h.knew(path, u)) {
			ok = true
		}
		// An overlay goes on to show what others moved away with the directory above it.
		theirs := v.dir() || strings.Contains(v.Text, " of user ")
		if !ok && a.mid != nil && theirs && b.Kind+u.Kind+k.Kind == "" && wentAbove(path, base, now) {
			ok = true
		}
		if !ok {
			h.fail("%s: %q was %q, others made it %q, the try %q, and it is %q", what, path, b.plain(), u.plain(), v.plain(),
				k.plain())
		}
	}
}

// wentAbove reports whether a directory above a path was in base and is not in now.
func wentAbove(path string, base, now tree) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if base[dir].dir() && now[dir].Kind == "" {
			return true
		}
	}
	return false
}

// careful reports whether something of the try was left out, because nobody recorded what was
// there when it changed that, and others touched it since. The other way round, a file that they
// removed comes again if the try had put a new file in its place.
func (a *attempt) careful(b, u, v, k node) bool {
	recorded := !slices.ContainsFunc(a.steps, func(s step) bool { return s.Way == "command" })
	switch {
	case u.dir() && v.dir(), u.file() && v.Kind == "" && !recorded:
		return (b.Ctime != u.Ctime || b.Links > 1) && k.plain() == u.plain()
	case u.Kind == "" && v.file():
		return (!recorded || a.mid != nil) && k.plain() == v.plain()
	case u.dir() && v.Kind == "" && k.Kind == "":
		return a.mid != nil // it saw it
	}
	return false
}

// knew reports whether a try found what others made of a path, and went on from that: it can
// be brought back then.
func (h *history) knew(path string, u node) bool {
	for _, a := range h.tries {
		if a.Found(filepath.Join(h.dir, path), u.Text) {
			return true
		}
	}
	return false
}

// TestHistories: whatever is done in a try, by commands and by file tools, the directory
// stays as it is, to the times of its files. What is kept makes of it what the try showed,
// and what the same deeds make of a copy; what others did meanwhile is merged or in conflict,
// and never gone; undo takes it back.
func TestHistories(t *testing.T) {
	var sum tally
	first := uint64(0)
	if n := os.Getenv("KERF_TRUST_FIRST"); n != "" {
		_, _ = fmt.Sscan(n, &first)
	}
	for seed := first; seed < first+uint64(count()); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newHistory(t, seed).course(&sum) })
	}
	t.Logf("%+v", sum)
}

func (h *history) course(sum *tally) {
	twin := ""
	if !h.linked && !h.during && !h.later {
		twin = h.dir + ".copy"
		run(h.T, filepath.Dir(h.dir), fmt.Sprintf("cp -a -- '%s' '%s'", filepath.Base(h.dir), filepath.Base(twin)))
	}
	a := h.attempt("try")
	list := []*attempt{a}
	if h.r.IntN(5) == 0 {
		list = append(list, h.attempt("user b")) // another one, whose lines count as those of others
	}
	if twin != "" {
		if err := perform(filepath.Join(filepath.Dir(h.home), "home2"), twin, a.steps, func() error { return nil }); err != nil {
			h.Fatal(err)
		}
		if d := alike(h.look(twin), a.seen); d != "" {
			h.fail("the try shows (+) not what the deeds make of a copy (-):\n%s", d)
		}
	}
	if h.later {
		h.others()
	}
	for _, a := range slices.Backward(list) {
		h.end(a, sum, twin != "" && len(list) == 1)
	}
	if left, err := tries.List(h.home); err != nil || len(left) > 0 {
		h.Fatalf("%v, %v is left of the try", err, left)
	}
}

// end keeps a try, and throws it away.
func (h *history) end(a *attempt, sum *tally, alone bool) {
	now := h.look(h.dir)
	if h.parted != "" {
		if h.part(a) {
			sum.parted++
		}
	}
	plan, ok := h.kept(a, tries.Options{})
	what := "kept"
	if !ok {
		sum.conflicts++
		way := []settle.Way{settle.Merge, settle.Ours, settle.Skip, settle.Theirs}[h.r.IntN(4)]
		what = fmt.Sprintf("settled with %q", way)
		if plan, ok = h.kept(a, tries.Options{Conflicts: way}); !ok || way == settle.Theirs {
			h.discard(a) // a directory and a file cannot be settled
			return
		}
	}
	kept := h.look(h.dir)
	after := kept.plain()
	if sum.kept++; plan.Count(tries.Merged) > 0 {
		sum.merges++
	}
	if what == "kept" {
		h.merged(a, now, kept, what)
		if again, ok := h.kept(a, tries.Options{}); !ok || !again.Empty() {
			h.fail("there is more to keep:\n%s\n%+v", rows(again), again)
		}
	} else {
		h.nothingLost(a.base, now, kept, what)
	}
	if d := alike(a.seen, kept); alone && what == "kept" && d != "" {
		h.fail("kept (+) is not what the try showed (-):\n%s\n%s\n%+v", d, rows(plan), plan)
	}
	if h.parted == "" && !plan.Empty() {
		sum.undone++
		h.undone(now)
		if d := cmp.Diff(after, h.look(h.dir).plain()); d != "" {
			h.fail("redo of keep (-kept +redone):\n%s", d)
		}
	}
	h.discard(a)
}

// nothingLost: all lines that others wrote are there.
func (h *history) nothingLost(base, now, kept tree, what string) {
	for path, u := range now {
		for _, line := range added(base[path], u) {
			if !strings.Contains(kept[path].Text, line) && !(h.during && h.knew(path, u)) {
				h.fail("%s: %q of others is gone from %q: %q", what, line, path, kept[path].plain())
			}
		}
	}
}

// discard throws a try away, which changes nothing.
func (h *history) discard(a *attempt) {
	before := h.look(h.dir)
	if err := a.Remove(); err != nil {
		h.Fatal(err)
	}
	if d := cmp.Diff(before, h.look(h.dir)); d != "" {
		h.fail("it was thrown away, and the directory changed:\n%s", d)
	}
}
