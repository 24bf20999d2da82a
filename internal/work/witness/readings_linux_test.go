package witness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
)

// states are what a command may have done with a file, and have open, when that is collected. The
// last call of a thread is taken to be under way until its next one: "read" and "exec" with <fifo
// make none that is held.
var states = []struct{ name, line, file string }{
	{"open", "exec 3>>a; printf C. >&3", "a"},
	{"open, and more", "exec 3>>a; printf C. >&3; : > x", "a"},
	{"open to write over", "exec 3<>a; printf C. >&3", "a"},
	{"open twice", "exec 3>>a; exec 4>>a; printf C. >&3; : > x", "a"},
	{"open and inherited", "exec 3>>a; printf C. >&3; sleep 60 & : > x", "a"},
	{"opened again", "exec 3>>a; printf C. >&3; exec 3>&-; : > x; exec 3>>a", "a"},
	{"closed", "printf C. >> a", "a"},
	{"closed, and more", "printf C. >> a; : > x", "a"},
	{"made, open", "exec 3>n; printf C. >&3; : > x", "n"},
	{"made, closed", "printf C. > n", "n"},
	{"one name of two, open", "exec 3>>h; printf C. >&3; : > x", "h"},
	{"one name of two, closed", "printf C. >> h", "h"},
	{"another name of two, open", "exec 3>>d/h; printf C. >&3; : > x", "h"},
	{"moved, open", "exec 3>>a; printf C. >&3; mv a m; : > x", "m"},
	{"moved, closed", "printf C. >> a; mv a m", "m"},
	{"linked, open", "exec 3>>a; printf C. >&3; ln a n; : > x", "n"},
	{"large, open", "exec 3>>l; printf C. >&3; : > x", "l"},
	{"large, closed", "printf C. >> l", "l"},
	{"emptied, open", "exec 3>a; printf C. >&3; : > x", "a"},
}

// hands are what another program does with such a file. It returns what it does once all was
// collected.
var hands = []struct {
	name string
	do   func(f string) (end func() error, err error)
}{
	{"nothing", func(string) (func() error, error) { return nil, nil }},
	{"write", func(f string) (func() error, error) {
		return nil, opened(f, unix.O_WRONLY|unix.O_APPEND, writes("W."))
	}},
	{"write, and stay", func(f string) (func() error, error) {
		fd, err := unix.Open(f, unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
		if err == nil {
			err = writes("W.")(fd)
		}
		return func() error { return unix.Close(fd) }, err
	}},
	{"map, and stay", func(f string) (func() error, error) {
		var mem []byte
		err := opened(f, unix.O_RDWR, func(fd int) (err error) {
			mem, err = unix.Mmap(fd, 0, 2, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		})
		if err == nil {
			copy(mem, "W.")
		}
		return func() error { return unix.Munmap(mem) }, err
	}},
	{"read", func(f string) (func() error, error) {
		fd, err := unix.Open(f, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return func() error { return unix.Close(fd) }, err
	}},
	{"replace", func(f string) (func() error, error) {
		err := into(f+".swp", f, "W.", unix.O_CREAT|unix.O_EXCL)
		if err == nil {
			err = unix.Rename(f+".swp", f)
		}
		return nil, err
	}},
}

const (
	beforeAll = witness.Moment(-1) // while the command runs
	first     = witness.Moment(-2) // before the command begins; it writes while it runs
)

// TestAnotherHandAtEachMomentOfACollection lets somebody act on a file while what a command did with
// it is collected, at each moment of that: what is proven is the command's alone, undo of it takes
// nothing of what the other wrote, and where nobody wrote there is no doubt.
func TestAnotherHandAtEachMomentOfACollection(t *testing.T) {
	long.Slow(t)
	for i, where := range []string{"full", "sandbox"} {
		t.Run(where, func(t *testing.T) {
			s := newStage(t)
			s.full = where == "full"
			s.collections(i)
		})
	}
}

// collections plays all collections, or one of several, beginning with the one with a number.
func (s *stage) collections(n int) {
	s.Helper()
	for _, state := range states {
		for _, hand := range hands {
			for _, at := range []witness.Moment{first, beforeAll, witness.ToLook, witness.Looked, witness.WasRead, witness.WasSeen} {
				if n++; n%plays(1, 1, 8, 41) != 0 {
					continue
				}
				name := fmt.Sprintf("%s/%s/%d", state.name, hand.name, at)
				switch {
				case hand.name == "nothing" && at != beforeAll,
					at == first && !strings.HasSuffix(hand.name, "stay") && hand.name != "read",
					at == first && strings.HasPrefix(state.name, "made"):
					continue
				}
				if fault := s.collects(state.line, state.file, hand.do, at, hand.name == "nothing" || hand.name == "read"); fault != "" {
					s.Errorf("%s: %s", name, fault)
				}
			}
		}
	}
}

// collects plays one collection, and tells what is wrong with it.
func (s *stage) collects(line, file string, hand func(string) (func() error, error), at witness.Moment, alone bool) string {
	s.Helper()
	s.empty()
	s.write("a", "a\n")
	s.write("h", "h\n")
	s.write("l", strings.Repeat("large\n", 20_000))
	if err := os.Mkdir(filepath.Join(s.root, "d"), 0o755); err != nil {
		s.Fatal(err)
	}
	fifo := filepath.Join(s.root, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		s.Fatal(err)
	}
	if err := os.Link(filepath.Join(s.root, "h"), filepath.Join(s.root, "d/h")); err != nil {
		s.Fatal(err)
	}
	var end func() error
	act := func() {
		f := filepath.Join(s.root, file)
		if at == first && file != "l" && file != "h" {
			f = filepath.Join(s.root, "a") // where it is yet
		}
		var err error
		if end, err = hand(f); err != nil {
			s.Fatal(err)
		}
	}
	if at == first {
		act()
	}
	x, cmd, out, box := s.start(line + "; read line < go; kill $! 2>/dev/null; exec 3>&-")
	s.boxes = append(s.boxes, func() { box.Close() })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ready := -1
	for err := error(unix.ENXIO); err != nil; time.Sleep(100 * time.Microsecond) { // until somebody reads it
		if ready, err = unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil && len(ended) > 0 {
			s.Fatalf("the command ended early: %v %s", <-ended, out)
		}
	}
	defer unix.Close(ready)
	if at == beforeAll {
		act()
	}
	x.At(func(m witness.Moment) {
		if m == at {
			act()
		}
	})
	var reports []witness.Report
	if err := x.Collect(func(r witness.Report) { reports = append(reports, r) }); err != nil {
		s.Fatal(err)
	}
	x.At(nil)
	if end != nil {
		if err := end(); err != nil {
			s.Fatal(err)
		}
	}
	if err := writes("go\n")(ready); err != nil {
		s.Fatal(err)
	}
	if err := <-ended; err != nil {
		s.Fatalf("%v %s", err, out)
	}
	reports = append(reports, s.end(x))
	doubts := func(r witness.Report) bool {
		return len(r.Unsure()) > 0 || slices.ContainsFunc(r.Parts, func(p witness.Part) bool { return p.Certainty != ledger.Proven })
	}
	if alone {
		if slices.ContainsFunc(reports, doubts) {
			return "nobody else wrote, yet\n" + told(reports)
		}
		return ""
	}
	after := snap(s, s.root)
	back := after
	for _, r := range slices.Backward(reports) {
		back = undone(back, s.root, r)
	}
	const mark = "W."
	held := func(s snapshot) bool {
		for name, text := range s {
			if name != "x" && strings.Contains(text, mark) {
				return true
			}
		}
		return false
	}
	if held(after) && !held(back) {
		return "undo takes what the other wrote\n" + told(reports)
	}
	for _, r := range reports {
		for _, p := range r.Parts {
			for _, c := range p.Set {
				if p.Certainty == ledger.Proven && strings.Contains(shown(c.Post), mark) && !strings.Contains(shown(c.Pre), mark) {
					return "what the other wrote is laid to the command\n" + told(reports)
				}
			}
		}
	}
	return ""
}
