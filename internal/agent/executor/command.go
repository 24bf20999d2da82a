package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/scan"
	"kerf/internal/work/txn"
)

// command runs a program in the sandbox and finds out what it changed.
func (h *Executor) command(ctx context.Context, id protocol.CallID, a tool.Command, m Manner) turn.Outcome {
	body := protocol.Command{Call: id, Command: a.Line, Cwd: a.Dir}
	var changes []history.FileChange
	fail := func(code int, format string, args ...any) turn.Outcome {
		text := fmt.Sprintf("exit code %d\n", code) + fmt.Sprintf(format, args...)
		body.Output, body.ExitCode = text, &code
		return turn.Outcome{Text: text, Body: body, Changes: changes}
	}
	if st, err := os.Stat(a.Dir); err != nil || !st.IsDir() {
		return fail(2, "workdir %s is not a directory. Leave workdir out to run in %s", a.Dir, h.o.Cwd)
	}
	if o, done := h.inTerminal(ctx, id, a, m); done {
		return o
	}
	// Before the sandbox, which puts things in the place of what it protects.
	quiet := policy.KnownSafe(a.Line)
	if !quiet {
		changes = append(changes, h.scanned(ctx, m, id, h.strayCause())...)
	}
	c, err := h.confined(ctx, id, a, m)
	var unavailable *sandbox.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		return fail(125, "the sandbox cannot be set up, so the command was not run: %v", err)
	case err != nil:
		return fail(125, "the command was not run: %v", err)
	}

	began := time.Now()
	c.spec.OnOutput = func(b []byte) {
		if m.Show != nil {
			m.Show(string(b))
		}
	}
	// The process outlives the call when it is left running; await ends it else.
	p, err := h.table.Start(context.WithoutCancel(ctx), c.spec)
	if err != nil {
		c.end()
		return fail(127, "%v", err)
	}
	o := h.await(ctx, p, a, began, c)
	if !quiet || o.running {
		// The scan is the record of what happened; an interrupt must not cut it.
		changes = append(changes, h.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)...)
	}
	if o.denied && o.code != 0 && m.Denied != nil && !m.Unsandboxed && m.Settings.Sandbox != protocol.SandboxFull {
		m.Denied()
	}
	text := o.text()
	body.Output = o.output
	if o.done {
		body.ExitCode = &o.code
	}
	return turn.Outcome{Text: text, Success: o.running || o.code == 0 && !o.aborted, Body: body, Changes: changes, Warnings: o.notes}
}

// run is how far a command came when its call returned.
type commandRun struct {
	output  string
	code    int
	signal  string
	session int
	wall    time.Duration
	done    bool
	running bool
	aborted bool
	timeout time.Duration
	denied  bool
	caged   bool     // it ran in a sandbox
	notes   []string // of the sandbox
	hint    string   // where the whole output is
}

// take adds the output since the last time, cut to most tokens if the call said
// so, and returns it whole.
func (r *commandRun) take(p *proc.Process, c *cage, most, budget int) []byte {
	out, omitted := p.Next()
	text := strings.ToValidUTF8(string(out), "\uFFFD")
	if most > 0 && (budget <= 0 || most < budget) {
		budget = most
	}
	if c != nil {
		r.hint = c.out.Hint(text, omitted > 0, budget)
	}
	if most > 0 {
		text = history.Truncate(text, most)
	}
	r.output += text
	return out
}

// await waits until the command is done, its time is up, or the call is stopped.
func (h *Executor) await(ctx context.Context, p *proc.Process, a tool.Command, began time.Time, c *cage) commandRun {
	var r commandRun
	limit := a.Yield
	if a.Timeout > 0 {
		limit = a.Timeout
	}
	switch ended := p.Within(ctx, limit); {
	case ctx.Err() != nil:
		p.Kill()
		r.aborted = true
	case !ended && a.Timeout > 0:
		p.Kill()
		r.timeout = a.Timeout
	case !ended:
		id, err := h.table.Add(p)
		if err != nil {
			p.Kill()
			r.output = err.Error() + "\n"
			break
		}
		r.running, r.session = true, id
		h.mu.Lock()
		h.running[id] = job{a.Line, time.Now(), c}
		h.mu.Unlock()
	}
	out := r.take(p, c, a.MaxTokens, h.o.OutputTokens)
	r.wall = time.Since(began)
	if !r.running {
		r.notes, r.caged = c.end(), c.box.Enforced()
		r.code, r.signal, r.done = p.ExitCode()
		r.denied = c.box.Broken() == "" && sandbox.Denied(out, r.code)
	}
	return r
}

// job is a command that runs in the background.
type job struct {
	line  string
	since time.Time
	cage  *cage
}

// release gives up what a background process needed, and returns what has to be
// told.
func (h *Executor) release(id int) (notes []string) {
	h.table.Remove(id)
	h.mu.Lock()
	j := h.running[id]
	delete(h.running, id)
	h.mu.Unlock()
	if j.cage != nil {
		return j.cage.end()
	}
	return nil
}

// cageOf is that of a background process.
func (h *Executor) cageOf(id int) *cage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[id].cage
}

// text is what the model reads.
func (r commandRun) text() string {
	var b strings.Builder
	switch {
	case r.running:
		fmt.Fprintf(&b, "still running with session ID %d; poll or feed it with write_stdin\n", r.session)
	case r.aborted:
		b.WriteString("aborted by the user\n")
	case r.timeout > 0:
		fmt.Fprintf(&b, "exit code 124\ntimed out after %s and was killed\n", r.timeout)
	case r.signal != "":
		fmt.Fprintf(&b, "exit code %d (killed by %s)\n", r.code, r.signal)
	default:
		fmt.Fprintf(&b, "exit code %d\n", r.code)
	}
	fmt.Fprintf(&b, "wall time %.2f seconds\n", r.wall.Seconds())
	b.WriteString("output:\n")
	b.WriteString(r.output)
	b.WriteString(r.hint)
	for _, note := range r.notes {
		b.WriteString("\n" + note)
	}
	if advice := sandbox.Advice([]byte(r.output)); advice != "" && r.caged && r.code != 0 {
		b.WriteString("\n" + advice)
	} else if r.denied && r.code != 0 {
		b.WriteString("\nThe sandbox seems to have refused something. If the command needs it, ask with " +
			`sandbox_permissions "require_escalated" and a justification, or tell the user.`)
	}
	return b.String()
}

// poke feeds or polls a process that was left running.
func (h *Executor) poke(ctx context.Context, id protocol.CallID, a tool.Poke, m Manner) turn.Outcome {
	body, _ := m.Body.(protocol.ToolCall)
	p, ok := h.table.Get(a.Process)
	if !ok {
		text := Render(tool.Fail(tool.Refuse(tool.NotFound, "no process has session ID %d; the running ones are: %s", a.Process, h.runningIDs())))
		body.Error = text
		return turn.Outcome{Text: text, Body: body}
	}
	began := time.Now()
	if a.Input != "" {
		if _, err := p.Write(a.Input); err != nil {
			text := Render(tool.Fail(tool.Refuse(tool.InvalidArguments, "session %d takes no input: %v. Start the command with tty true", a.Process, err)))
			body.Error = text
			return turn.Outcome{Text: text, Body: body}
		}
	}
	ended := p.Within(ctx, a.Yield)
	r := commandRun{session: a.Process, running: !ended}
	r.take(p, h.cageOf(a.Process), a.MaxTokens, h.o.OutputTokens)
	if ended {
		r.notes = h.release(a.Process)
		r.code, r.signal, r.done = p.ExitCode()
	}
	r.wall = time.Since(began)
	changes := h.scanned(context.WithoutCancel(ctx), m, id, ledger.CauseCommand)
	body.Output = r.text()
	return turn.Outcome{Text: body.Output, Success: r.running || r.code == 0, Body: body, Changes: changes, Warnings: r.notes}
}

// strayCause is what changes found before a command are laid to: processes that
// still run, or somebody else.
func (h *Executor) strayCause() string {
	if len(h.table.List()) > 0 {
		return ledger.CauseCommand
	}
	return ledger.CauseOutside
}

// runningIDs lists the processes that can be fed or polled.
func (h *Executor) runningIDs() string {
	var ids []string
	for _, e := range h.table.List() {
		ids = append(ids, strconv.Itoa(e.ID))
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// scanned finds what changed under the roots since the last scan and records it
// with the given cause. The first scan only remembers.
func (h *Executor) scanned(ctx context.Context, m Manner, id protocol.CallID, cause string) []history.FileChange {
	if h.o.Scanner == nil {
		return nil
	}
	co := txn.CommitOptions{Origin: h.origin(m, id), Cause: cause}
	set, some := h.compared(ctx, &co)
	if !some {
		return nil
	}
	return h.found(id, set, co)
}

// compared finds what changed since the last scan, and fills co with what is not a
// change of a file. It reports whether there is anything.
func (h *Executor) compared(ctx context.Context, co *txn.CommitOptions) (delta.Set, bool) {
	h.scanning.Lock()
	defer h.scanning.Unlock()
	now, err := h.o.Scanner.Snapshot(ctx)
	if err != nil {
		h.uncertain(fmt.Sprintf("the roots could not be scanned: %v", err))
		return nil, false
	}
	h.mu.Lock()
	before := h.snap
	h.snap = now
	h.mu.Unlock()
	if before == nil {
		return nil, false
	}
	set, gaps, err := h.o.Scanner.Diff(ctx, before, now)
	if err != nil {
		h.uncertain(fmt.Sprintf("the roots could not be compared: %v", err))
		return nil, false
	}
	co.Dirs, co.Gone = directories(h.o.Scanner.Dirs(before, now))
	var notes []string
	for _, g := range gaps {
		if g.Kind == scan.Directory {
			continue // the ledger has it among the directories
		}
		what := g.Path + " (" + g.Reason + ")"
		h.uncertain(what)
		notes = append(notes, what)
	}
	co.Inexact, co.Origin.Note = len(notes) > 0, noteOf(notes)
	return set, len(set)+len(co.Dirs)+len(co.Gone) > 0
}

// maxNotes bounds what a ledger entry tells of what could not be seen.
const maxNotes = 20

func noteOf(notes []string) string {
	if more := len(notes) - maxNotes; more > 0 {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(notes, "; ")
}

// directories puts what the scanner found in the form of the ledger.
func directories(made, gone []scan.Dir) ([]ledger.Path, []ledger.Dir) {
	var paths []ledger.Path
	for _, d := range made {
		paths = append(paths, ledger.Path(d.Path))
	}
	var dirs []ledger.Dir
	for _, d := range gone {
		dirs = append(dirs, ledger.Dir{Path: ledger.Path(d.Path), Mode: uint32(d.Mode)})
	}
	return paths, dirs
}

func (h *Executor) uncertain(what string) {
	h.mu.Lock()
	h.turn.inexact = append(h.turn.inexact, what)
	h.mu.Unlock()
}

// found enters changes that were made behind Kerf's back into the ledger.
func (h *Executor) found(id protocol.CallID, set delta.Set, co txn.CommitOptions) []history.FileChange {
	entry, err := h.o.Work.Record(context.Background(), set, co)
	if err != nil {
		h.uncertain(fmt.Sprintf("the ledger could not be written: %v", err))
	}
	if len(set) == 0 {
		return nil
	}
	return h.landed(id, co.Cause, set, true, entry).records
}

// note tells the scanner of a change that Kerf made itself.
func (h *Executor) note(path string, img *delta.Image) {
	if h.o.Scanner != nil {
		h.scanning.Lock()
		h.o.Scanner.Note(path, img)
		h.scanning.Unlock()
	}
}
