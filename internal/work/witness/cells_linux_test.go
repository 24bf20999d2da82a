package witness_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/halting"
)

// moment is when another hand acts beside a call of a command.
type moment int

const (
	noticed moment = iota // the kernel holds the call, and nothing was looked at
	kept                  // what the names held is kept, and the call did not go on yet
	open                  // the command has the file open, and did not write yet
	after                 // the call is over
)

func (m moment) String() string { return [...]string{"noticed", "kept", "open", "after"}[m] }

// cell is one call of a command with one thing that another hand does to its names. All happens in
// a directory of its own, which holds f and g, files with one line, e, an empty directory, and s, a
// directory with a file x. n is not there. For replace there is a file ready, too.
type cell struct {
	call, act string
	at        moment
	dir       string
}

func (c cell) String() string { return c.call + " / " + c.act + " / " + c.at.String() }

const text = "COMMAND.\n"

// use opens a file, waits and writes to it.
func use(name string, flags int, wait func()) error {
	return opened(name, flags, func(fd int) error {
		wait()
		_, err := unix.Write(fd, []byte(text))
		return err
	})
}

// heldCalls are the calls that are held, in the directory of a cell. Each makes one that changes a name.
var heldCalls = map[string]func(wait func()) error{
	"make":               func(wait func()) error { return use("n", unix.O_WRONLY|unix.O_CREAT, wait) },
	"make, if not":       func(wait func()) error { return use("n", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, wait) },
	"empty":              func(wait func()) error { return use("f", unix.O_WRONLY|unix.O_TRUNC, wait) },
	"empty or make":      func(wait func()) error { return use("f", unix.O_WRONLY|unix.O_TRUNC|unix.O_CREAT, wait) },
	"append":             func(wait func()) error { return use("f", unix.O_WRONLY|unix.O_APPEND, wait) },
	"write over":         func(wait func()) error { return use("f", unix.O_RDWR, wait) },
	"rename":             func(func()) error { return unix.Rename("f", "n") },
	"rename over":        func(func()) error { return unix.Rename("f", "g") },
	"replace":            func(func()) error { return unix.Rename("ready", "f") },
	"rename a directory": func(func()) error { return unix.Rename("s", "n") },
	"exchange": func(func()) error {
		return unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "g", unix.RENAME_EXCHANGE)
	},
	"link":                    func(func()) error { return unix.Link("f", "n") },
	"symbolic link":           func(func()) error { return unix.Symlink("nowhere", "n") },
	"unlink":                  func(func()) error { return unix.Unlink("f") },
	"make directory":          func(func()) error { return unix.Mkdir("n", 0o755) },
	"rmdir":                   func(func()) error { return unix.Rmdir("e") },
	"rename over a directory": func(func()) error { return unix.Rename("s", "e") },
	"exchange directories": func(func()) error {
		return unix.Renameat2(unix.AT_FDCWD, "s", unix.AT_FDCWD, "e", unix.RENAME_EXCHANGE)
	},
	"append in s": func(wait func()) error { return use("s/x", unix.O_WRONLY|unix.O_APPEND, wait) },
	"make in s":   func(wait func()) error { return use("s/y", unix.O_WRONLY|unix.O_CREAT, wait) },
	"unlink in s": func(func()) error { return unix.Unlink("s/x") },
	"truncate":    func(func()) error { return unix.Truncate("f", 3) },
	"chmod":       func(func()) error { return unix.Chmod("f", 0o600) },
	"make in what is not there": func(wait func()) error {
		return use("n/x", unix.O_WRONLY|unix.O_CREAT, wait)
	},
}

// acts are what the other hand does. Its mark is in all that it writes.
var acts = map[string]func(mark string) error{
	"append":  func(mark string) error { return opened("f", unix.O_WRONLY|unix.O_APPEND, writes(mark)) },
	"rewrite": func(mark string) error { return opened("f", unix.O_WRONLY|unix.O_TRUNC, writes(mark)) },
	"replace": func(mark string) error {
		if err := os.WriteFile("f.swp", []byte(mark), 0o644); err != nil {
			return err
		}
		return unix.Rename("f.swp", "f")
	},
	"remove":        func(string) error { return unix.Unlink("f") },
	"move away":     func(string) error { return unix.Rename("f", "away") },
	"chmod":         func(string) error { return unix.Chmod("f", 0o640) },
	"append to g":   func(mark string) error { return opened("g", unix.O_WRONLY|unix.O_APPEND, writes(mark)) },
	"append to n":   func(mark string) error { return opened("n", unix.O_WRONLY|unix.O_APPEND, writes(mark)) },
	"append to s/x": func(mark string) error { return opened("s/x", unix.O_WRONLY|unix.O_APPEND, writes(mark)) },
	"make n":        func(mark string) error { return opened("n", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, writes(mark)) },
	"move to n": func(mark string) error {
		if err := os.WriteFile("n.swp", []byte(mark), 0o644); err != nil {
			return err
		}
		return unix.Rename("n.swp", "n")
	},
	"remove n":     func(string) error { return unix.Unlink("n") },
	"directory n":  func(string) error { return unix.Mkdir("n", 0o755) },
	"n leads to s": func(string) error { return unix.Symlink("s", "n") },
	"remove s/x":   func(string) error { return unix.Unlink("s/x") },
	"replace g": func(mark string) error {
		if err := os.WriteFile("g.swp", []byte(mark), 0o644); err != nil {
			return err
		}
		return unix.Rename("g.swp", "g")
	},
	"remove e": func(string) error { return unix.Rmdir("e") },
	"file for e": func(mark string) error {
		if err := unix.Rmdir("e"); err != nil {
			return err
		}
		return os.WriteFile("e", []byte(mark), 0o644)
	},
	"replace s": func(mark string) error {
		if err := unix.Rename("s", "s.old"); err != nil {
			return err
		}
		if err := unix.Mkdir("s", 0o755); err != nil {
			return err
		}
		return os.WriteFile("s/x", []byte(mark), 0o644)
	},
	"exchange s and e": func(string) error {
		return unix.Renameat2(unix.AT_FDCWD, "s", unix.AT_FDCWD, "e", unix.RENAME_EXCHANGE)
	},
	"make s/y": func(mark string) error {
		return opened("s/y", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, writes(mark))
	},
	"replace the directory": func(mark string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := unix.Rename(dir, dir+".moved"); err != nil {
			return err
		}
		if err := unix.Mkdir(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(dir+"/f", []byte(mark), 0o644)
	},
	"fill e": func(mark string) error { return os.WriteFile("e/y", []byte(mark), 0o644) },
	"link and append": func(mark string) error {
		if err := unix.Link("f", "too"); err != nil {
			return err
		}
		return opened("too", unix.O_WRONLY|unix.O_APPEND, writes(mark))
	},
	"move the directory": func(string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		return unix.Rename(dir, dir+".moved")
	},
}

// writing are the calls that leave a file open.
var writing = []string{"append in s", "make in s", "make", "make, if not", "empty", "empty or make", "append", "write over"}

// sameMoment are the cells in which both do the same to one name, so that the command's call fails:
// nobody can tell who did it. See doc/undo.md.
var sameMoment = map[string]string{
	"make, if not / make n / kept":                      "both make a file",
	"make / n leads to s / kept":                        "both make the name",
	"make, if not / n leads to s / kept":                "both make the name",
	"link / n leads to s / kept":                        "both make the name",
	"symbolic link / n leads to s / kept":               "both make a link",
	"make directory / directory n / kept":               "both make a directory",
	"rename over a directory / exchange s and e / kept": "both move it there",
	"unlink / remove / kept":                            "both remove it",
	"unlink in s / remove s/x / kept":                   "both remove it",
	"rmdir / remove e / kept":                           "both remove it",
}

// cells are all of them, or one of several.
func cells() (list []cell) {
	n := 0
	for _, call := range sorted(heldCalls) {
		for _, act := range sorted(acts) {
			for at := noticed; at <= after; at++ {
				if n++; (at != open || slices.Contains(writing, call)) && n%plays(1, 1, 5, 23) == 0 {
					list = append(list, cell{call, act, at, fmt.Sprintf("c%d", len(list))})
				}
			}
		}
	}
	return list
}

func sorted[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// playCells is the command: it makes the calls one after the other, each when it is told to.
func playCells(at string) int {
	ring, err := newRing(at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	root, _ := os.Getwd()
	ring.at.Store(-1)
	for i, c := range cells() {
		for ring.over.Load() <= int64(3*i) {
			time.Sleep(20 * time.Microsecond)
		}
		err := os.Chdir(filepath.Join(root, c.dir))
		if err == nil {
			err = heldCalls[c.call](func() {
				ring.at.Store(int64(3*i + 1))
				for c.at == open && ring.over.Load() <= int64(3*i+1) {
					time.Sleep(20 * time.Microsecond)
				}
			})
		}
		if err != nil {
			fmt.Println(c.dir, err)
		}
		ring.at.Store(int64(3*i + 2))
	}
	return 0
}

// TestAnotherHandAtEachMomentOfACall lets somebody act on the names of a call at each of its
// moments: whatever is proven is the command's work alone, and an undo of it takes nothing of what
// the other wrote. What a call that failed is told to have done is nothing.
func TestAnotherHandAtEachMomentOfACall(t *testing.T) {
	meet := filepath.Join(t.TempDir(), "halt")
	t.Setenv(halting.Key, meet)
	s := newStage(t)
	point, err := halting.Map(meet)
	if err != nil {
		t.Fatal(err)
	}
	all := cells()
	for _, c := range all {
		for name, text := range map[string]string{"f": "f\n", "g": "g\n", "s/x": "x\n"} {
			s.write(c.dir+"/"+name, text)
		}
		if c.call == "replace" {
			s.write(c.dir+"/ready", text)
		}
		if err := os.Mkdir(filepath.Join(s.root, c.dir, "e"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(s.home, "ring")
	ring, err := newRing(at)
	if err != nil {
		t.Fatal(err)
	}
	x, cmd, out, box := s.startProgram([]string{exe()}, []string{"KERF_TEST_CELLS=" + at})
	wait := func(until func() bool) {
		for !until() && cmd.ProcessState == nil {
			time.Sleep(20 * time.Microsecond)
		}
	}
	did, reports := make([]error, len(all)), make([]witness.Report, len(all))
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chdir(here) }()
	for i, c := range all {
		act := func() {
			if did[i] = os.Chdir(filepath.Join(s.root, c.dir)); did[i] == nil {
				did[i] = acts[c.act](c.mark())
			}
		}
		begin := func() { ring.over.Store(int64(3*i + 1)) }
		over := func() bool { return ring.at.Load() == int64(3*i+2) }
		switch c.at {
		case noticed:
			point.At(halting.Noticed, begin, act)
		case kept:
			point.At(halting.Kept, begin, act)
		case open:
			begin()
			wait(func() bool { return ring.at.Load() == int64(3*i+1) || over() })
			act()
			ring.over.Store(int64(3*i + 2))
		case after:
			begin()
			wait(over)
			act()
		}
		wait(over)
		if err := x.Collect(func(r witness.Report) { reports[i] = r }); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	box.Close()
	if last := s.end(x); len(last.Parts) > 0 {
		t.Errorf("told at the end:\n%s", told([]witness.Report{last}))
	}
	s.judgeCells(all, did, out, reports)
}

func (c cell) mark() string { return "W" + c.dir[1:] + "-1.\n" }

// judgeCells tells what is claimed wrongly of cells.
func (s *stage) judgeCells(all []cell, did []error, out *bytes.Buffer, reports []witness.Report) {
	s.Helper()
	now := snap(s, s.root)
	back := now
	for _, r := range slices.Backward(reports) {
		back = undone(back, s.root, r)
	}
	failed := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if dir, why, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			failed[dir] = why
		}
	}
	wrong, acted := 0, 0
	for i, c := range all {
		if did[i] != nil {
			continue // it had come to nothing
		}
		acted++
		r := reports[i]
		var faults []string
		if mark := strings.TrimSpace(c.mark()); holdsMark(now, c, mark) && !holdsMark(back, c, mark) {
			faults = append(faults, "undo takes what the other wrote")
		}
		if failed[c.dir] == "" && holdsMark(now, c, "COMMAND") && toldIn(r, filepath.Join(s.root, c.dir)) == "" {
			faults = append(faults, "nothing is told of what the command wrote")
		}
		faults = append(faults, s.claimed(c, failed[c.dir], r)...)
		if len(faults) == 0 {
			continue
		}
		wrong++
		if sameMoment[c.String()] == "" {
			s.Errorf("%v: %v (%s)\n%s", c, faults, failed[c.dir], toldIn(r, filepath.Join(s.root, c.dir)))
		}
	}
	s.Logf("%d cells in which another hand acted, %d that cannot be told apart", acted, wrong)
}

func holdsMark(s snapshot, c cell, mark string) bool {
	for name, text := range s {
		if (strings.HasPrefix(name, c.dir+"/") || strings.HasPrefix(name, c.dir+".moved/")) && strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// claimed tells what proven changes of a cell are not the command's.
func (s *stage) claimed(c cell, failed string, r witness.Report) (faults []string) {
	mark := strings.TrimSpace(c.mark())
	has := func(i *delta.Image) bool { return i != nil && strings.Contains(string(i.Data), mark) }
	dir := filepath.Join(s.root, c.dir) + "/"
	for _, p := range r.Parts {
		if p.Certainty != ledger.Proven {
			continue
		}
		had := slices.ContainsFunc(p.Set, func(x delta.Change) bool { return strings.HasPrefix(x.Path, dir) && has(x.Pre) })
		changed := slices.ContainsFunc(p.Set, func(x delta.Change) bool {
			return strings.HasPrefix(x.Path, dir) && x.Pre != nil && x.Pre.Mode == 0o640 // before the call was looked at
		})
		for _, x := range p.Set {
			name, in := strings.CutPrefix(x.Path, dir)
			switch {
			case !in:
			case failed != "":
				faults = append(faults, fmt.Sprintf("the call failed, and %s is told as changed", name))
			case c.call == "link" && c.at == noticed: // the new name is the command's, and the file is as it was
			case has(x.Post) && !has(x.Pre) && !had:
				faults = append(faults, "what the other wrote to "+name+" is laid to the command")
			case c.act == "chmod" && x.Post != nil && x.Post.Mode == 0o640 && !changed:
				faults = append(faults, "permissions of "+name+" that the other gave are laid to the command")
			}
		}
		for _, d := range p.Dirs {
			if name, in := strings.CutPrefix(string(d), dir); in && failed != "" {
				faults = append(faults, fmt.Sprintf("the call failed, and directory %s is told as made", name))
			}
		}
		for _, d := range p.Gone {
			if name, in := strings.CutPrefix(string(d.Path), dir); in && failed != "" {
				faults = append(faults, fmt.Sprintf("the call failed, and directory %s is told as removed", name))
			}
		}
	}
	return faults
}

func toldIn(r witness.Report, dir string) string {
	var b strings.Builder
	for _, line := range strings.Split(told([]witness.Report{r}), "\n") {
		if strings.Contains(line, dir+"/") || strings.Contains(line, dir+".moved/") {
			b.WriteString("  " + strings.ReplaceAll(line, dir, "") + "\n")
		}
	}
	return b.String()
}
