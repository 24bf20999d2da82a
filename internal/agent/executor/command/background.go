package command

import (
	"fmt"
	"strings"
	"time"

	"kerf/internal/protocol"
)

const (
	// maxOver is how many commands are remembered that ended in the background.
	maxOver = 16
	// maxTail bounds what is told of the output of a command in the background, in bytes.
	maxTail = 8 << 10
)

// OnEnd has fn called whenever a command in the background has ended, with its number, by
// a goroutine of the command's own.
func (r *Runner) OnEnd(fn func(id int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onEnd = fn
}

// follow waits for the end of a command in the background and tells it.
func (r *Runner) follow(id int, p *process) {
	<-p.Done()
	r.mu.Lock()
	j, ok := r.running[id]
	if ok {
		r.remember(id, j)
	}
	fn := r.onEnd
	r.mu.Unlock()
	if fn != nil {
		fn(id)
	}
}

// remember keeps what is known of a command that ended. The caller holds r.mu.
func (r *Runner) remember(id int, j job) {
	for _, x := range r.over {
		if x.ID == id {
			return
		}
	}
	r.over = append([]protocol.Process{r.describe(id, j)}, r.over[:min(len(r.over), maxOver-1)]...)
}

// describe says what is known of a command in the background.
func (r *Runner) describe(id int, j job) protocol.Process {
	x := protocol.Process{ID: id, Command: j.line, Since: j.since}
	out, _ := j.process.Process.Output()
	if len(out) > maxTail {
		out = out[len(out)-maxTail:]
		if i := strings.IndexByte(string(out), '\n'); i >= 0 {
			out = out[i+1:]
		}
	}
	x.Output = strings.ToValidUTF8(string(out), "\uFFFD")
	select {
	case <-j.process.Done():
	default:
		return x
	}
	code, signal, _ := j.process.ExitCode()
	x.Took, x.Failed = j.process.Wall().Round(time.Millisecond), code != 0 || signal != ""
	if x.Outcome = fmt.Sprintf("exit %d", code); signal != "" {
		x.Outcome = "ended by " + signal
	}
	return x
}

// Processes lists the commands that run in the background, and those that ended there, the
// newest first.
func (r *Runner) Processes() (running, over []protocol.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.table.List() {
		j, ok := r.running[e.ID]
		if !ok {
			continue
		}
		if x := r.describe(e.ID, j); x.Outcome == "" {
			running = append(running, x)
		} else {
			r.remember(e.ID, j)
		}
	}
	return running, append(over, r.over...)
}
