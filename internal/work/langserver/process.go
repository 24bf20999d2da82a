package langserver

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// process is the program of a server, in its sandbox.
type process struct {
	p    *proc.Process
	box  *sandbox.Box
	in   *os.File // what it reads
	out  *os.File // what it writes
	errs chan struct{}
	once sync.Once
	// after is called when all of it has ended.
	after func()

	mu   sync.Mutex // guards last
	last []byte     // that it wrote to its error stream
}

// maxLast is how much of the error stream is kept.
const maxLast = 2 << 10

// start runs the program of a server. One goroutine reads its error stream; it ends with
// the process.
func start(ctx context.Context, s Server, root string, policy boundary.Policy, env []string) (*process, error) {
	policy.Cwd = root
	if s.Memory > 0 && (policy.Limits.MemoryBytes == 0 || policy.Limits.MemoryBytes > s.Memory) {
		policy.Limits.MemoryBytes = s.Memory
	}
	box, err := sandbox.Prepare(ctx, policy, false, append([]string{s.Program}, s.Args...))
	if err != nil {
		return nil, err
	}
	r := &process{box: box, errs: make(chan struct{})}
	var theirs [3]*os.File
	var errs *os.File
	for i, ours := range []**os.File{&r.in, &r.out, &errs} {
		read, write, perr := os.Pipe()
		if perr != nil {
			err = perr
			break
		}
		if i == 0 {
			theirs[i], *ours = read, write
		} else {
			theirs[i], *ours = write, read
		}
	}
	if err == nil {
		r.p, err = proc.Start(context.WithoutCancel(ctx), proc.Spec{Argv: box.Argv, ExtraFiles: box.Files, Dir: root, Env: env,
			Cgroup: box.Cgroup, Confined: box.Confined, Started: box.Started, Streams: &theirs})
	}
	for _, f := range theirs {
		if f != nil {
			f.Close()
		}
	}
	if err != nil {
		for _, f := range []*os.File{r.in, r.out, errs} {
			if f != nil {
				f.Close()
			}
		}
		box.Close()
		return nil, err
	}
	go r.listen(errs)
	return r, nil
}

// listen keeps the end of what the program says on its error stream.
func (r *process) listen(errs *os.File) {
	defer close(r.errs)
	defer errs.Close()
	chunk := make([]byte, 4<<10)
	for {
		n, err := errs.Read(chunk)
		r.mu.Lock()
		r.last = append(r.last, chunk[:n]...)
		r.last = r.last[max(0, len(r.last)-maxLast):]
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// end ends the program and all that it started. It may be called again.
func (r *process) end() {
	r.once.Do(func() {
		_ = r.in.Close()
		r.p.Kill()
		r.box.Close()
		_ = r.out.Close()
		<-r.errs
		r.after()
	})
}

// words are how it ended and the last line that it said, or nothing.
func (r *process) words() string {
	var parts []string
	if code, signal, done := r.p.ExitCode(); done && signal != "" {
		parts = append(parts, "it was ended by "+signal)
	} else if done {
		parts = append(parts, fmt.Sprintf("it ended with code %d", code))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if line := lastWords(string(r.last)); line != "" {
		parts = append(parts, "its last words: "+visible.OneLine(line, 200))
	}
	return strings.Join(parts, "; ")
}

// lastWords are the line that says that it is an error, behind which a trace may stand, or the
// last one.
func lastWords(text string) string {
	text = strings.TrimSpace(text)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "error: ") {
			return strings.TrimSpace(line)
		}
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
