package track

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
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

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// event is one thing that happens in a history.
type event struct {
	Kind  string // tool, stale, fault, unseen, command, user, look
	Moves []move
	At    int  // of a fault: which call fails
	Stays bool // of a fault: all calls after it fail, too, so that nothing can be taken back
}

// move is one thing done to one name.
type move struct {
	What string // line, text, binary, chmod, remove, rename, link, hard
	A, B string // names
	N    int
}

var names = []string{"a", "b", "d/c", "d/e", "f/g/h", "bin"}

var moves = rapid.Custom(func(t *rapid.T) move {
	return move{
		What: rapid.SampledFrom([]string{"line", "line", "line", "text", "binary", "chmod", "remove", "rename", "link",
			"hard"}).Draw(t, "what"),
		A: rapid.SampledFrom(names).Draw(t, "a"), B: rapid.SampledFrom(names).Draw(t, "b"),
		N: rapid.IntRange(0, 9).Draw(t, "n"),
	}
})

var histories = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
	return event{
		Kind: rapid.SampledFrom([]string{"tool", "tool", "tool", "stale", "fault", "unseen", "command", "user", "user",
			"look"}).Draw(t, "kind"),
		Moves: rapid.SliceOfN(moves, 1, 3).Draw(t, "moves"), At: rapid.IntRange(1, 25).Draw(t, "at"),
		Stays: rapid.Bool().Draw(t, "stays"),
	}
}), 1, 12)

// slip is a mistake of whoever drives the tracker, to see that the laws notice it.
type slip int

const (
	none slip = iota
	forgetsMissed
	forgetsDoubt
	forgetsPrefix
	forgetsOutside
	swapsSteps
	blamesUs
)

// world is a workspace with all its parts, and a session that drives them.
type world struct {
	base, root string
	fail       int  // calls until one fails, 0 for never
	stays      bool // all fail from then on
	work       *txn.Workspace
	scan       *scan.Scanner
	snap       *scan.Snap
	track      Tracker
	slip       slip
	who        int // counts what was written, so that every line is new
}

var errFault = errors.New("the disk says no")

func (w *world) hook(string, string) error {
	if w.fail > 0 {
		if w.fail--; w.fail == 0 {
			if w.stays {
				w.fail = 1
			}
			return errFault
		}
	}
	return nil
}

func newWorld(dir string, s slip) (*world, error) {
	base, err := os.MkdirTemp(dir, "")
	if err != nil {
		return nil, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	w := &world{base: base, root: filepath.Join(base, "w"), slip: s}
	if err := os.Mkdir(w.root, 0o755); err != nil {
		return nil, err
	}
	home := filepath.Join(base, "home")
	t, err := tree.Open(tree.Options{Roots: []string{w.root}, Before: w.hook})
	if err != nil {
		return nil, err
	}
	st, err := store.Open(filepath.Join(home, "store"))
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(home)
	if err != nil {
		return nil, err
	}
	if w.work, err = txn.Open(txn.Options{Tree: t, Store: st, Ledger: l, Dir: filepath.Join(home, "journal"),
		Before: w.hook}); err != nil {
		return nil, err
	}
	if w.scan, err = scan.Open(scan.Options{Roots: []string{w.root}, Store: st, Git: "-", Home: home}); err != nil {
		return nil, err
	}
	w.track.Look = func(p string) (*delta.Image, error) { return t.ReadEntry(p, 0) }
	w.track.Load = func(i *delta.Image) (*delta.Image, error) {
		data, err := st.Get(i.Sum)
		full := *i
		full.Data, full.Loaded = data, true
		return &full, err
	}
	for i, n := range []string{"a", "d/c", "bin"} {
		w.do(move{What: "text", A: n, N: i})
	}
	w.snap, err = w.scan.Snapshot(context.Background())
	return w, err
}

func (w *world) close() {
	_ = w.work.Close()
	_ = w.work.Ledger.Close()
	_ = os.RemoveAll(w.base)
}

func (w *world) at(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// text is a few lines; the one changed is told by who changed it.
func (w *world) text(old []byte, n int, who string) []byte {
	w.who++
	line := fmt.Sprintf("%s %d\n", who, w.who)
	lines := strings.SplitAfter(string(old), "\n")
	if len(lines) < 4 || strings.ContainsRune(string(old), 0) {
		lines = nil
		for i := range 8 {
			lines = append(lines, fmt.Sprintf("line %d\n", i))
		}
	}
	lines[n%len(lines)] = line
	return []byte(strings.Join(lines, ""))
}

// do changes the tree behind everyone's back; what cannot be done is not.
func (w *world) do(m move) { w.doAs(m, "user") }

func (w *world) doAs(m move, who string) {
	a, b := w.at(m.A), w.at(m.B)
	_ = os.MkdirAll(filepath.Dir(a), 0o755)
	_ = os.MkdirAll(filepath.Dir(b), 0o755)
	old, _ := os.ReadFile(a)
	if st, err := os.Lstat(a); err == nil && st.Mode().Type() == fs.ModeSymlink && m.What != "remove" &&
		m.What != "rename" {
		_ = os.Remove(a)
	}
	switch m.What {
	case "line", "text":
		_ = os.WriteFile(a, w.text(old, m.N, who), 0o644)
	case "binary":
		w.who++
		_ = os.WriteFile(a, fmt.Appendf(nil, "\x00\xff%d", w.who), 0o644)
	case "chmod":
		_ = os.Chmod(a, []fs.FileMode{0o644, 0o755, 0o600}[m.N%3])
	case "remove":
		_ = os.Remove(a)
	case "rename":
		_ = os.Rename(a, b)
	case "link":
		_ = os.Symlink(m.B, a)
	case "hard":
		_ = os.Link(a, b)
	}
}

// propose makes the set that a tool would, for the tree as it is.
func (w *world) propose(list []move) (delta.Set, error) {
	var set delta.Set
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.A] || seen[m.B] {
			continue
		}
		a, b := filepath.ToSlash(w.at(m.A)), filepath.ToSlash(w.at(m.B))
		pre, err := w.work.Tree.ReadEntry(a, 0)
		if err != nil {
			return nil, err
		}
		there, err := w.work.Tree.ReadEntry(b, 0)
		if err != nil {
			return nil, err
		}
		var old []byte
		mode := uint32(0o644)
		if pre != nil && pre.Kind == delta.File {
			old, mode = pre.Data, pre.Mode
		}
		c := delta.Change{Path: a, Pre: pre}
		switch m.What {
		case "line", "text":
			c.Post = delta.NewFile(w.text(old, m.N, "tool"), mode)
		case "binary":
			w.who++
			c.Post = delta.NewFile(fmt.Appendf(nil, "\x00%d", w.who), mode)
		case "chmod":
			if pre == nil || pre.Kind != delta.File {
				continue
			}
			c.Post = delta.NewFile(pre.Data, []uint32{0o644, 0o755, 0o600}[m.N%3])
		case "remove":
			if pre == nil {
				continue
			}
		case "rename":
			if pre == nil || m.A == m.B {
				continue
			}
			seen[m.B] = true
			c.To = b
			set = append(set, delta.Change{Path: b, Pre: there, Post: pre, From: a})
		default:
			c.Post = delta.NewSymlink(m.B)
		}
		seen[m.A] = true
		set = append(set, c)
	}
	return set, nil
}

// play does one event.
func (w *world) play(d event) error {
	switch d.Kind {
	case "user":
		for _, m := range d.Moves {
			w.do(m)
		}
		return nil
	case "command":
		if err := w.look(true); err != nil {
			return err
		}
		for _, m := range d.Moves {
			w.doAs(m, "command")
		}
		return w.look(false)
	case "look":
		return w.look(true)
	}
	set, err := w.propose(d.Moves)
	if err != nil {
		return nil // a directory stands where a file should be, say
	}
	all := slices.Concat(set, w.work.OtherNames(set)) // other names of its files change with it
	if err := w.missed(all); err != nil {
		return err
	}
	if d.Kind == "stale" && len(set) > 0 {
		w.do(move{What: "text", A: d.Moves[0].A, N: 1})
	}
	if d.Kind == "fault" {
		w.fail, w.stays = d.At, d.Stays
	}
	out, err := w.work.Commit(context.Background(), set, txn.CommitOptions{BestEffort: d.At%2 == 0})
	w.fail = 0
	if err == nil && !out.Exact && len(out.Failed) == 0 { // one at its best may do a part, and fail to take another back
		return errors.New("a commit in which nothing failed is inexact")
	}
	if d.Kind == "unseen" && err == nil { // it landed, and whoever asked for it does not learn so
		out.Committed, out.Exact = nil, false
		w.landed(all, out)
		return nil
	}
	return w.record(w.landed(all, out), ledger.CauseTool)
}

// missed tells of what others did to the files of a set since the last look, before
// the set hides it.
func (w *world) missed(set delta.Set) error {
	for _, c := range set {
		missed, ok, err := w.scan.Missed(context.Background(), c.Path, c.Pre)
		if err != nil {
			return err
		}
		if !ok || w.slip == forgetsMissed {
			continue
		}
		w.track.Add(delta.Set{missed}, true)
		w.scan.Note(c.Path, c.Pre)
		if err := w.record(delta.Set{missed}, ledger.CauseOutside); err != nil {
			return err
		}
	}
	return nil
}

// landed tells the tracker of a commit of all as a session does. It returns what of it nobody saw land.
func (w *world) landed(all delta.Set, out txn.Outcome) delta.Set {
	if w.slip != forgetsPrefix || len(out.Failed) == 0 {
		w.track.Add(out.Committed, false)
	}
	if !out.Exact && w.slip != forgetsDoubt {
		w.track.Doubt(all)
	}
	for _, c := range out.Committed {
		w.scan.Note(c.Path, c.Post)
	}
	if out.Exact {
		return nil
	}
	// What is in doubt is settled before the scan takes it for someone else's.
	n := w.track.Net()
	for _, c := range n.Healed {
		w.scan.Note(c.Path, c.Post)
	}
	return n.Healed
}

// record puts in the ledger what happened already.
func (w *world) record(set delta.Set, cause string) error {
	if len(set) == 0 {
		return nil
	}
	_, err := w.work.Record(context.Background(), set, txn.CommitOptions{Cause: cause})
	return err
}

// look scans the tree.
func (w *world) look(outside bool) error {
	next, err := w.scan.Snapshot(context.Background())
	if err != nil {
		return err
	}
	set, _, err := w.scan.Diff(context.Background(), w.snap, next)
	if err != nil {
		return err
	}
	w.snap = next
	cause := ledger.CauseCommand
	if outside {
		cause = ledger.CauseOutside
	}
	if err := w.record(set, cause); err != nil {
		return err
	}
	switch {
	case outside && w.slip == forgetsOutside:
		return nil
	case outside && w.slip == blamesUs:
		outside = false
	}
	w.track.Add(set, outside)
	return nil
}

// state reads the tree.
func (w *world) state() (map[string]delta.Version, error) {
	got := map[string]delta.Version{}
	err := filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		// What a failed commit could not clear away is cleared by the next.
		if err != nil || d.IsDir() || staged(d.Name()) {
			return err
		}
		img, err := w.work.Tree.ReadEntry(p, 0)
		got[filepath.ToSlash(p)] = img.At()
		return err
	})
	return got, err
}

func staged(name string) bool {
	return strings.HasPrefix(name, ".kerf-") && strings.HasSuffix(name, ".tmp")
}

// apply makes the changes of a set in a state.
func apply(state map[string]delta.Version, set delta.Set) error {
	for _, c := range set {
		if have := state[c.Path]; have != c.Pre.At() {
			return fmt.Errorf("%s: the change is for %s, there is %s", c.Path, c.Pre.At(), have)
		}
		if c.Post == nil {
			delete(state, c.Path)
		} else {
			state[c.Path] = c.Post.At()
		}
	}
	return nil
}

// run plays a history and holds the laws at its end:
//
//	base + before + ours + after == workspace, exactly
//	no line of a user's stands in ours, and none of a tool's in what others did, unless the
//	path is entangled
func run(dir string, history []event, s slip, judge func(w *world, n Net, base, now string) error) error {
	w, err := newWorld(dir, s)
	if err != nil {
		return err
	}
	defer w.close()
	start, err := w.state()
	if err != nil {
		return err
	}
	var baseCopy string
	if judge != nil {
		baseCopy = filepath.Join(w.base, "base")
		if err := os.CopyFS(baseCopy, os.DirFS(w.root)); err != nil {
			return err
		}
	}
	for i, d := range history {
		if err := w.play(d); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	if err := w.look(true); err != nil {
		return err
	}
	if s == swapsSteps && len(w.track.steps) > 1 {
		slices.Reverse(w.track.steps)
	}
	n := w.track.Net()
	if !n.Exact {
		return fmt.Errorf("inexact: %v", n.Uncertain)
	}
	now, err := w.state()
	if err != nil {
		return err
	}
	got := maps.Clone(start)
	for _, part := range []delta.Set{n.Before, n.Ours, n.After} {
		if err := apply(got, part); err != nil {
			return err
		}
	}
	if d := cmp.Diff(now, got); d != "" {
		return fmt.Errorf("-workspace +base and its changes:\n%s", d)
	}
	if err := ownLines(history, n); err != nil {
		return err
	}
	if err := w.ledgerSays(start, now); err != nil {
		return err
	}
	if judge != nil {
		return judge(w, n, baseCopy, w.root)
	}
	return nil
}

// ledgerSays adds up the entries of the ledger alone.
func (w *world) ledgerSays(start, now map[string]delta.Version) error {
	entries, err := w.work.Ledger.Read(0)
	if err != nil {
		return err
	}
	got := maps.Clone(start)
	for _, e := range entries {
		if err := apply(got, e.Set()); err != nil {
			return fmt.Errorf("ledger entry %d: %w", e.Seq, err)
		}
	}
	if d := cmp.Diff(now, got); d != "" {
		return fmt.Errorf("-workspace +ledger:\n%s", d)
	}
	return nil
}

// ownLines looks for lines in our part that others wrote, and the other way round. Contents
// that were moved or linked about carry such lines with them, so histories with these do not
// count.
func ownLines(history []event, n Net) error {
	for _, d := range history {
		for _, m := range d.Moves {
			if m.What == "rename" || m.What == "hard" || m.What == "link" {
				return nil
			}
		}
	}
	for _, part := range []struct {
		set     delta.Set
		foreign string
	}{{n.Before, "tool "}, {n.Ours, "user "}, {n.After, "tool "}} {
		for _, c := range part.set {
			if line := added(c, part.foreign); line != "" && !slices.Contains(n.Entangled, c.Path) {
				return fmt.Errorf("%s: %q counts as what it is not", c.Path, line)
			}
		}
	}
	return nil
}

// added is a line that c adds and that begins so.
func added(c delta.Change, prefix string) string {
	if c.Post == nil {
		return ""
	}
	var pre []byte
	if c.Pre != nil {
		pre = c.Pre.Data
	}
	for _, e := range diff.Lines(pre, c.Post.Data) {
		for line := range strings.Lines(string(e.New)) {
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
	}
	return ""
}

// checks sets how many histories are tried.
func checks(t *testing.T, usual, long string) {
	n := usual
	if os.Getenv("KERF_LONG") != "" {
		n = long
	}
	old := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", old) })
}

func TestSEC_E10_HistoriesAddUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are not what they are elsewhere")
	}
	checks(t, "120", "10000")
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		if err := run(dir, histories.Draw(rt, "history"), none, nil); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestSlipsAreNoticed drives the tracker wrongly, in each of the ways; some history
// must show it.
func TestSlipsAreNoticed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are not what they are elsewhere")
	}
	dir := t.TempDir()
	for name, s := range map[string]slip{"missed": forgetsMissed, "doubt": forgetsDoubt, "prefix": forgetsPrefix, "outside": forgetsOutside,
		"order": swapsSteps, "blame": blamesUs} {
		found := false
		for seed := 0; seed < 300 && !found; seed++ {
			found = run(dir, histories.Example(seed), s, nil) != nil
		}
		if !found {
			t.Errorf("%s: no history shows it", name)
		}
	}
}

// TestGitAppliesHistories has git make the parts from the base, one after the other.
func TestGitAppliesHistories(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no git to judge")
	}
	checks(t, "25", "500")
	dir := t.TempDir()
	judge := func(w *world, n Net, base, now string) error {
		for i, part := range []delta.Set{n.Before, n.Ours, n.After} {
			text := diff.Unified(delta.Files(part, func(p string) string {
				return strings.TrimPrefix(p,
					filepath.ToSlash(w.root)+"/")
			}))
			if len(text) == 0 {
				continue
			}
			cmd := exec.Command(git, "apply", "--whitespace=nowarn", "-")
			cmd.Dir, cmd.Stdin = base, strings.NewReader(string(text))
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+w.base, "GIT_CONFIG_GLOBAL="+os.DevNull,
				"GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("git apply of part %d: %v\n%s\n%s", i, err, out, text)
			}
		}
		want, err := gitState(now)
		if err != nil {
			return err
		}
		got, err := gitState(base)
		if err != nil {
			return err
		}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("-workspace +git's\n%s", d)
		}
		return nil
	}
	rapid.Check(t, func(rt *rapid.T) {
		if err := run(dir, histories.Draw(rt, "history"), none, judge); err != nil {
			rt.Fatal(err)
		}
	})
}

// gitState is what git would see of a directory.
func gitState(dir string) (map[string]string, error) {
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || staged(d.Name()) {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if st.Mode().Type() == fs.ModeSymlink {
			target, err := os.Readlink(p)
			got[rel] = "-> " + target
			return err
		}
		data, err := os.ReadFile(p)
		got[rel] = fmt.Sprintf("%v %q", st.Mode()&0o100 != 0, data)
		return err
	})
	return got, err
}
