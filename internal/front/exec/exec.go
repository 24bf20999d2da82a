// Package exec is the headless front end: it runs one turn and prints what happens,
// as text for people or as JSON lines for programs.
package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// The exit codes. They are documented and never reused.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNoSandbox   = 125
	exitInterrupted = 130 // SIGINT
	exitTerminated  = 143 // SIGTERM
)

// Options say what to run and where to print it.
type Options struct {
	Sessions protocol.Sessions
	// Open says which session. It is opened headless, whatever it says.
	Open   protocol.OpenOptions
	Prompt []protocol.Input
	// Goal is what the turn has to reach, or nil.
	Goal *protocol.Goal
	// Op, when not nil, is submitted instead of the prompt, which is then only shown.
	Op protocol.Op
	// Schema is the JSON schema that the final message must follow, or nil. A message that does
	// not makes the run fail.
	Schema json.RawMessage
	// JSON prints JSON lines on Stdout (doc/exec-events.md). Otherwise Stdout gets
	// the final message only, and Stderr the rest.
	JSON bool
	// LastMessage is a file that gets the final message, without a newline at its
	// end; empty for none.
	LastMessage    string
	Stdout, Stderr io.Writer
	// Color allows colours on Stderr. Width is its width in columns, 0 if unknown.
	Color bool
	Width int
	// Version is shown in the banner.
	Version string
	// Named writes a path for people; nil quotes it as git does where nothing is set.
	Named func(path string) string
	// RawMessage writes the final message to Stdout byte for byte. Set it when
	// Stdout is no terminal; otherwise control characters are made visible.
	RawMessage bool
	// Once is set when Stdout and Stderr are one terminal: the final message is then printed
	// once. Live shows the running command's last lines there.
	Once, Live bool
	// Interrupts delivers SIGINT and SIGTERM. The caller must also keep SIGPIPE
	// from ending the process.
	Interrupts <-chan os.Signal
}

// patience is how long an interrupted session may take before it is closed
// under way; closing is how long that may take.
const (
	patience = 10 * time.Second
	closing  = 5 * time.Second
)

// Nothing tells, in the form that o asks for, that there is nothing to run: message is the
// whole result. No session is opened and no model is asked. It returns the exit code.
func Nothing(o Options, message string) int {
	r := &runner{o: o}
	end := ending{done: &protocol.TurnCompleted{LastMessage: message}}
	if o.JSON {
		l := newLines(o.Stdout)
		l.print(line{Type: "turn.started"})
		l.completed(protocol.Item{Body: protocol.ReviewResult{Text: message}})
		l.end(end)
		r.printer = l
	} else {
		fmt.Fprintln(o.Stderr, "kerf: "+Visible(message))
		r.printer = newText(o)
	}
	return r.code(end)
}

// Run opens the session, runs one turn, closes the session and returns the exit
// code: 0 when the turn completed, 125 when it did but no command could run for want
// of a sandbox, 1 when it or anything before it failed, it ended with changes of files refused, or its
// last message is not what was asked for, 2 for an empty prompt, 130 and 143 after SIGINT and
// SIGTERM. An error of Open that has a method ExitCode() int decides the code itself.
//
// Goroutines: one submits in order, one closes the session at the end. Run waits
// for both, unless a session does not close in time.
func Run(ctx context.Context, o Options) int {
	if o.Op == nil && blank(o.Prompt) {
		fmt.Fprintln(o.Stderr, "kerf: no prompt given; pass it as an argument or on stdin")
		return exitUsage
	}
	o.Open.Headless = true
	if o.Open.Source == "" {
		o.Open.Source = "exec"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner{o: o, cancel: cancel}
	if o.JSON {
		r.printer = newLines(o.Stdout)
	} else {
		r.printer = newText(o)
	}
	if code, ok := r.open(ctx); !ok {
		return code
	}
	r.submissions = make(chan protocol.Op, 64)
	submitted := make(chan struct{})
	go func() {
		defer close(submitted)
		r.submit(ctx)
	}()
	r.printer.open(r.session.ID(), o.Prompt)
	if o.Op == nil {
		o.Op = protocol.UserInput{Items: o.Prompt, Schema: o.Schema, Goal: o.Goal}
	}
	r.send(o.Op)
	end := r.follow(ctx)
	if o.JSON {
		r.finish() // who reads that the turn is over may go on with the session at once
	}
	r.printer.end(end)
	if !o.JSON {
		r.finish()
	}
	cancel()
	close(r.submissions)
	<-submitted
	return r.code(end)
}

func blank(prompt []protocol.Input) bool {
	for _, in := range prompt {
		if strings.TrimSpace(in.Text) != "" || in.ImageURL != "" {
			return false
		}
	}
	return true
}

// printer shows events. Its methods are called from one goroutine.
type printer interface {
	open(id protocol.SessionID, prompt []protocol.Input)
	show(m protocol.Msg)
	// agent shows an event of a sub-agent.
	agent(name string, e protocol.Event)
	// end closes what is still open and tells how the turn ended.
	end(e ending)
	// broken is why the output cannot be written, or nil.
	broken() error
}

// ending is how a turn ended: well (done), or with a message.
type ending struct {
	done        *protocol.TurnCompleted
	message     string
	interrupted bool
}

type runner struct {
	o           Options
	printer     printer
	session     protocol.Session
	submissions chan protocol.Op
	cancel      context.CancelFunc
	signal      os.Signal // the first one
	interrupted bool      // Interrupt was sent
	lastMessage string
	lastPlan    string
	ran         bool   // a command did
	noSandbox   string // why the first one that did not run had no sandbox
	refused     refusals
	agents      []protocol.Agent  // as last told
	servers     []protocol.Server // as last told
	running     []protocol.Process
}

// open opens the session; a signal meanwhile gives up.
func (r *runner) open(ctx context.Context) (code int, ok bool) {
	type opened struct {
		session protocol.Session
		err     error
	}
	result := make(chan opened, 1)
	go func() {
		s, err := r.o.Sessions.Open(ctx, r.o.Open)
		result <- opened{s, err}
	}()
	for {
		select {
		case got := <-result:
			if got.err == nil && r.signal == nil {
				r.session = got.session
				return 0, true
			}
			if got.session != nil {
				r.session = got.session
				r.close(func(protocol.Event) {})
			}
			if r.signal != nil {
				return signalCode(r.signal), false
			}
			fmt.Fprintln(r.o.Stderr, "kerf: "+Visible(got.err.Error()))
			var coded interface{ ExitCode() int }
			if errors.As(got.err, &coded) {
				return coded.ExitCode(), false
			}
			return exitFailed, false
		case s := <-r.o.Interrupts:
			if r.signal != nil {
				return signalCode(r.signal), false
			}
			r.signal = s
			r.cancel()
		}
	}
}

// submit hands the ops to the session in order. The session may be busy telling
// us something, so this is not done by the goroutine that listens.
func (r *runner) submit(ctx context.Context) {
	n := 0
	run := strconv.FormatInt(time.Now().UnixMilli(), 36) // turns of several runs of a session differ
	for op := range r.submissions {
		n++
		// An error means that the session ended; its events tell that.
		_ = r.session.Submit(ctx, protocol.Submission{ID: fmt.Sprintf("exec-%s-%d", run, n), Op: op})
	}
}

// send queues op. Answers beyond the bound are dropped: a headless session asks
// one thing at a time.
func (r *runner) send(op protocol.Op) {
	select {
	case r.submissions <- op:
	default:
	}
}

// interrupt asks the turn to end, once.
func (r *runner) interrupt() {
	if !r.interrupted {
		r.interrupted = true
		r.send(protocol.Interrupt{})
	}
}

// follow shows events until the turn ends.
func (r *runner) follow(ctx context.Context) ending {
	events, done := r.session.Events(), ctx.Done()
	var late, ticks <-chan time.Time
	told, _ := r.printer.(*text)
	if told != nil && told.live != nil {
		t := time.NewTicker(time.Second / 4)
		defer t.Stop()
		ticks = t.C
	}
	for {
		select {
		case now := <-ticks:
			told.tick(now)
		case e, ok := <-events:
			if !ok {
				return r.mark("the session ended before the turn did")
			}
			if e.Agent != "" {
				r.hear(e)
			} else if end, over := r.take(e.Msg); over {
				return end
			}
			if r.printer.broken() != nil {
				r.interrupt()
			}
		case s := <-r.o.Interrupts:
			if r.interrupted && r.signal != nil {
				return r.cutShort()
			}
			r.signal = s
			r.interrupt()
		case <-done:
			done = nil
			r.interrupt()
		case <-late:
			return r.cutShort()
		}
		if r.interrupted && late == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			late = t.C
		}
	}
}

// mark is a bad ending; one after an interrupt says so.
func (r *runner) mark(message string) ending {
	if r.interrupted {
		message = "turn interrupted: " + message
	}
	return ending{message: message, interrupted: r.interrupted}
}

func (r *runner) cutShort() ending {
	return ending{message: "turn interrupted; it did not end in time", interrupted: true}
}

// take shows one message and says whether it ended the turn.
func (r *runner) take(m protocol.Msg) (ending, bool) {
	r.refused.hear(m)
	switch m := m.(type) {
	case protocol.TurnCompleted:
		if m.LastMessage == "" {
			m.LastMessage = r.lastMessage
		}
		if m.LastMessage == "" {
			m.LastMessage = r.lastPlan
		}
		return ending{done: &m}, true
	case protocol.TurnFailed:
		return r.mark(words(m.Error)), true
	case protocol.TurnAborted:
		return aborted(m.Reason), true
	case protocol.ApprovalRequested:
		r.printer.show(m)
		r.send(protocol.Answer{Approval: m.Approval.ID, Decision: protocol.Deny,
			Words: "nobody can answer in this run; work without it, or say what the user should allow"})
		return ending{}, false
	case protocol.Agents:
		r.agents = m.Agents
	case protocol.Servers:
		r.servers = m.Servers
	case protocol.Processes:
		r.running = m.Running
	case protocol.ItemCompleted:
		switch b := m.Item.Body.(type) {
		case protocol.AgentMessage:
			r.lastMessage = b.Text
		case protocol.ProposedPlan:
			r.lastPlan = b.Text
		case protocol.Command:
			r.count(b)
		}
	}
	r.printer.show(m)
	return ending{}, false
}

// count keeps what tells whether commands could run at all.
func (r *runner) count(c protocol.Command) {
	switch {
	case c.Verdict != "":
	case !c.NoSandbox:
		r.ran = true
	case r.noSandbox == "":
		_, r.noSandbox, _ = strings.Cut(c.Output, "\n")
	}
}

func aborted(why protocol.AbortReason) ending {
	switch why {
	case protocol.AbortInterrupted:
		return ending{message: "turn interrupted", interrupted: true}
	case protocol.AbortBudget:
		return ending{message: "turn ended: its budget is used up"}
	}
	return ending{message: "turn ended: " + string(why)}
}

// words joins what went wrong and what to do, in less than 5,000 characters.
func words(t protocol.Trouble) string {
	message := visible.ClipRunes(t.Message, 4000)
	if message == "" {
		message = string(t.Kind)
	}
	if t.Hint == "" || strings.Contains(message, t.Hint) {
		return message
	}
	return strings.TrimRight(message, ".") + "; " + visible.ClipRunes(t.Hint, 500)
}

// finish closes the session, shows what it still warns of, and names the commands that it
// ends by that and the MCP servers that had no time to start or to fail.
func (r *runner) finish() {
	r.close(func(e protocol.Event) {
		if e.Agent != "" {
			return
		}
		switch m := e.Msg.(type) {
		case protocol.Warning:
			r.printer.show(m)
		case protocol.Servers:
			r.servers = m.Servers
		}
	})
	for _, p := range r.running {
		r.printer.show(protocol.Warning{Message: "this command still ran and was ended with the run: " +
			oneLine(visible.ClipRunes(p.Command, 500))})
	}
	for _, s := range r.servers {
		if s.State == "starting" {
			r.printer.show(protocol.Warning{Message: "MCP server " + s.Name + ": it was still starting when the run " +
				"ended; required = true among its settings waits for it"})
		}
	}
}

// close shuts the session down and hands what it still says to hear. A further signal,
// or too long a wait, leaves it behind.
func (r *runner) close(hear func(protocol.Event)) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	heard, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		// Close alone would throw away what is not taken at once.
		if r.session.Submit(ctx, protocol.Submission{ID: "end", Op: protocol.Shutdown{}}) == nil {
			select {
			case <-heard:
			case <-ctx.Done():
			}
		}
		_ = r.session.Close()
	}()
	events := r.session.Events()
	late := time.NewTimer(closing)
	defer late.Stop()
	for {
		select {
		case e, ok := <-events:
			if ok {
				hear(e)
			} else {
				events = nil
				close(heard)
			}
		case <-closed:
			return
		case s := <-r.o.Interrupts:
			if r.signal != nil {
				return
			}
			r.signal = s
		case <-late.C:
			return
		}
	}
}

func (r *runner) code(end ending) int {
	code := exitFailed
	switch {
	case end.done != nil:
		code = exitDone
		if err := r.keepMessage(end.done.LastMessage); err != nil {
			fmt.Fprintln(r.o.Stderr, "kerf: "+Visible(err.Error()))
			code = exitFailed
		}
		if why := r.unfollowed(end.done.LastMessage); why != "" && code == exitDone {
			fmt.Fprintln(r.o.Stderr, "kerf: "+Visible(why))
			code = exitFailed
		}
		if r.noSandbox != "" && !r.ran && code == exitDone {
			fmt.Fprintln(r.o.Stderr, "kerf: no command could run: "+Visible(r.noSandbox))
			code = exitNoSandbox
		}
		if message, hint := r.refused.words(); message != "" && code == exitDone {
			fmt.Fprintf(r.o.Stderr, "kerf: %s\nhint: %s\n", Visible(message), hint)
			code = exitFailed
		}
	case r.signal != nil:
		return signalCode(r.signal)
	}
	if err := r.printer.broken(); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			what := ", so the turn was stopped"
			if end.done != nil {
				what = "; the turn was over by then"
			}
			fmt.Fprintln(r.o.Stderr, "kerf: nobody reads standard output any more"+what)
		}
		return exitFailed
	}
	return code
}

func (r *runner) keepMessage(message string) error {
	if r.o.LastMessage == "" {
		return nil
	}
	if message == "" {
		fmt.Fprintln(r.o.Stderr, "kerf: the turn ended without a message; "+Visible(r.o.LastMessage)+" is empty")
	}
	if err := os.WriteFile(r.o.LastMessage, []byte(message), 0o666); err != nil {
		return fmt.Errorf("write the last message: %w", err)
	}
	return nil
}

func signalCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}
