package launch

import (
	"syscall"
	"unsafe"
)

const (
	// programFD is the descriptor on which the program is found.
	programFD = 3
	// unavailable is the exit code of a sandbox that could not be set up.
	unavailable = 125

	sysCloseRange  = 436 // the same on all kinds of machines
	closeOnExec    = 4
	wall           = 0x40000000
	setPdeathsig   = 1
	maxDescriptor  = 1<<32 - 1
	workingDir     = ^uintptr(99) // AT_FDCWD
	registerLimit  = 1 << 16
	blockAll       = 0 // SIG_BLOCK
	setMask        = 2 // SIG_SETMASK
	signalSetSize  = 8
	failedExecStep = 1<<32 - 1
	failedForkStep = 1<<32 - 2
	failedMarkStep = 1<<32 - 3
)

// The launcher has to be there before the other packages: their initialisation
// costs more than the rest of what it does, for each command again.
func init() {
	if yes, gate := called(); yes {
		syscall.Exit(run(gate))
	}
}

// called reports whether the first argument is Flag. The second one may be a digit: the
// descriptor from which the word to begin is read.
func called() (yes bool, gate int) {
	const flag = Flag + "\x00"
	fd, _ := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY, 0)
	defer syscall.Close(fd)
	var b [256]byte
	n, _ := syscall.Read(fd, b[:])
	for i := range max(n, 0) {
		if b[i] == 0 {
			rest := b[i+1 : n]
			if len(rest) < len(flag) || string(rest[:len(flag)]) != flag {
				return false, 0
			}
			if rest = rest[len(flag):]; len(rest) == 2 {
				gate = int(rest[0] - '0')
			}
			return true, gate
		}
	}
	return false, 0
}

// opened waits until the program is there, and reports whether it ever will be.
func opened(gate int) bool {
	var b [1]byte
	n, err := syscall.Read(gate, b[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(gate, b[:])
	}
	syscall.Close(gate)
	return n == 1
}

// state is all that the processes after the fork work with. It lies in memory that the launcher
// shares with the first process, which is made before its program is read: nothing in it may point
// to the memory of Go. The launcher reads none of it any more once the command began.
type state struct {
	head      header
	steps     []Step
	registers []uintptr
	paths     []*byte // where the command may be, in order
	argv, env []*byte
	mask      [signalSetSize]byte // of signals, as the launcher found it
	files     syscall.Rlimit
	program   uintptr // descriptor of the program, which the command does not get
	mark      [1]byte // written over its first byte, see Begun
	sync      [2]int  // the first process waits on it for its parent
	report    [2]int  // tells which step failed
	tell      report
	pid       uintptr
	failed    report
	free, end uintptr // what is left of the memory
}

// programLimit bounds a program, moreRoom what is kept beside it: the environment, and the places
// where the command may be. Pages that nothing is written to cost nothing.
const programLimit, moreRoom = 64 << 20, 32 << 20

// newState returns an empty state, or nil.
//
//go:nocheckptr
func newState() *state {
	room, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, programLimit+moreRoom, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED|syscall.MAP_ANON|syscall.MAP_NORESERVE, ^uintptr(0), 0)
	if errno != 0 {
		return nil
	}
	s := (*state)(at(room))
	s.free, s.end = (room+unsafe.Sizeof(*s)+7)&^7, room+programLimit+moreRoom
	return s
}

// take returns the address of n bytes, 0 when there is no room for them.
func (s *state) take(n int) uintptr {
	from := s.free
	if uintptr(n) > s.end-from { // a negative n is more than there is
		return 0
	}
	s.free = (from + uintptr(n) + 7) &^ 7 // not beyond the end, which is that of a page
	return from
}

// pointers returns an empty list with room for n, nil when there is none.
//
//go:noinline
//go:nocheckptr
func (s *state) pointers(n int) []*byte {
	from := s.take(n * 8)
	if from == 0 {
		return nil
	}
	return unsafe.Slice((**byte)(at(from)), n)[:0]
}

// keep copies a text, and ends it with a NUL. It returns nil when there is no room.
//
//go:noinline
//go:nocheckptr
func (s *state) keep(text string) *byte {
	from := s.take(len(text) + 1)
	if from == 0 {
		return nil
	}
	copy(unsafe.Slice((*byte)(at(from)), len(text)), text)
	return (*byte)(at(from))
}

// report says that a call failed: its step, and the error.
type report struct{ step, errno uint64 }

func run(gate int) int {
	s := newState()
	if s == nil || !s.begin() {
		return complain(unreadable, 0)
	}
	if syscall.Pipe2(s.sync[:], syscall.O_CLOEXEC) != nil || syscall.Pipe2(s.report[:], syscall.O_CLOEXEC) != nil {
		return complain("pipes cannot be created", 0)
	}
	// Go raised the limit of open files for itself and tells nobody what it was,
	// but sets it back before it executes something, be that nothing.
	_ = syscall.Exec("", []string{""}, nil)
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &s.files)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE,
		&syscall.Rlimit{Cur: s.files.Max, Max: s.files.Max}) // the list may need many
	all := [signalSetSize]byte{255, 255, 255, 255, 255, 255, 255, 255}
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, blockAll, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&s.mask)), signalSetSize, 0, 0)
	pid, report := 0, s.report[0]
	if s.head.Clone != 0 {
		var errno syscall.Errno
		if pid, errno = s.clone(); errno != 0 {
			return complain("namespaces cannot be made", errno)
		}
		ignoreSignals()
		syscall.Close(s.sync[0])
		syscall.Close(s.report[1])
	}
	if gate != 0 && !opened(gate) {
		return unavailable // nobody waits for it any more; the first process ends with this one
	}
	if !s.load() {
		return complain(unreadable, 0)
	}
	if pid == 0 {
		return s.become()
	}
	_, _ = syscall.Write(s.sync[1], []byte{1})
	code, failed := s.outcome(report)
	status := s.await(pid)
	if failed {
		return code
	}
	return status
}

const unreadable = "the sandbox program cannot be read"

// become runs the list and the command in this very process.
func (s *state) become() int {
	syscall.Close(s.sync[0])
	syscall.Close(s.sync[1])
	if !s.perform() {
		return s.explain(s.failed)
	}
	s.exec()
	return s.explain(s.failed)
}

// outcome reads whether everything up to the exec of the command worked.
func (s *state) outcome(from int) (code int, failed bool) {
	var r report
	b := (*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:]
	for {
		n, err := syscall.Read(from, b)
		if err == syscall.EINTR {
			continue
		}
		if n == len(b) {
			return s.explain(r), true
		}
		return 0, false
	}
}

//go:nocheckptr
func (s *state) explain(r report) int {
	errno := syscall.Errno(r.errno)
	switch r.step {
	case failedExecStep:
	case failedForkStep:
		return complain("there is no room for its process", errno)
	case failedMarkStep:
		return complain("that it begins cannot be told", errno)
	default:
		return complain(text((*byte)(at(uintptr(s.steps[r.step].Note)))), errno)
	}
	name := text(s.argv[0])
	if errno == syscall.ENOENT || errno == syscall.ENOTDIR {
		write("kerf: " + name + ": command not found\n")
		return 127
	}
	write("kerf: " + name + ": " + errno.Error() + "\n")
	return 126
}

func complain(what string, errno syscall.Errno) int {
	if errno != 0 {
		what += ": " + errno.Error()
	}
	write("kerf: " + NotSetUp + what + "\n")
	return unavailable
}

func write(line string) { _, _ = syscall.Write(2, []byte(line)) }

// await waits for the first process and returns the exit code it passes on.
func (s *state) await(pid int) int {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, wall, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return unavailable
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// ignoreSignals leaves Ctrl-C and its like to the command: the launcher ends
// when that does.
func ignoreSignals() {
	var ignore struct {
		handler  uintptr
		flags    uint64
		restorer uintptr
		mask     uint64
	}
	ignore.handler = 1 // SIG_IGN
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM,
		syscall.SIGTSTP, syscall.SIGPIPE} {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, signalSetSize, 0, 0)
	}
}

// begin takes hold of the program. Of one that is not made yet there is the header, in which no
// more is true than what it clones.
func (s *state) begin() bool {
	// At another place, since the command's own files may come to be where it is.
	kept, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, programFD, syscall.F_DUPFD_CLOEXEC, FirstFile)
	if errno != 0 {
		return false
	}
	syscall.Close(programFD)
	s.program, s.mark[0] = kept, Begun
	return s.header()
}

//go:noinline
//go:nocheckptr
func (s *state) header() bool {
	h := (*[headerSize]byte)(unsafe.Pointer(&s.head))[:]
	n, err := syscall.Pread(int(s.program), h, 0)
	return err == nil && n == len(h) && s.head.Magic == magic && s.head.Size <= programLimit &&
		s.head.Registers <= registerLimit
}

// load reads the program, puts addresses in the place of offsets, and gathers
// what the command is started with.
//
//go:nocheckptr
func (s *state) load() bool {
	cloned := s.head.Clone
	if !s.header() || s.head.Clone != cloned {
		return false
	}
	base, registers := s.take(int(s.head.Size)), s.take(int(s.head.Registers)*8)
	if base == 0 || registers == 0 {
		return false
	}
	blob := unsafe.Slice((*byte)(at(base)), s.head.Size)
	for done := 0; done < len(blob); {
		n, err := syscall.Pread(int(s.program), blob[done:], int64(done))
		if err != nil || n <= 0 {
			return false
		}
		done += n
	}
	for _, position := range unsafe.Slice((*uint64)(at(base+uintptr(s.head.Pointers))), s.head.PtrCount) {
		*(*uint64)(at(base + uintptr(position))) += uint64(base)
	}
	s.steps = unsafe.Slice((*Step)(at(base+uintptr(s.head.Steps))), s.head.StepCount)
	for i := range s.steps {
		s.steps[i].Note += uint64(base)
	}
	s.registers = unsafe.Slice((*uintptr)(at(registers)), s.head.Registers)
	s.argv = s.list(base+uintptr(s.head.Argv), s.head.ArgCount, 1)
	if len(s.argv) == 0 {
		return false
	}
	s.argv = append(s.argv, nil)
	inherited := syscall.Environ()
	s.env = s.list(base+uintptr(s.head.Env), s.head.EnvCount, len(inherited)+1)
	return s.env != nil && s.environment(inherited)
}

// at is the memory at an address within the program, which one slice holds.
//
//go:norace
//go:nosplit
//go:nocheckptr
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// list returns n strings that stand one behind the other, with room for more; nil when there is
// none.
//
//go:noinline
//go:nocheckptr
func (s *state) list(address uintptr, n uint64, more int) []*byte {
	all := s.pointers(int(n) + more)
	for range n {
		if all == nil {
			break
		}
		p := (*byte)(at(address))
		all = append(all, p)
		address += uintptr(len(text(p)) + 1)
	}
	return all
}

//go:nocheckptr
func text(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// environment lays what the program sets, which is in the list, over what there is, and finds where
// the command can be.
func (s *state) environment(inherited []string) bool {
	names := make(map[string]bool, len(inherited))
	path := ""
	first := func(kv string) bool {
		for i := range len(kv) {
			if kv[i] == '=' {
				if names[kv[:i]] {
					return false
				}
				names[kv[:i]] = true
				if kv[:i] == "PATH" {
					path = kv[i+1:]
				}
				break
			}
		}
		return true
	}
	for _, p := range s.env {
		first(text(p))
	}
	for _, kv := range inherited {
		if first(kv) {
			p := s.keep(kv)
			if p == nil {
				return false
			}
			s.env = append(s.env, p)
		}
	}
	s.env = append(s.env, nil)
	return s.lookup(text(s.argv[0]), path)
}

func (s *state) lookup(name, path string) bool {
	places := 1
	for i := range len(path) {
		if path[i] == ':' {
			places++
		}
	}
	if s.paths = s.pointers(places); s.paths == nil {
		return false
	}
	add := func(file string) bool {
		p := s.keep(file)
		s.paths = append(s.paths, p)
		return p != nil
	}
	for i := range len(name) {
		if name[i] == '/' {
			return add(name)
		}
	}
	for start, i := 0, 0; i <= len(path); i++ {
		if i == len(path) || path[i] == ':' {
			if dir := path[start:i]; dir != "" && dir[0] == '/' && !add(dir+"/"+name) {
				return false
			}
			start = i + 1
		}
	}
	return true
}
