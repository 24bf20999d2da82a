package witness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the command that is witnessed: it carries out deeds.
func TestMain(m *testing.M) {
	if script := os.Getenv("KERF_TEST_DEEDS"); script != "" {
		os.Exit(perform(script))
	}
	if args := os.Getenv("KERF_TEST_DUEL"); args != "" {
		os.Exit(duel(args))
	}
	if at := os.Getenv("KERF_TEST_CELLS"); at != "" {
		os.Exit(playCells(at))
	}
	os.Exit(m.Run())
}

// deed is one step of a command: a call with its arguments.
type deed struct {
	Do   string
	A, B string // names, relative to the tree
	Text string
	N    int // a descriptor's number, or a mode
}

// play is what a command does: each list by a process or a thread of its own.
type play struct {
	Root    string
	Threads bool // and not processes
	Lists   [][]deed
}

// done is what became of a deed, told on the output of the command.
type done struct {
	List, Step int
	Error      string `json:",omitempty"`
}

// perform is the command. It tells what each deed came to.
func perform(script string) int {
	b, err := os.ReadFile(script)
	var p play
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil {
		err = os.Chdir(p.Root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if one := os.Getenv("KERF_TEST_LIST"); one != "" {
		var i int
		_, _ = fmt.Sscan(one, &i)
		newActor(i).all(p.Lists[i])
		return 0
	}
	if os.Getenv("KERF_TEST_MEETINGS") != "" {
		meetings() // before there is a last call of a list
	}
	var wg sync.WaitGroup
	for i := range p.Lists {
		wg.Go(func() {
			runtime.LockOSThread()
			if p.Threads || len(p.Lists) == 1 {
				newActor(i).all(p.Lists[i])
				return
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), fmt.Sprint("KERF_TEST_LIST=", i))
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			_ = cmd.Run()
		})
	}
	wg.Wait()
	return 0
}

// actor carries out one list of deeds.
type actor struct {
	list int
	fds  map[int]int
	dir  int // where names begin
}

func newActor(list int) *actor { return &actor{list: list, fds: map[int]int{}, dir: unix.AT_FDCWD} }

func (a *actor) all(list []deed) {
	for i, d := range list {
		r := done{List: a.list, Step: i}
		if err := a.one(d); err != nil {
			r.Error = err.Error()
		}
		b, _ := json.Marshal(r)
		_, _ = os.Stdout.Write(append(b, '\n'))
	}
}

func (a *actor) put(fd int, err error, text string) error {
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

func (a *actor) one(d deed) error {
	name := d.A
	open := func(flags int) (int, error) { return unix.Openat(a.dir, name, flags|unix.O_CLOEXEC, 0o644) }
	fd := func() int {
		if f, ok := a.fds[d.N]; ok {
			return f
		}
		return -1
	}
	switch d.Do {
	case "write":
		f, err := open(unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC)
		return a.put(f, err, d.Text)
	case "append":
		f, err := open(unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND)
		return a.put(f, err, d.Text)
	case "over": // what is there, from its beginning
		f, err := open(unix.O_RDWR)
		return a.put(f, err, d.Text)
	case "exclusive":
		f, err := open(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL)
		return a.put(f, err, d.Text)
	case "cut":
		f, err := open(unix.O_RDONLY | unix.O_TRUNC)
		return a.put(f, err, "")
	case "unlink":
		return unix.Unlinkat(a.dir, name, 0)
	case "rmdir":
		return unix.Unlinkat(a.dir, name, unix.AT_REMOVEDIR)
	case "remove":
		return os.RemoveAll(name)
	case "rename":
		return unix.Renameat(a.dir, name, a.dir, d.B)
	case "noreplace":
		return unix.Renameat2(a.dir, name, a.dir, d.B, unix.RENAME_NOREPLACE)
	case "exchange":
		return unix.Renameat2(a.dir, name, a.dir, d.B, unix.RENAME_EXCHANGE)
	case "mkdir":
		return unix.Mkdirat(a.dir, name, 0o755)
	case "link":
		return unix.Linkat(a.dir, name, a.dir, d.B, 0)
	case "linkfd": // by way of /proc, as for files without a name
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd()), a.dir, d.B, unix.AT_SYMLINK_FOLLOW)
	case "reopen": // what is open, and may have no name any more
		f, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd()), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		return a.put(f, err, d.Text)
	case "symlink":
		return unix.Symlinkat(d.B, a.dir, name)
	case "truncate":
		return unix.Truncate(name, int64(d.N))
	case "chmod":
		return unix.Fchmodat(a.dir, name, uint32(d.N), 0)
	case "nameless":
		f, err := unix.Openat(a.dir, name, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		defer unix.Close(f)
		if _, err := unix.Write(f, []byte(d.Text)); err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f), a.dir, d.B, unix.AT_SYMLINK_FOLLOW)
	case "mapped":
		return a.mapped(name, d.Text)
	case "hold", "holdappend":
		flags := unix.O_RDWR | unix.O_CREAT
		if d.Do == "holdappend" {
			flags = unix.O_WRONLY | unix.O_APPEND
		}
		f, err := open(flags)
		if err != nil {
			return err
		}
		if old, ok := a.fds[d.N]; ok {
			unix.Close(old)
		}
		a.fds[d.N] = f
		return nil
	case "release":
		f := fd()
		delete(a.fds, d.N)
		return unix.Close(f)
	case "put":
		_, err := unix.Write(fd(), []byte(d.Text))
		return err
	case "putat":
		_, err := unix.Pwrite(fd(), []byte(d.Text), 0)
		return err
	case "ftruncate":
		return unix.Ftruncate(fd(), int64(len(d.Text)))
	case "fallocate":
		return unix.Fallocate(fd(), unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, 0, 2)
	case "fchmod":
		return unix.Fchmod(fd(), 0o600)
	case "noappend":
		_, err := unix.FcntlInt(uintptr(fd()), unix.F_SETFL, 0)
		return err
	case "chdir":
		return os.Chdir(name)
	case "dir": // names begin at a descriptor from now on
		f, err := unix.Openat(a.dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			a.dir = f
		}
		return err
	case "meet": // all lists stop here until the test lets them go on
		meetings().wait(d.N)
		return nil
	case "sleep":
		time.Sleep(time.Duration(d.N) * time.Millisecond)
		return nil
	}
	return fmt.Errorf("no deed %q", d.Do)
}

// meeting is where the lists of a command and the test wait for each other.
type meeting struct {
	ring
	mu   sync.Mutex
	over *sync.Cond
}

var meetings = sync.OnceValue(func() *meeting {
	r, err := newRing(os.Getenv("KERF_TEST_MEETINGS"))
	if err != nil {
		panic(err)
	}
	m := &meeting{ring: r}
	m.over = sync.NewCond(&m.mu)
	go func() {
		for last := int64(0); ; time.Sleep(time.Millisecond) {
			if now := r.over.Load(); now != last {
				m.mu.Lock()
				last = now
				m.over.Broadcast()
				m.mu.Unlock()
			}
		}
	}()
	return m
})

// wait says that a list has come, and waits until the test lets those of this number go on.
func (m *meeting) wait(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.at.Add(1); m.ring.over.Load() < int64(n); {
		m.over.Wait()
	}
}

// mapped changes a file through a shared mapping, after it closed the descriptor.
func (a *actor) mapped(name, text string) error {
	f, err := unix.Openat(a.dir, name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(f, &st); err != nil || st.Size == 0 {
		unix.Close(f)
		return syscall.EINVAL
	}
	m, err := unix.Mmap(f, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	unix.Close(f)
	if err != nil {
		return err
	}
	copy(m, text)
	return unix.Munmap(m)
}
