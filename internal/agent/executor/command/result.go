package command

import (
	"fmt"
	"strings"
	"time"

	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/history"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// Result is how far a command came when its call returned.
type Result struct {
	// Started is false when the command did not run at all.
	Started bool
	Output  string // as far as the model is told of it
	Lines   int    // that it printed, where the model does not read all of them
	Code    int
	Running bool     // it was left running
	Notes   []string // of the sandbox
	// NoSandbox says that it did not run because its sandbox, or the record of what it changes,
	// could not be set up.
	NoSandbox bool
	// Terminal is that of the client which the command ran in, or empty.
	Terminal string

	problem  string // why it did not run, told in place of everything else
	signal   string
	session  int
	wall     time.Duration
	done     bool
	aborted  bool
	failed   bool // by Kerf, whatever the command did
	timeout  time.Duration
	denied   bool
	confined bool   // it ran in a sandbox
	hint     string // where the whole output is
}

// TimedOut is the exit code of a command that was killed when its time was over.
const TimedOut = 124

// Failed is the result of a command that was not run.
func Failed(code int, format string, args ...any) Result {
	text := fmt.Sprintf("exit code %d\n", code) + fmt.Sprintf(format, args...)
	return Result{Code: code, done: true, Output: text, problem: text}
}

// NotRun is the result of a command that could not be run, see Result.NoSandbox.
func NotRun(format string, args ...any) Result {
	r := Failed(125, format, args...)
	r.NoSandbox = true
	return r
}

// Process is the number of a command that runs on.
func (r Result) Process() int { return r.session }

// Background is the number of a command that was left running, 0 for others.
func (r Result) Background() int {
	if r.Running {
		return r.session
	}
	return 0
}

// Fail makes a command that ran a failure, for a reason of Kerf's own.
func (r *Result) Fail(why string) {
	r.Notes = append(r.Notes, why)
	r.failed = true
}

// Exit is the exit code, nil while the command runs.
func (r Result) Exit() *int {
	if !r.done {
		return nil
	}
	code := r.Code // not a pointer into r, which would keep the output as long as the conversation keeps the code
	if r.timeout > 0 {
		code = TimedOut
	}
	return &code
}

// Success reports whether the command runs on or ended well.
func (r Result) Success() bool {
	return !r.failed && (r.Running || r.Code == 0 && !r.aborted && (r.Terminal == "" || r.timeout == 0))
}

// Denied reports whether the command failed, and the sandbox seems to be why.
func (r Result) Denied() bool { return r.denied && r.Code != 0 }

// take adds the output since the last time, cut to most tokens if the call said
// so, and returns it whole.
func (r *Result) take(p *proc.Process, log *outputlog.Log, most, budget int) []byte {
	out := p.Next()
	text := strings.ToValidUTF8(string(out.Text), "\uFFFD")
	if most > 0 && (budget <= 0 || most < budget) {
		budget = most
	}
	if r.hint = log.Hint(text, out.Omitted > 0, budget); r.hint != "" || out.Omitted > 0 {
		r.Lines = int(out.Lines)
	}
	if most > 0 {
		text = history.Truncate(text, most)
	}
	r.Output += text
	return out.Text
}

// Text is what the model reads.
func (r Result) Text() string {
	if r.problem != "" {
		return r.problem
	}
	var b strings.Builder
	switch {
	case r.Running:
		fmt.Fprintf(&b, "still running with session ID %d; poll or feed it with write_stdin\n", r.session)
	case r.aborted:
		b.WriteString("aborted by the user\n")
	case r.timeout > 0:
		fmt.Fprintf(&b, "exit code %d\ntimed out after %s and was killed\n", TimedOut, r.timeout)
	case r.signal != "":
		fmt.Fprintf(&b, "exit code %d (killed by %s)\n", r.Code, r.signal)
	default:
		fmt.Fprintf(&b, "exit code %d\n", r.Code)
	}
	fmt.Fprintf(&b, "wall time %.2f seconds\n", r.wall.Seconds())
	b.WriteString(history.PrintedHead)
	b.WriteString(r.Output)
	b.WriteString(r.hint)
	for _, note := range r.Notes {
		b.WriteString("\n" + note)
	}
	if advice := sandbox.Advice([]byte(r.Output)); advice != "" && r.confined && r.Code != 0 {
		b.WriteString("\n" + advice)
	} else if r.Denied() {
		b.WriteString("\nThe sandbox seems to have refused something. If the command needs it, ask with " +
			`sandbox_permissions "require_escalated" and a justification, or tell the user.`)
	}
	return b.String()
}
