package witness_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
)

// move is one side of a duel: what it does to the file with a name. text is what it writes.
type move struct {
	name string
	do   func(f, text string, wait func()) error
}

func opened(f string, flags int, use func(fd int) error) error {
	fd, err := unix.Open(f, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func writes(text string) func(fd int) error {
	return func(fd int) error { _, err := unix.Write(fd, []byte(text)); return err }
}

// into writes a file anew: what old holds, if that is named, and text.
func into(f, old, text string, flags int) error {
	had, _ := os.ReadFile(old)
	return opened(f, unix.O_WRONLY|flags, writes(string(had)+text))
}

// attacks are what commands do.
var attacks = []move{
	{"append", func(f, text string, _ func()) error { return opened(f, unix.O_WRONLY|unix.O_APPEND, writes(text)) }},
	{"append or make", func(f, text string, _ func()) error {
		return opened(f, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, writes(text))
	}},
	{"truncate", func(f, text string, _ func()) error {
		return opened(f, unix.O_WRONLY|unix.O_TRUNC|unix.O_CREAT, writes(text))
	}},
	{"over", func(f, text string, _ func()) error { return opened(f, unix.O_RDWR, writes("OV")) }},
	{"twice", func(f, text string, _ func()) error {
		err := opened(f, unix.O_WRONLY|unix.O_APPEND, writes(text))
		if err == nil {
			err = opened(f, unix.O_WRONLY|unix.O_APPEND, writes(text))
		}
		return err
	}},
	{"anew", func(f, text string, _ func()) error { // as git does
		_ = unix.Unlink(f)
		return into(f, "", text, unix.O_CREAT|unix.O_EXCL)
	}},
	{"anew in place", func(f, text string, _ func()) error {
		_ = unix.Unlink(f)
		return into(f, "", text, unix.O_CREAT|unix.O_TRUNC)
	}},
	{"replace", func(f, text string, _ func()) error { // as sed -i does
		if err := into(f+".tmp", f, text, unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
		return unix.Rename(f+".tmp", f)
	}},
	{"replace with a backup", func(f, text string, _ func()) error { // as sed -i.bak does
		if err := into(f+".tmp", f, text, unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
		if err := unix.Rename(f, f+".bak"); err != nil {
			return err
		}
		return unix.Rename(f+".tmp", f)
	}},
	{"move", func(f, _ string, _ func()) error { return unix.Rename(f, f+".moved") }},
	{"move and back", func(f, _ string, _ func()) error {
		if err := unix.Rename(f, f+".moved"); err != nil {
			return err
		}
		return unix.Rename(f+".moved", f)
	}},
	{"unlink", func(f, _ string, _ func()) error { return unix.Unlink(f) }},
	{"cut", func(f, _ string, _ func()) error { return unix.Truncate(f, 3) }},
	{"chmod", func(f, _ string, _ func()) error { return unix.Chmod(f, 0o600) }},
	{"link and append", func(f, text string, _ func()) error {
		if err := unix.Link(f, f+".too"); err != nil {
			return err
		}
		return opened(f+".too", unix.O_WRONLY|unix.O_APPEND, writes(text))
	}},
	{"link made", func(f, _ string, _ func()) error { return unix.Link(f, f+".too") }},
	{"symlink in its place", func(f, _ string, _ func()) error { // as ln -sf does
		if err := unix.Symlink("nowhere", f+".ln"); err != nil {
			return err
		}
		return unix.Rename(f+".ln", f)
	}},
	{"make", func(f, text string, _ func()) error { return into(f+".new", "", text, unix.O_CREAT|unix.O_EXCL) }},
	{"make or take", func(f, text string, _ func()) error { return into(f+".new", "", text, unix.O_CREAT) }},
	{"make a directory", func(f, _ string, _ func()) error { return unix.Mkdir(f+".new", 0o755) }},
	{"make a link", func(f, _ string, _ func()) error { return unix.Symlink("nowhere", f+".new") }},
	{"held", func(f, text string, wait func()) error {
		return opened(f, unix.O_WRONLY|unix.O_APPEND, func(fd int) error {
			wait()
			return writes(text)(fd)
		})
	}},
}

// replies are what another writer does meanwhile.
var replies = []move{
	{"append", func(f, text string, _ func()) error { return opened(f, unix.O_WRONLY|unix.O_APPEND, writes(text)) }},
	{"append slowly", func(f, text string, wait func()) error {
		return opened(f, unix.O_RDWR|unix.O_APPEND, func(fd int) error {
			wait()
			err := writes(text)(fd)
			wait()
			return err
		})
	}},
	{"write anew slowly", func(f, text string, wait func()) error {
		return opened(f, unix.O_RDWR, func(fd int) error {
			had, err := os.ReadFile(f)
			if err == nil {
				err = unix.Ftruncate(fd, 0)
			}
			wait()
			if err == nil {
				_, err = unix.Pwrite(fd, []byte(text+string(had)), 0)
			}
			return err
		})
	}},
	{"write anew or make", func(f, text string, _ func()) error { return os.WriteFile(f, []byte(text), 0o644) }},
	{"replace", func(f, text string, _ func()) error {
		if err := into(f+".swp", f, text, unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
		return unix.Rename(f+".swp", f)
	}},
	{"replace, and again", func(f, text string, _ func()) error {
		err := into(f+".swp", f, text, unix.O_CREAT|unix.O_EXCL)
		if err == nil {
			err = unix.Rename(f+".swp", f)
		}
		if err == nil {
			err = opened(f, unix.O_WRONLY|unix.O_APPEND, writes(text))
		}
		return err
	}},
	{"mapped", func(f, text string, wait func()) error {
		return opened(f, unix.O_RDWR, func(fd int) error {
			if err := unix.Ftruncate(fd, 36); err != nil {
				return err
			}
			m, err := unix.Mmap(fd, 0, 36, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			wait()
			func() { // the command may cut it
				defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
				defer func() { _ = recover() }()
				copy(m[36-len(text):], text)
			}()
			return unix.Munmap(m)
		})
	}},
	{"append by a new name", func(f, text string, _ func()) error {
		if err := unix.Link(f, f+".also"); err != nil {
			return err
		}
		return opened(f+".also", unix.O_WRONLY|unix.O_APPEND, writes(text))
	}},
	{"make", func(f, text string, _ func()) error { return into(f+".new", "", text, unix.O_CREAT|unix.O_EXCL) }},
	{"make by a move", func(f, text string, _ func()) error {
		if err := into(f+".swp", "", text, unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
		return unix.Rename(f+".swp", f+".new")
	}},
	{"unlink and make", func(f, text string, _ func()) error {
		_ = unix.Unlink(f)
		return into(f, "", text, unix.O_CREAT|unix.O_EXCL)
	}},
}

// ring is what both sides of a duel see of its progress.
type ring struct {
	at, over *atomic.Int64
	bouts    *[20]bout // one per file
}

// bout is when each side of a duel was at a file, in nanoseconds since the machine started.
type bout struct {
	began, ended [2]atomic.Int64 // of the command and of the other writer
	failed       atomic.Int64    // the error number of the command
}

// fight lets one of the sides do its move and notes when it did.
func (b *bout) fight(side int, do func() error) {
	now := func() int64 {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
		return t.Nano()
	}
	b.began[side].Store(now())
	var errno unix.Errno
	if err := do(); side == 0 && errors.As(err, &errno) {
		b.failed.Store(int64(errno))
	}
	b.ended[side].Store(now())
}

// crossed reports whether both were at the file at the same time.
func (b *bout) crossed() bool {
	return b.began[0].Load() <= b.ended[1].Load() && b.began[1].Load() <= b.ended[0].Load()
}

func newRing(p string) (ring, error) {
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return ring{}, err
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		return ring{}, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return ring{}, err
	}
	return ring{(*atomic.Int64)(unsafe.Pointer(&m[0])), (*atomic.Int64)(unsafe.Pointer(&m[64])),
		(*[20]bout)(unsafe.Pointer(&m[128]))}, nil
}

// linger spends a while of at most most.
func linger(r *rand.Rand, most time.Duration) {
	for end := time.Now().Add(time.Duration(r.Int64N(int64(most)))); time.Now().Before(end); {
	}
}

// style is how a duel is fought besides.
type style int

const (
	plain  style = iota
	linked       // each file has two names, and the command uses the other one of every second file
	cut          // what the command did is collected all the time
	apart        // each file has two names in two directories, and each side uses its own
	late         // the helper is stopped again and again; every second file is as with apart
	styles
)

// names of a file, for the command and for the other writer.
func (y style) names(i int) (own, other string) {
	other = fmt.Sprintf("f%d", i)
	switch own = other; {
	case y == linked && i%2 == 1:
		own += ".too"
	case y == apart, y == late && i%2 == 1:
		other = "apart/" + own
	}
	return own, other
}

// duel is the command's side: attack number k on files 0 to n-1.
func duel(args string) int {
	var k, n int
	var seed uint64
	var y style
	var at string
	if _, err := fmt.Sscan(args, &k, &n, &seed, &y, &at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ring, err := newRing(at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range n {
		ring.at.Store(int64(i + 1))
		linger(r, 60*time.Microsecond)
		own, _ := y.names(i)
		ring.bouts[i].fight(0, func() error {
			return attacks[k].do(own, fmt.Sprintf("C%d.", i), func() { linger(r, 200*time.Microsecond) })
		})
		linger(r, 60*time.Microsecond)
	}
	ring.over.Store(1)
	return 0
}

// outcome is what became of duels.
type outcome struct {
	files, doubts int
	lost          []string // of which undo would take something that the other writer wrote
	same          int      // of which it would, and of which nobody can tell who made it
}

// duelled plays one duel: attack number k against reply number m.
func (s *stage) duelled(k, m, n int, seed uint64, y style, sum *outcome) {
	s.Helper()
	s.empty()
	for i := range n {
		own, other := y.names(i)
		s.write(other, fmt.Sprintf("file %d\n", i))
		if y == linked {
			own = other + ".too"
		}
		if own != other {
			if err := os.Link(filepath.Join(s.root, other), filepath.Join(s.root, own)); err != nil {
				s.Fatal(err)
			}
		}
	}
	p := filepath.Join(s.home, "ring")
	_ = os.Remove(p)
	ring, err := newRing(p)
	if err != nil {
		s.Fatal(err)
	}
	x, cmd := s.beginDuel(fmt.Sprintf("%d %d %d %d %s", k, n, seed, y, p))
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		r := rand.New(rand.NewPCG(seed, 4))
		for i := range n {
			for ring.at.Load() < int64(i+1) && ring.over.Load() == 0 {
			}
			linger(r, 300*time.Microsecond)
			_, other := y.names(i)
			ring.bouts[i].fight(1, func() error {
				return replies[m].do(filepath.Join(s.root, other), fmt.Sprintf("W%d.", i), func() { linger(r, 200*time.Microsecond) })
			})
		}
	})
	var reports []witness.Report
	wg.Go(func() {
		for y == cut && ring.over.Load() == 0 {
			time.Sleep(2 * time.Millisecond)
			if err := x.Collect(func(r witness.Report) { reports = append(reports, r) }); err != nil {
				s.Error(err)
			}
		}
	})
	if y == late {
		wg.Go(func() { s.delays(rand.New(rand.NewPCG(seed, 5)), func() bool { return ring.over.Load() != 0 }) })
	}
	_ = cmd.Wait()
	ring.over.Store(1)
	wg.Wait()
	reports = append(reports, s.end(x))
	after := snap(s, s.root)
	back := after
	for _, r := range slices.Backward(reports) {
		back = undone(back, s.root, r)
		for _, part := range r.Parts {
			if part.Certainty != ledger.Proven {
				sum.doubts += len(part.Set)
			}
		}
	}
	sum.files += n
	for i := range n {
		mark := fmt.Sprintf("W%d.", i)
		if holds(after, i, mark) && !holds(back, i, mark) {
			_, other := y.names(i)
			if sameInstant(attacks[k].name, replies[m].name, &ring.bouts[i]) {
				sum.same++
				continue
			}
			sum.lost = append(sum.lost, other+":\n"+toldOf(reports, filepath.Join(s.root, other)))
		}
	}
}

// delays stops the helper again and again, until it is over.
func (s *stage) delays(r *rand.Rand, over func() bool) {
	pids := s.helpers()
	for !over() {
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
			for _, pid := range pids {
				_ = unix.Kill(pid, sig)
			}
			time.Sleep(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
		}
	}
}

// holds reports whether one of the names of a file has a mark.
func holds(s snapshot, i int, mark string) bool {
	_, other := plain.names(i)
	for name, text := range s {
		name = strings.TrimPrefix(name, "apart/")
		if (name == other || strings.HasPrefix(name, other+".")) && strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

func toldOf(reports []witness.Report, name string) string {
	var b strings.Builder
	for i, r := range reports {
		for _, p := range r.Parts {
			for _, c := range p.Set {
				if c.Path == name || strings.HasPrefix(c.Path, name+".") {
					fmt.Fprintf(&b, "  %d %s %s: %s > %s\n", i, p.Certainty, filepath.Base(c.Path), shown(c.Pre), shown(c.Post))
				}
			}
		}
	}
	return b.String()
}

func (s *stage) empty() {
	s.Helper()
	entries, err := os.ReadDir(s.root)
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range entries {
		unlock(filepath.Join(s.root, e.Name()))
		if err := os.RemoveAll(filepath.Join(s.root, e.Name())); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *stage) beginDuel(args string) (*witness.Watch, *exec.Cmd) {
	s.Helper()
	x, cmd, _, box := s.startProgram([]string{exe()}, []string{"KERF_TEST_DUEL=" + args})
	s.boxes = append(s.boxes, func() { box.Close() })
	return x, cmd
}

// sameName are the duels in which both may make the same name.
var sameName = map[string][]string{"anew": {"write anew or make", "unlink and make"}, "make": {"make"},
	"anew in place": {"write anew or make", "unlink and make"}}

// sameInstant reports whether both made the same name in the same instant, so that nobody can tell
// who made it, see doc/undo.md: the call of a command that wants to make it then fails.
func sameInstant(attack, reply string, b *bout) bool {
	return slices.Contains(sameName[attack], reply) && b.crossed() &&
		(attack == "anew in place" || unix.Errno(b.failed.Load()) == unix.EEXIST)
}

// TestDuels plays each thing that commands do against each thing that others do to the same file
// at the same time. Whatever of it is proven, undo of it takes nothing of what the other wrote.
// KERF_DUELS is how often each is played, KERF_DUEL a part of the names of those that are; without
// both, and without KERF_LONG, one of several is.
func TestDuels(t *testing.T) {
	long.Slow(t)
	const n = 20
	rounds, only := 0, os.Getenv("KERF_DUEL")
	if s := os.Getenv("KERF_DUELS"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	one := 1
	if rounds == 0 && only == "" {
		one = plays(1, 1, 5, 23)
	}
	s := newStage(t)
	var all outcome
	for k, a := range attacks {
		for m, b := range replies {
			name := a.name + "/" + b.name
			if only != "" && !strings.Contains(name, only) || (k*len(replies)+m)%one != 0 {
				continue
			}
			var sum outcome
			if rounds == 0 { // each in one style
				s.duelled(k, m, n, 1, style(k+2*m)%styles, &sum)
			}
			for round := range rounds {
				s.duelled(k, m, n, uint64(round), style(round)%styles, &sum)
			}
			all.files, all.doubts = all.files+sum.files, all.doubts+sum.doubts
			if sum.same > 0 {
				t.Logf("%s: %d of %d files were made by both at once", name, sum.same, sum.files)
			}
			if len(sum.lost) > 0 {
				t.Errorf("%s: of %d of %d files undo takes what the other wrote:\n%s", name, len(sum.lost), sum.files,
					strings.Join(sum.lost[:min(3, len(sum.lost))], "\n"))
			}
		}
	}
	t.Logf("%d files, %d changes in doubt", all.files, all.doubts)
}
