package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

const (
	// DefaultCap is how many bytes of output are kept when Spec.Cap is 0.
	DefaultCap = 1 << 20
	// outputGrace is how long the end of a command waits for output once its
	// leader is gone: somebody it left behind may hold the pipe open.
	outputGrace = 100 * time.Millisecond
	// killGrace is the time between SIGTERM and SIGKILL.
	killGrace = 100 * time.Millisecond
	// goneLimit bounds the wait for processes that SIGKILL does not end at once,
	// such as one in an uninterruptible read.
	goneLimit = 2 * time.Second
	// Mark is the environment variable by which runs are recognised.
	Mark = "KERF_RUN"
)

// ErrNoInput is returned by Write for a process without terminal or Stdin.
var ErrNoInput = errors.New("the process takes no input")

// Size of a terminal; zeros stand for 24 rows and 80 columns.
type Size struct{ Rows, Cols uint16 }

// Spec says what to run.
type Spec struct {
	// Argv is the program and its arguments, never a shell line. A name without
	// slash is looked up on the PATH of Env.
	Argv []string
	// Dir is the working directory; empty means Kerf's own.
	Dir string
	// Env is the whole environment; nothing is added but the mark.
	Env []string
	// TTY gives the process a terminal of its own, of this size.
	TTY  bool
	Size Size
	// Stdin keeps a pipe for Write; otherwise, without TTY, input is empty.
	Stdin bool
	// Streams, when set, become those of the process as they are: nothing is read
	// or kept here, and TTY, Stdin, Cap, OnOutput and Log do not count. They
	// stay the caller's to close.
	Streams *[3]*os.File
	// Log gets all of the output, also what is not kept, in order, from one
	// goroutine. After its first error it gets no more.
	Log io.Writer
	// Cap bounds the bytes of output kept; 0 means DefaultCap.
	Cap int
	// OnOutput is called with each piece of output, in order, from one
	// goroutine. It must return soon and not keep the slice.
	OnOutput func([]byte)
	// ExtraFiles become descriptors 3 and up. They stay the caller's to close.
	ExtraFiles []*os.File
	// Cgroup is the open directory of the cgroup (version 2) in which the process
	// starts, on Linux, if the kernel lets it; nil is that of Kerf. It stays the caller's to close.
	Cgroup *os.File
	// Confined says that the leader is a sandbox launcher, which would take what
	// it launched with it: signals go to what runs beneath it.
	Confined bool
	// Started, when set, is called once the leader was started, before Start
	// returns, with a function that ends all of it at once, without a grace. That
	// may be called at any time, also after the end, by any goroutine.
	Started func(leader int, kill func())
	// Linger lets background processes outlive the leader, until Kill or
	// Table.CloseAll. Otherwise they are killed when it ends.
	Linger bool
	// Abrupt has Kill end it at once: nothing it does needs an orderly end.
	Abrupt bool
}

// Process is a running or ended command. Its methods may be called by several
// goroutines.
//
// Two goroutines serve it: one starts the leader and waits for it, on a thread
// of its own, because the kernel ties the death signal to that thread; one
// reads the output. Both end with the process.
type Process struct {
	spec    Spec
	token   string
	started time.Time
	out     *buffer
	input   *os.File      // terminal or pipe, nil without input
	output  *os.File      // terminal or pipe
	drained chan struct{} // closed at the end of the output
	settled chan struct{} // closed when the grace is over and all is read
	done    chan struct{}
	killing sync.Mutex
	sys     system

	mu     sync.Mutex // guards what follows
	leader int
	reaped bool
	code   int
	signal string
	wall   time.Duration
}

// Start runs a command. Cancelling ctx kills it, as Kill does, also when it runs
// in the background.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	return start(ctx, spec, "")
}

func start(ctx context.Context, spec Spec, group string) (*Process, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return nil, errors.New("run: no command")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.Argv[0], err)
	}
	if spec.Cap <= 0 {
		spec.Cap = DefaultCap
	}
	p := &Process{
		spec: spec, token: newToken(), started: time.Now(), out: newBuffer(spec.Cap),
		drained: make(chan struct{}), settled: make(chan struct{}), done: make(chan struct{}),
	}
	p.spec.Env = p.marked(group)
	files, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.Argv[0], err)
	}
	failed := make(chan error, 1)
	go p.live(ctx, files, failed)
	if err := <-failed; err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.Argv[0], err)
	}
	return p, nil
}

// marked returns the environment with the mark: the marks of those who run us,
// of Kerf, of the group and of the process.
func (p *Process) marked(group string) []string {
	mark := Mark + "="
	if outer := os.Getenv(Mark); outer != "" && len(outer) < 1024 {
		mark += outer + ":"
	}
	mark += ownToken() + ":"
	if group != "" {
		mark += group + ":"
	}
	mark += p.token
	env := make([]string, 0, len(p.spec.Env)+1)
	for _, kv := range p.spec.Env {
		if len(kv) > len(Mark) && kv[:len(Mark)+1] == Mark+"=" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, mark)
}

// stdio is what the child gets; what is ours is closed after the start.
type stdio struct {
	in, out, err *os.File
	ours         bool
}

func (s stdio) close() {
	if !s.ours {
		return
	}
	s.in.Close()
	if s.out != s.in {
		s.out.Close()
	}
}

func (p *Process) open() (stdio, error) {
	if p.spec.Streams != nil {
		return p.passThrough()
	}
	if p.spec.TTY {
		master, slave, err := openTerminal()
		if err != nil {
			return stdio{}, err
		}
		p.input, p.output = master, master
		return stdio{slave, slave, slave, true}, p.Resize(p.spec.Size)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return stdio{}, err
	}
	var in *os.File
	if p.spec.Stdin {
		in, p.input, err = os.Pipe()
	} else {
		in, err = os.Open(os.DevNull)
	}
	if err != nil {
		r.Close()
		w.Close()
		return stdio{}, err
	}
	p.output = r
	return stdio{in, w, w, true}, nil
}

// passThrough gives the caller's files to the child, and us an output that is
// over before it begins.
func (p *Process) passThrough() (stdio, error) {
	p.spec.TTY, p.spec.Stdin, p.spec.OnOutput, p.spec.Log = false, false, nil, nil
	r, w, err := os.Pipe()
	if err != nil {
		return stdio{}, err
	}
	w.Close()
	p.output = r
	return stdio{in: p.spec.Streams[0], out: p.spec.Streams[1], err: p.spec.Streams[2]}, nil
}

// live is the life of the process. It holds its thread until the leader is
// gone: a thread that ended would let the death signal go off early.
func (p *Process) live(ctx context.Context, files stdio, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leader, err := p.launch(files)
	files.close()
	if err != nil {
		p.closeFiles()
		started <- err
		return
	}
	go p.read()
	if p.spec.Started != nil {
		p.spec.Started(p.leader, p.killNow)
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	started <- nil

	p.sys.awaitExit(leader)
	if !p.spec.Linger {
		p.sweep()
	}
	p.mu.Lock()
	p.reaped = true
	state, err := leader.Wait()
	p.mu.Unlock()
	p.sys.release()
	p.finish(state, err)
}

func (p *Process) launch(files stdio) (*os.Process, error) {
	path, err := lookup(p.spec.Argv[0], p.spec.Dir, p.spec.Env)
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{
		Dir: p.spec.Dir, Env: p.spec.Env,
		Files: append([]*os.File{files.in, files.out, files.err}, p.spec.ExtraFiles...),
		Sys:   attributes(p.spec),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	leader, err := p.sys.start(filepath.Clean(path), p.spec.Argv, attr)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) && pe.Path != p.spec.Dir {
			return nil, fmt.Errorf("start %s: %w", path, pe.Err)
		}
		return nil, err
	}
	p.leader = leader.Pid
	return leader, nil
}

func (p *Process) read() {
	defer close(p.drained)
	chunk := make([]byte, 64<<10) // what a pipe holds
	for {
		n, err := p.output.Read(chunk)
		p.take(chunk[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.rest(chunk)
			close(p.settled)
			if !p.spec.Linger {
				return
			}
		default:
			return // a terminal ends with EIO, a pipe with EOF
		}
	}
}

func (p *Process) take(output []byte) {
	if len(output) == 0 {
		return
	}
	p.out.write(output)
	if p.spec.Log != nil {
		if _, err := p.spec.Log.Write(output); err != nil {
			p.spec.Log = nil // what is kept in memory is still there
		}
	}
	if p.spec.OnOutput != nil {
		p.spec.OnOutput(output)
	}
}

// rest reads what is there already when the grace is over: on a busy machine
// the reader may not have had its turn. It is bounded, for a process left behind
// may write without end.
func (p *Process) rest(chunk []byte) {
	const largestPipe = 1 << 20
	_ = p.output.SetReadDeadline(time.Time{})
	for total := 0; total < largestPipe; {
		n := readNow(p.output, chunk)
		if n <= 0 {
			return
		}
		p.take(chunk[:n])
		total += n
	}
}

// finish publishes the end once the output is in, or the grace is over.
func (p *Process) finish(state *os.ProcessState, err error) {
	select {
	case <-p.drained:
	default:
		var late <-chan time.Time
		if p.output.SetReadDeadline(time.Now().Add(outputGrace)) != nil {
			late = time.After(outputGrace) // a pipe without deadlines
		}
		select {
		case <-p.drained:
		case <-p.settled:
		case <-late:
		}
	}
	p.mu.Lock()
	p.code, p.signal = -1, ""
	if err == nil {
		p.code, p.signal = exitOf(state)
	}
	p.wall = time.Since(p.started)
	p.mu.Unlock()
	if !p.spec.Linger {
		p.closeFiles()
	}
	close(p.done)
}

func (p *Process) closeFiles() {
	if p.input != nil {
		p.input.Close()
	}
	p.output.Close()
}

// Done is closed when the leader has ended and its output is in.
func (p *Process) Done() <-chan struct{} { return p.done }

// Within waits until the process has ended, d is over or ctx is done, and reports the
// first.
func (p *Process) Within(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.Done():
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// Wait waits up to d, without limit if d is negative, and reports whether the
// process has ended.
func (p *Process) Wait(d time.Duration) bool {
	if d < 0 {
		<-p.done
		return true
	}
	select {
	case <-p.done:
		return true
	default:
	}
	if d == 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// Output returns the output so far and how many bytes of it were left out; a
// line in its place says so.
func (p *Process) Output() (text []byte, omitted int64) {
	text, _, omitted = p.out.since(0)
	return text, omitted
}

// Since returns the output from a byte offset on, the offset after it, and how
// many bytes between are gone.
func (p *Process) Since(offset int64) (text []byte, next, omitted int64) {
	return p.out.since(offset)
}

// Portion is the output of a while.
type Portion struct {
	Text    []byte // with a line in the place of what no longer is there
	Omitted int64  // how many bytes that is
	Lines   int64  // that came, also those of which nothing is there; the last one may have no end
}

// Next returns the output since the last Next.
func (p *Process) Next() Portion { return p.out.drainNew() }

// Write types chars, or sends them to a Stdin pipe. It does not wait longer than
// five seconds for a process that does not read.
func (p *Process) Write(chars string) (int, error) {
	if p.input == nil {
		return 0, ErrNoInput
	}
	// Not every system can poll a terminal; there the write has no limit.
	_ = p.input.SetWriteDeadline(time.Now().Add(5 * time.Second))
	n, err := p.input.WriteString(chars)
	if err != nil {
		return n, fmt.Errorf("write to process: %w", err)
	}
	return n, nil
}

// CloseInput ends a Stdin pipe; on a terminal it types the end-of-file
// character.
func (p *Process) CloseInput() error {
	switch {
	case p.input == nil:
		return nil
	case p.spec.TTY:
		_, err := p.Write("\x04")
		return err
	}
	return p.input.Close()
}

// Resize sets the size of the terminal; without one it does nothing.
func (p *Process) Resize(s Size) error {
	if !p.spec.TTY {
		return nil
	}
	if s.Rows == 0 || s.Cols == 0 {
		s = Size{24, 80}
	}
	if err := resize(p.output, s); err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	return nil
}

// ExitCode tells how the leader ended. A process that a signal ended has code
// 128 + its number, and the signal's name, such as SIGKILL.
func (p *Process) ExitCode() (code int, signal string, done bool) {
	select {
	case <-p.done:
	default:
		return 0, "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code, p.signal, true
}

// Wall is how long the process ran, or runs so far.
func (p *Process) Wall() time.Duration {
	if !p.Wait(0) {
		return time.Since(p.started)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wall
}

// Interrupt does what Ctrl-C does: SIGINT to what runs in the foreground.
func (p *Process) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.sys.interrupt(p)
	}
}

// Signal sends a signal to the process and all it started, the launcher of a
// sandbox left out.
func (p *Process) Signal(sig os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.sys.signal(p, sig)
	}
}

// Kill ends the process and all it started: SIGTERM, a grace of 100 ms,
// SIGKILL. It returns when they are gone, at most about two seconds later, and
// may be called again at any time.
func (p *Process) Kill() {
	p.killing.Lock()
	defer p.killing.Unlock()
	if !p.Wait(0) {
		grace := time.Duration(0)
		if !p.spec.Abrupt {
			grace = killGrace
			p.mu.Lock()
			if !p.reaped {
				p.sys.terminate(p)
			}
			p.mu.Unlock()
		}
		if !p.Wait(grace) {
			p.mu.Lock()
			if !p.reaped {
				p.sys.kill(p)
			}
			p.mu.Unlock()
			if p.spec.Confined { // the launcher ends when all the others have
				p.Wait(goneLimit)
			}
		}
	}
	p.sweep()
	p.Wait(goneLimit)
	if p.spec.Linger && p.Wait(0) {
		p.closeFiles()
	}
}

// killNow ends the process now; the rest is left to live.
func (p *Process) killNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.sys.killFirst(p)
	}
}

func newToken() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ownToken marks all that this Kerf runs.
var ownToken = sync.OnceValue(newToken)
