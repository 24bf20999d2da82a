package others

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/supervise/content"
)

// Writers are those who have a file open for writing.
type Writers struct {
	Others bool // a process that is not of a witnessed command, which may have it only mapped
	Own    int  // how often commands have it open: descriptors that were handed on count once
	own    []descriptor
}

type descriptor struct{ pid, fd int }

// File is one that somebody has open for writing.
type File struct {
	ID      content.Inode
	Counted bool        // Writers tells of all that the command does with it
	Opened  bool        // the command ever opened it
	Unsure  bool        // what Writers tells of may be another file
	Writers func() int  // how often the command is thought to have it open
	Opening func() bool // the command may be opening it
	Doubt   func()      // leaves it in doubt whose what it holds is
	More    int         // how often the command has it open besides
	was     int
}

// lookups bounds how often files are looked up that are closed meanwhile, or that nobody has open.
const lookups = 8

// Undecided is Decide until nothing is left, or for so long that it is in doubt. list returns the files
// that somebody has open for writing, but for those that are in doubt.
func Undecided(proc int, threads func() []uint32, list func() []*File, drain func()) {
	for n := 0; ; n++ {
		drain()
		files := list()
		if n == lookups {
			for _, f := range files {
				f.Doubt()
			}
			return
		}
		if len(files) == 0 || len(Decide(proc, threads(), files, drain)) == 0 {
			return
		}
	}
}

// Decide lets files be in doubt that somebody else has open, or had: who closed one before is told, but
// was taken for the command, and then that has the file open more often than is left to it. What is left
// has to be asked about again: it was closed meanwhile, or nobody has it open for longer than a call.
// drain works through what is told.
func Decide(proc int, threads []uint32, files []*File, drain func()) (left []*File) {
	open := make(map[content.Inode]*Writers, len(files))
	for _, f := range files {
		open[f.ID], f.was = &Writers{}, f.Writers()
	}
	all := Find(proc, open, threads)
	drain()
	for _, f := range files {
		switch o, n := open[f.ID], f.Writers(); {
		case o.Others || !all:
			f.Doubt()
		case n != f.was:
			left = append(left, f)
		case f.Opening():
		case f.Counted && f.Opened && (o.Own > n || f.Unsure && o.Own < n):
			f.More = max(0, o.Own-n)
			f.Doubt()
		case f.Counted && o.Own == 0 && n == 0: // by who may not be asked, or a call is under way
			left = append(left, f)
		}
	}
	return left
}

// Write reports whether somebody else has a thing that is pinned open for writing, when the command has
// ended. Processes of the command that are ending are waited for, as long as asks is above 0.
func Write(proc int, t *content.Thing, asks *int, threads []uint32) bool {
	for t.BeingWritten() {
		open := &Writers{}
		all := Find(proc, map[content.Inode]*Writers{t.ID: open}, threads)
		if *asks--; open.Others || !all || *asks <= 0 {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// Find finds who has files open for writing. proc is /proc, open; threads are some of the command. A
// process whose descriptors this one may not read is not counted. It reports whether all others were
// asked: this process may have no descriptor left to do it.
func Find(proc int, files map[content.Inode]*Writers, threads []uint32) (all bool) {
	is := others(threads)
	asked := map[string]bool{}
	all = true
	for range 2 { // a process may hand a descriptor on to one that was not there yet, and end
		d, pids, err := list(proc, ".")
		all = all && err == nil
		d.Close() // of nil it does nothing
		for _, pid := range pids {
			if n, err := strconv.Atoi(pid); err == nil && !asked[pid] {
				asked[pid] = true
				all = find(proc, pid, files, is) && all
				tids, ok := apart(proc, n)
				for _, tid := range tids {
					ok = find(proc, tid, files, is) && ok
				}
				all = all && ok
			}
		}
	}
	return all
}

// apart finds the threads of a process that have other descriptors than its first: that may have ended before
// the others, or they have their own. It reports whether it could ask.
func apart(proc, pid int) (tids []string, asked bool) {
	task := strconv.Itoa(pid) + "/task"
	var st unix.Stat_t
	if unix.Fstatat(proc, task, &st, 0) == nil && st.Nlink == 3 { // itself, its name and one thread
		return nil, true
	}
	d, names, err := list(proc, task)
	if d == nil {
		return nil, !scarce(err)
	}
	defer d.Close()
	for _, name := range names {
		tid, _ := strconv.Atoi(name)
		const descriptors = 2 // KCMP_FILES
		r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(tid), descriptors, 0, 0, 0)
		if tid != pid && (r != 0 || errno != 0) {
			tids = append(tids, name)
		}
	}
	return tids, true
}

// list opens a directory below /proc and reads the names in it. The directory is nil with an error.
func list(proc int, name string) (*os.File, []string, error) {
	fd, err := unix.Openat(proc, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	d := os.NewFile(uintptr(fd), name)
	names, err := d.Readdirnames(-1)
	return d, names, err
}

// scarce reports whether an error is a lack of this process: it says nothing of what was asked about.
func scarce(err error) bool { return err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM }

// find adds what a process has open, and reports whether it could ask.
func find(proc int, pid string, files map[content.Inode]*Writers, is func(pid string) bool) (asked bool) {
	d, names, err := list(proc, pid+"/fd")
	if d == nil {
		return !scarce(err)
	}
	defer d.Close()
	dir := int(d.Fd())
	for _, fd := range names {
		var open content.Thing
		if open.Stat(dir, fd) != nil {
			continue
		}
		f := files[open.ID]
		if f == nil || !writes(pid, fd) {
			continue
		}
		if is(pid) {
			f.Others = true
		} else {
			f.add(pid, fd)
		}
	}
	return !is(pid) || maps(proc, pid, files, is) // a command could make that wait for it
}

// add counts a descriptor of a command, unless it is one that is counted.
func (f *Writers) add(pid, fd string) {
	var d descriptor
	d.pid, _ = strconv.Atoi(pid)
	d.fd, _ = strconv.Atoi(fd)
	for _, o := range f.own {
		const file = 0 // KCMP_FILE
		r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(o.pid), uintptr(d.pid), file, uintptr(o.fd), uintptr(d.fd), 0)
		if r == 0 || errno != 0 {
			return
		}
	}
	f.own = append(f.own, d)
	f.Own++
}

// writes reports whether a descriptor is open for writing, as far as that is known.
func writes(pid, fd string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/fdinfo/" + fd)
	_, rest, ok := bytes.Cut(text, []byte("flags:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, perr := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 64)
	return err == nil && (!ok || perr != nil || flags&unix.O_ACCMODE != unix.O_RDONLY && flags&unix.O_PATH == 0)
}

// maps finds the files that a process has mapped so that it can write them. It need not have them open
// any more. It reports whether it could ask.
func maps(proc int, pid string, files map[content.Inode]*Writers, is func(pid string) bool) (asked bool) {
	fd, err := unix.Openat(proc, pid+"/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return !scarce(err)
	}
	f := os.NewFile(uintptr(fd), pid)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); { // addresses, permissions, offset, device, inode, name
		_, line, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if len(line) < 4 || line[1] != 'w' || line[3] != 's' || bytes.HasSuffix(line, []byte(" (deleted)")) {
			continue
		}
		ino, _ := strconv.ParseUint(string(bytes.Fields(line)[3]), 10, 64)
		for id, w := range files { // some file systems show another device here
			w.Others = w.Others || id.Ino == ino && is(pid)
		}
	}
	return true
}

// others returns which processes are not of a command. Those of commands have a seccomp filter that
// this process does not have; those of one in a sandbox are in the namespace of its threads, or in one
// below. Of a command without a sandbox also those count that have a filter from elsewhere.
func others(threads []uint32) func(pid string) bool {
	own, _ := filters("self")
	spaces := map[content.Inode]bool{}
	here := space("self")
	for _, tid := range threads {
		if s := space(strconv.Itoa(int(tid))); s != here && s.Ino != 0 {
			spaces[s] = true
		}
	}
	return func(pid string) bool {
		n, ok := filters(pid)
		return ok && (n <= own || len(spaces) > 0 && !within(pid, spaces))
	}
}

// space is the namespace of the numbers of a process and of its children.
func space(pid string) content.Inode {
	var t content.Thing
	_ = t.Stat(unix.AT_FDCWD, "/proc/"+pid+"/ns/pid")
	return t.ID
}

// within reports whether the namespace of a process is one of those, or below one, or the process has ended.
func within(pid string, spaces map[content.Inode]bool) bool {
	fd, err := unix.Open("/proc/"+pid+"/ns/pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ESRCH {
		return true
	}
	for err == nil {
		var t content.Thing
		is := t.Stat(fd, "") == nil && spaces[t.ID]
		above := -1
		if !is {
			above, err = unix.IoctlRetInt(fd, unix.NS_GET_PARENT)
		}
		unix.Close(fd)
		if fd = above; is {
			return true
		}
	}
	return false
}

// filters is how many seccomp filters a process has; ok is false when it has ended.
func filters(pid string) (n int, ok bool) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	for line := range bytes.Lines(text) {
		if s, ok := bytes.CutPrefix(line, []byte("Seccomp_filters:")); ok {
			n, _ = strconv.Atoi(string(bytes.TrimSpace(s)))
		}
	}
	return n, err == nil
}
