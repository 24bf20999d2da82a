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
	if called() {
		syscall.Exit(run())
	}
}

// called reports whether the first argument is Flag.
func called() bool {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	var b [256]byte
	n, _ := syscall.Read(fd, b[:])
	for i := range max(n, 0) {
		if b[i] == 0 {
			rest := b[i+1 : n]
			return len(rest) > len(Flag) && string(rest[:len(Flag)]) == Flag && rest[len(Flag)] == 0
		}
	}
	return false
}

// state is all that the processes after the fork work with.
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
}

// report says that a call failed: its step, and the error.
type report struct{ step, errno uint64 }

func run() int {
	s, ok := load()
	if !ok {
		return complain("the sandbox program cannot be read", 0)
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
	if s.head.Clone == 0 {
		return s.become()
	}
	pid, errno := s.clone()
	if errno != 0 {
		return complain("namespaces cannot be made", errno)
	}
	ignoreSignals()
	syscall.Close(s.sync[0])
	syscall.Close(s.report[1])
	_, _ = syscall.Write(s.sync[1], []byte{1})
	code, failed := s.outcome()
	status := s.await(pid)
	if failed {
		return code
	}
	return status
}

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
func (s *state) outcome() (code int, failed bool) {
	var r report
	b := (*[unsafe.Sizeof(r)]byte)(unsafe.Pointer(&r))[:]
	for {
		n, err := syscall.Read(s.report[0], b)
		if err == syscall.EINTR {
			continue
		}
		if n == len(b) {
			return s.explain(r), true
		}
		return 0, false
	}
}

func (s *state) explain(r report) int {
	errno := syscall.Errno(r.errno)
	switch r.step {
	case failedExecStep:
	case failedForkStep:
		return complain("there is no room for its process", errno)
	case failedMarkStep:
		return complain("that it begins cannot be told", errno)
	default:
		return complain(s.note(r.step), errno)
	}
	name := text(s.argv[0])
	if errno == syscall.ENOENT || errno == syscall.ENOTDIR {
		write("kerf: " + name + ": command not found\n")
		return 127
	}
	write("kerf: " + name + ": " + errno.Error() + "\n")
	return 126
}

//go:nocheckptr
func (s *state) note(step uint64) string {
	if step >= uint64(len(s.steps)) {
		return "the sandbox program"
	}
	return text((*byte)(at(uintptr(s.steps[step].Note))))
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

// load reads the program, puts addresses in the place of offsets, and gathers
// what the command is started with.
//
//go:nocheckptr
func load() (*state, bool) {
	s := &state{}
	h := (*[headerSize]byte)(unsafe.Pointer(&s.head))[:]
	if n, err := syscall.Pread(programFD, h, 0); err != nil || n != len(h) || s.head.Magic != magic ||
		s.head.Size > 64<<20 || s.head.Registers > registerLimit {
		return nil, false
	}
	words := make([]uint64, s.head.Size/8+1)
	base := uintptr(unsafe.Pointer(&words[0]))
	blob := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), s.head.Size)
	for done := 0; done < len(blob); {
		n, err := syscall.Pread(programFD, blob[done:], int64(done))
		if err != nil || n <= 0 {
			return nil, false
		}
		done += n
	}
	// At another place, since the command's own files may come to be where it is.
	kept, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, programFD, syscall.F_DUPFD_CLOEXEC, FirstFile)
	if errno != 0 {
		return nil, false
	}
	s.program, s.mark[0] = kept, Begun
	syscall.Close(programFD)
	for _, position := range unsafe.Slice((*uint64)(at(base+uintptr(s.head.Pointers))), s.head.PtrCount) {
		*(*uint64)(at(base + uintptr(position))) += uint64(base)
	}
	s.steps = unsafe.Slice((*Step)(at(base+uintptr(s.head.Steps))), s.head.StepCount)
	for i := range s.steps {
		s.steps[i].Note += uint64(base)
	}
	s.registers = make([]uintptr, s.head.Registers)
	argv := list(base+uintptr(s.head.Argv), s.head.ArgCount)
	if len(argv) == 0 {
		return nil, false
	}
	s.argv = append(argv, nil)
	return s, s.environment(list(base+uintptr(s.head.Env), s.head.EnvCount))
}

// at is the memory at an address within the program, which one slice holds.
//
//go:norace
//go:nosplit
//go:nocheckptr
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// list returns n strings that stand one behind the other.
//
//go:nocheckptr
func list(address uintptr, n uint64) []*byte {
	var all []*byte
	for range n {
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

// environment lays what the program sets over what there is, and finds where
// the command can be.
func (s *state) environment(set []*byte) bool {
	names := make(map[string]bool, len(set))
	path := ""
	take := func(kv string, p *byte) bool {
		for i := range len(kv) {
			if kv[i] == '=' {
				if names[kv[:i]] {
					return true
				}
				names[kv[:i]] = true
				if kv[:i] == "PATH" {
					path = kv[i+1:]
				}
				break
			}
		}
		if p == nil {
			var err error
			if p, err = syscall.BytePtrFromString(kv); err != nil {
				return false
			}
		}
		s.env = append(s.env, p)
		return true
	}
	for _, p := range set {
		take(text(p), p)
	}
	for _, kv := range syscall.Environ() {
		take(kv, nil)
	}
	s.env = append(s.env, nil)
	s.lookup(text(s.argv[0]), path)
	return true
}

func (s *state) lookup(name, path string) {
	add := func(file string) {
		if p, err := syscall.BytePtrFromString(file); err == nil {
			s.paths = append(s.paths, p)
		}
	}
	for i := range len(name) {
		if name[i] == '/' {
			add(name)
			return
		}
	}
	for start, i := 0, 0; i <= len(path); i++ {
		if i == len(path) || path[i] == ':' {
			if dir := path[start:i]; dir != "" && dir[0] == '/' {
				add(dir + "/" + name)
			}
			start = i + 1
		}
	}
}
