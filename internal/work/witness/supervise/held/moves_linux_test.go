package held

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/held/threads"
	"kerf/internal/work/witness/supervise/listener"
)

// deed is one call: what it does, and its names in the tree.
type deed struct{ do, a, b string }

func (d deed) String() string { return strings.TrimSpace(d.do + " " + d.a + " " + d.b) }

// works are what one thread does in a directory, and turns what another one does to that directory, or
// to one above it, by one call or two. The tree has p/d with files a and h, p/e with a file b, p/z, an
// empty directory, and s with a file c; h has another name, p/h.
var (
	works = []deed{{"make", "p/d/n", ""}, {"write", "p/d/a", ""}, {"unlink", "p/d/a", ""}, {"rename", "p/d/a", "p/d/n"},
		{"rename", "p/h", "p/d/n"}, {"rename", "p/d/a", "p/n"}, {"link", "p/h", "p/d/n"}, {"mkdir", "p/d/n", ""},
		{"truncate", "p/d/a", ""}, {"rename", "s", "p/d/n"}, {"make", "p/z/n", ""}, {"rename", "p/d/a", "p/z/a"},
		{"exchange", "p/d/a", "p/e/b"}, {"make", "p/d/i/n", ""}}
	turns = [][2]deed{
		{{"rename", "p/d", "p/q"}, {"rename", "p/q", "p/d"}},
		{{"rename", "p/d", "p/q"}, {"rename", "p/q", "r"}},
		{{"rename", "p/d", "p/q"}, {"mkdir", "p/d", ""}},
		{{"rename", "p/d", "p/q"}, {"rename", "s", "p/d"}},
		{{"exchange", "p/d", "p/e"}, {"exchange", "p/d", "p/e"}},
		{{"exchange", "p/d", "p/e"}, {"rename", "p/e", "p/q"}},
		{{"exchange", "p/d", "p/e"}, {"rename", "p/d", "p/q"}},
		{{"rename", "p", "q"}, {"rename", "q", "p"}},
		{{"rename", "p", "q"}, {"rename", "q/d", "d"}},
		{{"exchange", "p", "s"}, {"rename", "s", "p/q"}},
		{{"rename", "s", "p/z"}, {"rename", "p/z", "p/q"}},
		{{"rmdir", "p/z", ""}, {"mkdir", "p/z", ""}},
		{{"rename", "p/d", "p/z"}, {"exchange", "p/z", "p/e"}},
		{{"exchange", "p/d/i", "p/e"}, {"rename", "p/d", "p/q"}},
	}
)

// TestWhatMovesWithADirectoryIsTold plays each work against each turn, in all orders of their moments: that a
// call is looked at, that the kernel has found the directories of its names, and that it is done. A call that
// is under way comes to its end when the helper asks about its thread, or, if it sleeps, at its time. Each
// name that holds something else in the end was touched, and it is known what it held at first; where nobody
// sleeps, none of it is laid to others.
func TestWhatMovesWithADirectoryIsTold(t *testing.T) {
	tids := threadsOf(t, 2)
	defer func() { threads.Asked = nil }()
	n, plays := 0, 0
	hub := NewHub() // to close one takes the kernel longer than a play
	for _, sleeps := range []bool{false, true} {
		for _, work := range works {
			for _, turn := range turns {
				for _, order := range orders(3, 4) {
					if n++; n%29 != 0 && os.Getenv("KERF_LONG") == "" {
						continue
					}
					plays++
					g := newGame(t, hub, tids, sleeps)
					if fault := g.play(work, turn, order); fault != "" {
						t.Errorf("%v beside %v, %v, sleeps %v: %s", work, turn, order, sleeps, fault)
					}
				}
			}
		}
	}
	t.Logf("%d plays", plays)
}

// TestACallThatWasLookedAtAnewIsUnderWay: a call in a directory whose notices begin with it is looked at
// twice. As long as its thread is in it, what it leads to is expected.
func TestACallThatWasLookedAtAnewIsUnderWay(t *testing.T) {
	tids := threadsOf(t, 1)
	defer func() { threads.Asked = nil }()
	g := newGame(t, NewHub(), tids, true)
	defer g.end()
	g.look(tids[0], deed{"make", "p/d/n", ""})
	g.w.hub.mu.Lock()
	g.w.overdue()
	g.w.hub.mu.Unlock()
	g.calls[tids[0]].act(g)
	g.w.hub.mu.Lock()
	g.w.hub.drainAll()
	defer g.w.hub.mu.Unlock()
	if n := g.w.names[g.root+"/p/d/n"]; n == nil || n.foreign {
		t.Errorf("it is laid to others: %+v", n)
	}
}

// orders are all in which a list of n and one of m steps can be gone through: true is one of the first.
func orders(n, m int) (all [][]bool) {
	if n+m == 0 {
		return [][]bool{nil}
	}
	if n > 0 {
		for _, rest := range orders(n-1, m) {
			all = append(all, append([]bool{true}, rest...))
		}
	}
	if m > 0 {
		for _, rest := range orders(n, m-1) {
			all = append(all, append([]bool{false}, rest...))
		}
	}
	return all
}

// threadsOf are numbers of threads of this process: in their memory the names are.
func threadsOf(t *testing.T, n int) (tids []uint32) {
	entries, err := os.ReadDir("/proc/self/task")
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, uint32(tid))
	}
	if err != nil || len(tids) < n {
		t.Fatalf("%d threads: %v", len(tids), err)
	}
	return tids[:n]
}

// game is one play: a command whose calls the test makes.
type game struct {
	*testing.T
	root   string
	w      *watch
	sleeps bool
	proc   string
	calls  map[uint32]*kernelCall
}

// kernelCall is a call that was let go on.
type kernelCall struct {
	deed
	listener.Notice
	a, b   int // directories of its names, open, or below zero
	walked bool
	done   bool
}

func newGame(t *testing.T, hub *Hub, tids []uint32, sleeps bool) *game {
	dir := t.TempDir()
	g := &game{T: t, root: dir + "/tree", proc: dir + "/proc", sleeps: sleeps, calls: map[uint32]*kernelCall{}}
	for _, d := range []string{"tree/p/d/i", "tree/p/e", "tree/p/z", "tree/s"} {
		g.must(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, f := range []string{"p/d/a", "p/d/h", "p/d/i/k", "p/e/b", "s/c"} {
		g.must(os.WriteFile(filepath.Join(g.root, f), []byte(f), 0o644))
	}
	g.must(os.Link(g.root+"/p/d/h", g.root+"/p/h"))
	for _, tid := range tids {
		at := fmt.Sprintf("%s/%d", g.proc, tid)
		g.must(os.MkdirAll(at, 0o755))
		g.must(os.Symlink("/", at+"/root"))
	}
	g.must(os.Symlink("/proc/self", g.proc+"/self"))
	g.w = &hub.Watch(Options{Listener: -1, Dir: dir + "/journal", Roots: []string{g.root}, OneRoot: true,
		Begin: func() (int64, error) { return 1, nil }, Ask: func(string, string, int64) bool { return true }}).w
	proc, err := unix.Open(g.proc, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	g.must(err)
	g.w.find1.Proc = proc
	threads.Asked = g.asked
	return g
}

func (g *game) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// end closes what is open.
func (g *game) end() {
	g.w.hub.release(g.w)
	g.w.hub.drainAll()
	g.w.roots.Close()
	g.w.find1.End()
	_ = unix.Close(g.w.find1.Proc)
	if g.w.keeper.Dir >= 0 {
		_ = unix.Close(g.w.keeper.Dir)
	}
	if g.w.journal != nil {
		_ = g.w.journal.Close()
	}
}

// asked is told that the helper asks what a thread does.
func (g *game) asked(c *threads.Call) {
	k := g.calls[c.TID]
	if k != nil && !k.done && !g.sleeps {
		k.act(g)
	}
	line := "-1 0x0 0x0"
	if k != nil && !k.done {
		line = strconv.Itoa(int(k.Number))
		for _, a := range k.Args {
			line += " 0x" + strconv.FormatUint(a, 16)
		}
		line += " 0x0 0x0"
	}
	at := fmt.Sprintf("%s/%d/", g.proc, c.TID)
	g.must(os.WriteFile(at+"syscall", []byte(line), 0o644))
	g.must(os.WriteFile(at+"stat", []byte(fmt.Sprintf("%d (a command) S 1", c.TID)), 0o644))
}

// look lets the helper look at a call of a thread.
func (g *game) look(tid uint32, d deed) {
	name := func(p string) (*byte, uint64) {
		b := append([]byte(g.root+"/"+p), 0)
		return &b[0], uint64(uintptr(unsafe.Pointer(&b[0])))
	}
	a, atA := name(d.a)
	b, atB := name(d.b)
	const cwd = uint64(0xffffffffffffff9c)
	n := listener.Notice{PID: tid}
	switch d.do {
	case "make":
		n.Number, n.Args = unix.SYS_OPENAT, [6]uint64{cwd, atA, unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL, 0o644}
	case "write":
		n.Number, n.Args = unix.SYS_OPENAT, [6]uint64{cwd, atA, unix.O_WRONLY | unix.O_TRUNC}
	case "truncate":
		n.Number, n.Args = unix.SYS_TRUNCATE, [6]uint64{atA, 1}
	case "unlink":
		n.Number, n.Args = unix.SYS_UNLINKAT, [6]uint64{cwd, atA}
	case "rmdir":
		n.Number, n.Args = unix.SYS_UNLINKAT, [6]uint64{cwd, atA, unix.AT_REMOVEDIR}
	case "mkdir":
		n.Number, n.Args = unix.SYS_MKDIRAT, [6]uint64{cwd, atA, 0o755}
	case "link":
		n.Number, n.Args = unix.SYS_LINKAT, [6]uint64{cwd, atA, cwd, atB}
	case "rename":
		n.Number, n.Args = unix.SYS_RENAMEAT2, [6]uint64{cwd, atA, cwd, atB}
	case "exchange":
		n.Number, n.Args = unix.SYS_RENAMEAT2, [6]uint64{cwd, atA, cwd, atB, unix.RENAME_EXCHANGE}
	}
	h := g.w.hub
	h.mu.Lock()
	h.drain()
	errno := g.w.handle(&n)
	if p := g.w.calls[tid]; p != nil && errno == 0 && p.makes() {
		p.held = true
		h.drain()
		p.held = false
	}
	h.mu.Unlock()
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	g.calls[tid] = &kernelCall{deed: d, Notice: n, a: -1, b: -1, done: errno != 0}
}

// walk finds the directories of the names, as the kernel does before it changes anything.
func (k *kernelCall) walk(g *game) {
	if k.done || k.walked {
		return
	}
	k.walked = true
	open := func(p string) int {
		fd, err := unix.Open(filepath.Dir(g.root+"/"+p), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1
		}
		return fd
	}
	if k.a = open(k.deed.a); k.deed.b != "" {
		k.b = open(k.deed.b)
	}
}

// act does what was let go on.
func (k *kernelCall) act(g *game) {
	if k.done {
		return
	}
	k.walk(g)
	k.done = true
	defer unix.Close(k.a)
	defer unix.Close(k.b)
	a, b := filepath.Base(k.deed.a), filepath.Base(k.deed.b)
	fd, err := -1, error(nil)
	switch k.do {
	case "make":
		fd, err = unix.Openat(k.a, a, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	case "write":
		fd, err = unix.Openat(k.a, a, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
	case "truncate":
		_ = unix.Truncate(fmt.Sprintf("/proc/self/fd/%d/%s", k.a, a), 1)
	case "unlink":
		_ = unix.Unlinkat(k.a, a, 0)
	case "rmdir":
		_ = unix.Unlinkat(k.a, a, unix.AT_REMOVEDIR)
	case "mkdir":
		_ = unix.Mkdirat(k.a, a, 0o755)
	case "link":
		_ = unix.Linkat(k.a, a, k.b, b, 0)
	case "rename":
		_ = unix.Renameat(k.a, a, k.b, b)
	case "exchange":
		_ = unix.Renameat2(k.a, a, k.b, b, unix.RENAME_EXCHANGE)
	}
	if fd >= 0 && err == nil {
		_, _ = unix.Write(fd, []byte("K"))
		_ = unix.Close(fd)
	}
}

// play plays a work beside a turn, and tells what is wrong.
func (g *game) play(work deed, turn [2]deed, order []bool) string {
	defer g.end()
	tids := slices.Sorted(maps.Keys(g.tids()))
	before := g.snap()
	steps := map[bool][]func(){true: {
		func() { g.look(tids[0], work) },
		func() { g.calls[tids[0]].walk(g) },
		func() { g.calls[tids[0]].act(g) },
	}}
	for _, d := range turn {
		steps[false] = append(steps[false], func() { g.look(tids[1], d) }, func() { g.calls[tids[1]].act(g) })
	}
	for _, first := range order {
		steps[first][0]()
		steps[first] = steps[first][1:]
	}
	g.w.hub.mu.Lock()
	defer g.w.hub.mu.Unlock()
	g.w.hub.drainAll()
	if g.w.journal == nil {
		return ""
	}
	r, err := journal.Open(g.w.dirPath)
	g.must(err)
	defer r.Close()
	records, _, err := r.Next()
	g.must(err)
	first, foreign := map[string]journal.State{}, []string{}
	for _, r := range records {
		if _, is := first[r.Path]; r.Kind == journal.Touch && !is {
			first[strings.TrimPrefix(r.Path, g.root+"/")] = r.Before
		}
		if r.Kind == journal.Foreign || r.Kind == journal.Gap {
			foreign = append(foreign, r.Path+r.Why)
		}
	}
	after := g.snap()
	var faults []string
	for name := range union(before, after) {
		if before[name] == after[name] {
			continue
		}
		switch was, touched := first[name]; {
		case !touched:
			faults = append(faults, name+" was not touched")
		case was.Sig.Ino != before[name]:
			faults = append(faults, fmt.Sprintf("%s held %d at first, not %d", name, before[name], was.Sig.Ino))
		}
	}
	if !g.sleeps && len(foreign) > 0 {
		faults = append(faults, fmt.Sprintf("laid to others: %v", foreign))
	}
	slices.Sort(faults)
	return strings.Join(faults, ", ")
}

func (g *game) tids() map[uint32]bool {
	list := map[uint32]bool{}
	entries, err := os.ReadDir(g.proc)
	g.must(err)
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			list[uint32(tid)] = true
		}
	}
	return list
}

// snap are the names in the tree with the numbers of what they hold.
func (g *game) snap() map[string]uint64 {
	s := map[string]uint64{}
	g.must(filepath.WalkDir(g.root, func(p string, _ os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && p != g.root {
			err = unix.Lstat(p, &st)
			s[strings.TrimPrefix(p, g.root+"/")] = st.Ino
		}
		return err
	}))
	return s
}

func union(a, b map[string]uint64) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}
