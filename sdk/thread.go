package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ThreadOptions say how the turns of a thread run. Empty fields leave it to the
// configuration.
type ThreadOptions struct {
	// Dir is the working directory; AddDirs are further writable directories.
	Dir     string
	AddDirs []string
	Model   string
	Effort  string // of reasoning: minimal, low, medium, high …
	// Sandbox is read-only, workspace-write or danger-full-access. Approval is
	// untrusted, on-request, never, auto-edit or plan; what would be asked is
	// refused, since nobody can be asked.
	Sandbox, Approval string
	// SkipGitCheck lets a thread run outside a git repository.
	SkipGitCheck bool
	// Ephemeral keeps no session on disk; such a thread has one turn.
	Ephemeral bool
	// MaxTurns bounds the model requests of a turn, Timeout its time; 0 is no bound.
	MaxTurns int
	Timeout  time.Duration
}

// Input is what the user says. Images are paths of image files. Schema, when not
// nil, is the JSON schema that the last message must follow: a json.RawMessage,
// or a value that marshals to one.
type Input struct {
	Text   string
	Images []string
	Schema any
}

// Turn is a turn that is done.
type Turn struct {
	// Text is the last message.
	Text  string
	Items []Item
	Usage Usage
}

// Thread is one session. Its turns run one after the other, also when several
// goroutines ask for them.
type Thread struct {
	client *Client
	o      ThreadOptions
	fork   string

	running sync.Mutex // held while a turn runs
	mu      sync.Mutex
	id      string
}

// Start makes a thread whose first turn begins a new session.
func (c *Client) Start(o ThreadOptions) *Thread { return &Thread{client: c, o: o} }

// Resume makes a thread that goes on with a session, named by its id or by the
// beginning of it.
func (c *Client) Resume(id string, o ThreadOptions) *Thread {
	return &Thread{client: c, o: o, id: id}
}

// Fork makes a thread that begins a new session with the history of another.
func (c *Client) Fork(id string, o ThreadOptions) *Thread { return &Thread{client: c, o: o, fork: id} }

// ID is the id of the session, empty before the first turn began.
func (t *Thread) ID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id
}

// Run runs a turn to its end. The error is a *TurnError when the turn failed, an
// *ExitError when there was none, and that of ctx when it was cancelled; the turn
// has what was done until then.
func (t *Thread) Run(ctx context.Context, in Input) (Turn, error) {
	var turn Turn
	for e, err := range t.Stream(ctx, in) {
		if err != nil {
			return turn, err
		}
		switch e := e.(type) {
		case ItemCompleted:
			turn.Items = append(turn.Items, e.Item)
			if m, ok := e.Item.(Message); ok {
				turn.Text = m.Text
			}
		case TurnCompleted:
			turn.Usage = e.Usage
		}
	}
	return turn, nil
}

// Stream runs a turn and yields its events as they come. An error comes last, with
// a nil event, and is as for Run. The turn is interrupted when ctx is done or the
// loop is left; the program has ended when Stream returns.
func (t *Thread) Stream(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t.running.Lock()
		defer t.running.Unlock()
		args, cleanup, err := t.args(in)
		if err != nil {
			yield(nil, err)
			return
		}
		defer cleanup()
		if err := t.turn(ctx, args, in.Text, func(e Event) bool { return yield(e, nil) }); err != nil &&
			!errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// errLeft says that nobody listens any more.
var errLeft = errors.New("the loop was left")

// turn runs the program and hands out what it tells.
func (t *Thread) turn(ctx context.Context, args []string, prompt string, tell func(Event) bool) error {
	cmd := t.client.command(args...)
	var said tail
	cmd.Stdin, cmd.Stderr = strings.NewReader(prompt), &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start kerf: %w", err)
	}
	over := make(chan struct{})
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { endWhen(ctx, stop, over, cmd.Process) })
	failure, heard := t.hear(out, tell)
	if heard != nil {
		close(stop)
		_, _ = io.Copy(io.Discard, out)
	}
	err = cmd.Wait()
	close(over)
	watch.Wait()
	var exit *exec.ExitError
	switch {
	case heard != nil:
		return heard
	case ctx.Err() != nil && (failure != nil || err != nil):
		return ctx.Err()
	case failure != nil:
		return failure
	case errors.As(err, &exit):
		return &ExitError{exit.ExitCode(), said.String()}
	}
	return err
}

// endWhen interrupts the program when ctx is done or stop is closed, and kills it
// if it does not end in time.
func endWhen(ctx context.Context, stop, over <-chan struct{}, p *os.Process) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-stop:
	}
	if p.Signal(os.Interrupt) == nil { // not every system has it
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-over:
			return
		case <-timer.C:
		}
	}
	_ = p.Kill()
}

// hear reads events until the program says no more. failure is how the turn
// failed, err what kept it from being heard.
func (t *Thread) hear(out io.Reader, tell func(Event) bool) (failure *TurnError, err error) {
	for lines := bufio.NewReader(out); ; {
		line, end := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e, err := ParseEvent(line)
			if err != nil {
				return nil, err
			}
			switch e := e.(type) {
			case ThreadStarted:
				t.mu.Lock()
				t.id = e.ThreadID
				t.mu.Unlock()
			case TurnFailed:
				failure = &TurnError{e.Message}
			}
			if !tell(e) {
				return failure, errLeft
			}
		}
		if end != nil {
			return failure, nil
		}
	}
}

// args are those of kerf exec for one turn. The prompt goes through the standard
// input, so that no text is taken for a flag.
func (t *Thread) args(in Input) (args []string, cleanup func(), err error) {
	args = []string{"exec", "--experimental-json"}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	o := t.o
	add("--cd", o.Dir)
	for _, d := range o.AddDirs {
		add("--add-dir", d)
	}
	add("--model", o.Model)
	add("--sandbox", o.Sandbox)
	add("--ask-for-approval", o.Approval)
	if o.Effort != "" {
		add("--config", "model_reasoning_effort="+tomlString(o.Effort))
	}
	if o.SkipGitCheck {
		args = append(args, "--skip-git-repo-check")
	}
	if o.Ephemeral {
		args = append(args, "--ephemeral")
	}
	if o.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.Timeout > 0 {
		add("--timeout", o.Timeout.String())
	}
	for _, path := range in.Images {
		if strings.ContainsAny(path, ",\"\n") { // the flag takes a list
			path = `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
		}
		add("--image", path)
	}
	cleanup = func() {}
	if in.Schema != nil {
		dir, err := writeSchema(in.Schema)
		if err != nil {
			return nil, nil, fmt.Errorf("schema: %w", err)
		}
		cleanup = func() { _ = os.RemoveAll(dir) }
		add("--output-schema", filepath.Join(dir, schemaName))
	}
	switch id := t.ID(); {
	case id != "":
		args = append(args, "resume", "--", id)
	case t.fork != "":
		args = append(args, "fork", "--", t.fork)
	}
	return append(args, "-"), cleanup, nil
}

const schemaName = "schema.json"

// writeSchema writes a schema into a directory of its own.
func writeSchema(schema any) (dir string, err error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "kerf-sdk-"); err != nil {
		return "", err
	}
	if err = os.WriteFile(filepath.Join(dir, schemaName), text, 0o600); err != nil {
		_ = os.RemoveAll(dir)
	}
	return dir, err
}
