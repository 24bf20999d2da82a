package trying

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config/document"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
	"kerf/internal/work/tries"
)

// Attempts run one request several times, each in a try and a session of its own.
type Attempts struct {
	Count    int
	Models   []string // taken in turn
	Jobs     int      // how many run at a time; 0 is one for each processor
	KeepBest bool

	// What the request is, and how it is judged.
	Check   string        // the shell command that decides, empty for the exit code of the run
	Timeout time.Duration // of the check; 0 is longestCheck
	AddDirs []string
	Request string
	Model   string // that of the command line
	JSON    bool
	Input   []byte // for the standard input of each
}

// AttemptFlags adds the flags.
func AttemptFlags(f *pflag.FlagSet, a *Attempts) {
	f.IntVar(&a.Count, "attempts", 0, "try the request `n` times, each in a try and a session of its own; "+
		"--check decides, then the size of the diff")
	f.StringSliceVar(&a.Models, "models", nil, "with --attempts: a `model`, or several (A,B) that take turns")
	f.IntVar(&a.Jobs, "jobs", 0, "with --attempts: at most `n` at a time (one for each processor)")
	f.BoolVar(&a.KeepBest, "keep-best", false, "with --attempts: keep the best one that passes, and throw the others away")
}

// Wanted reports whether several attempts are asked for.
func (a *Attempts) Wanted() bool { return a.Count != 0 }

// Misused says which flags do not go together.
func (a *Attempts) Misused(try string) error {
	switch {
	case a.Count == 0 && (len(a.Models) > 0 || a.Jobs != 0 || a.KeepBest):
		return program.Misuse("--models, --jobs and --keep-best are about attempts: say how many with --attempts N")
	case a.Count < 0 || a.Count > maxAttempts:
		return program.Misuse("--attempts %d: give a number from 1 to %d", a.Count, maxAttempts)
	case a.Count > 0 && try != "":
		return program.Misuse("--attempts makes tries of its own; leave --try out")
	case a.Model != "" && len(a.Models) > 0:
		return program.Misuse("give --model or --models")
	case a.Jobs < 0:
		return program.Misuse("--jobs %d: give a number, 1 or more", a.Jobs)
	}
	return nil
}

// longestCheck bounds a check where --timeout does not.
const longestCheck = time.Hour

// maxAttempts bounds what one command starts.
const maxAttempts = 64

// Inside reports whether this process is one of the attempts.
func Inside(p *program.Program, h *host.Host) bool {
	return p.Getenv(tries.Env) != "" && tries.Inside(h.Config.Cwd)
}

// attempt is one of them, and what it came to.
type attempt struct {
	_       [0]func()      // attempts are never compared
	Try     int            `json:"try"`
	Model   string         `json:"model,omitempty"`
	Session string         `json:"session,omitempty"`
	Exit    int            `json:"exit"`            // of the run
	Check   *int           `json:"check,omitempty"` // the exit code of the check; nil where it did not run
	Passed  bool           `json:"passed"`
	Files   int            `json:"files"`
	Added   int            `json:"added"`
	Removed int            `json:"removed"`
	Usage   protocol.Usage `json:"usage"`
	Cost    *float64       `json:"cost_usd,omitempty"` // nil where no price is known
	Seconds float64        `json:"seconds"`
	Kept    bool           `json:"kept"`
	// CheckWrote says that the check changed files which are kept with the others.
	CheckWrote bool   `json:"check_wrote,omitempty"`
	Error      string `json:"error,omitempty"`

	try *tries.Try
}

func (a *attempt) size() int { return a.Added + a.Removed }

// Run carries them out, and shows what came of each.
func (a *Attempts) Run(ctx context.Context, p *program.Program, h *host.Host) error {
	jobs := cmp.Or(a.Jobs, runtime.NumCPU())
	list := make([]*attempt, a.Count)
	for i := range list { // before anything runs: what is wrong is wrong for all
		t, err := open(h, Session{Try: newTry, AddDirs: a.AddDirs, Request: fmt.Sprintf("%s (attempt %d of %d)", a.Request, i+1,
			a.Count)})
		if err != nil {
			for _, x := range list[:i] {
				err = errors.Join(err, x.try.Remove())
			}
			return err
		}
		list[i] = &attempt{Try: t.ID, Model: cmp.Or(a.Model, h.Config.Model), try: t}
		if len(a.Models) > 0 {
			list[i].Model = a.Models[i%len(a.Models)]
		}
	}
	var running sync.WaitGroup
	var say sync.Mutex // guards standard error
	slots := make(chan struct{}, jobs)
	told, end := untilStopped(ctx) // the attempts are told by themselves
	defer end()
	for _, x := range list {
		slots <- struct{}{}
		if told.Err() != nil {
			<-slots
			x.Error = "it was not begun"
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			if err := a.one(ctx, told, p, h, x); err != nil {
				x.Error = visible.OneLine(h.Redact(err.Error()), 300)
			}
			say.Lock()
			defer say.Unlock()
			fmt.Fprintf(p.Stderr, "kerf: attempt in try %d: %s\n", x.Try, x.words())
		})
	}
	running.Wait()
	order.Stably(list, better)
	if err := a.settle(ctx, p, h, list, told.Err() == nil); err != nil {
		return err
	}
	if err := a.show(p, list); err != nil {
		return err
	}
	if told.Err() != nil {
		return program.Exit(stopped)
	}
	if !list[0].Passed {
		return program.Exit(1)
	}
	return nil
}

// better orders attempts: those that passed, then those that changed less, then the older. One
// that passed and changed nothing comes after those that changed something: the check passed
// before it, too.
func better(x, y *attempt) int {
	rank := func(a *attempt) int {
		switch {
		case a.Passed && a.Files > 0:
			return 0
		case a.Passed:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.size(), y.size()), cmp.Compare(x.Try, y.Try))
}

// one runs one attempt, then the check in the same try, which ends with told.
func (a *Attempts) one(ctx, told context.Context, p *program.Program, h *host.Host, x *attempt) error {
	began := time.Now()
	defer func() { x.Seconds = time.Since(began).Seconds() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := []string{self}
	if len(a.Models) > 0 {
		argv = append(argv, "-c", "model="+document.Quote(x.Model))
	}
	if most := h.Config.Budget.MaxCost; most > 0 { // together they may cost what one may
		argv = append(argv, "-c", fmt.Sprintf("budget.max_cost=%g", most/float64(a.Count)))
	}
	if x.Exit, err = a.in(ctx, p, h, x, "events.jsonl", "progress.log", append(argv, os.Args[1:]...)); err != nil {
		return err
	}
	if err := x.read(h); err != nil {
		return err
	}
	x.Passed = x.Exit == 0
	before, err := x.measure(ctx, h)
	if err != nil || strings.TrimSpace(a.Check) == "" {
		return err
	}
	if err := a.check(told, p, h, x, self); err != nil {
		return err
	}
	sized := *x
	after, err := sized.measure(ctx, h)
	x.CheckWrote = before != after
	return err
}

// check runs the check in the try of an attempt, and takes its verdict from the record.
func (a *Attempts) check(ctx context.Context, p *program.Program, h *host.Host, x *attempt, self string) error {
	most := cmp.Or(a.Timeout, longestCheck)
	bounded, stop := context.WithTimeout(ctx, most+time.Minute) // the check is ended before
	defer stop()
	x.Passed = false
	_, before, err := x.try.Attempt() // what the run itself made Kerf say does not count
	if err != nil {
		return err
	}
	_, err = a.in(bounded, p, h, x, "check.log", "check.err", []string{self, "-c", `sandbox_mode="workspace-write"`,
		"verify", "--checks", "--attempt", "--timeout", most.String(), "--run=" + a.Check})
	if ctx.Err() != nil {
		return errors.New("the check was interrupted")
	}
	if err != nil {
		return err
	}
	v, seq, err := x.try.Attempt()
	switch {
	case err != nil:
		return err
	case v == nil || seq <= before || v.Command != strings.TrimSpace(a.Check):
		return errors.New("the check has no verdict: " + x.said(h, "check.err"))
	case v.Why != "":
		x.Error = cmp.Or(x.Error, "check: "+visible.OneLine(h.Redact(v.Why), 300))
	default:
		x.Check, x.Passed = &v.Exit, x.Exit == 0 && v.Exit == 0
	}
	return nil
}

// said is the last line of a file beside the try.
func (x *attempt) said(h *host.Host, name string) string {
	data, _ := os.ReadFile(filepath.Join(x.try.Dir, name))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return visible.OneLine(h.Redact(lines[len(lines)-1]), 300)
}

// in runs a program in the try, with its output in files beside it.
func (a *Attempts) in(ctx context.Context, p *program.Program, h *host.Host, x *attempt, out, more string,
	argv []string) (int, error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	open := func(name string) (*os.File, error) {
		f, err := os.OpenFile(filepath.Join(x.try.Dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		files = append(files, f)
		return f, err
	}
	stdin, err := open("stdin")
	if err != nil {
		return 0, err
	}
	if _, err := stdin.Write(a.Input); err != nil {
		return 0, err
	}
	if _, err := stdin.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	stdout, err := open(out)
	if err != nil {
		return 0, err
	}
	stderr, err := open(more)
	if err != nil {
		return 0, err
	}
	c := tries.Command{Dir: x.try.Meta.Roots[0], Argv: argv, Env: p.Env, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	return within(ctx, h, func(ctx context.Context) (int, error) { return overOrCopied(ctx, p, h, x.try, c) })
}

// read takes from the events what the run used.
func (x *attempt) read(h *host.Host) error {
	data, err := os.ReadFile(filepath.Join(x.try.Dir, "events.jsonl"))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		var e struct {
			Type    string          `json:"type"`
			Thread  string          `json:"thread_id"`
			Usage   *protocol.Usage `json:"usage"`
			Message string          `json:"message"`
			Error   struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Type == "thread.started":
			x.Session = e.Thread
		case e.Usage != nil:
			x.Usage = x.Usage.Add(*e.Usage)
		case e.Type == "turn.failed":
			x.Error = visible.OneLine(h.Redact(e.Error.Message), 300)
		}
	}
	if x.Exit != 0 && x.Error == "" {
		x.Error = x.said(h, "progress.log")
	}
	if dollars, known := h.Price(x.Model, x.Usage); known {
		x.Cost = &dollars
	}
	return nil
}

// measure counts what the attempt changed, and returns it.
func (x *attempt) measure(ctx context.Context, h *host.Host) (string, error) {
	plan, ws, err := planOf(ctx, h, x.try, tries.Options{})
	if err != nil {
		return "", err
	}
	defer ws.Close()
	text := plan.Diff(x.try.Meta.Roots[0])
	s := shown.Tally(text)
	x.Files, x.Added, x.Removed = len(shown.Files(text)), s.Added, s.Removed
	return text, nil
}

// settle keeps the best attempt if that is asked for and nobody stopped them, and gives the tries
// back.
func (a *Attempts) settle(ctx context.Context, p *program.Program, h *host.Host, list []*attempt, whole bool) error {
	defer func() {
		for _, x := range list {
			x.try.Unlock()
		}
	}()
	if !a.KeepBest || !list[0].Passed || !whole {
		return nil
	}
	verdicts, err := checked(ctx, p, h, list[0].try)
	if err != nil {
		return err
	}
	plan, ws, err := planOf(ctx, h, list[0].try, tries.Options{})
	if err != nil {
		return err
	}
	defer ws.Close()
	if plan.Count(tries.Conflict) > 0 {
		return &program.Error{Code: 1, Err: fmt.Errorf("the best attempt, try %d, conflicts with what was changed here meanwhile",
			list[0].Try), Hint: fmt.Sprintf("see kerf keep %d --dry-run; all attempts wait", list[0].Try)}
	}
	if err := carryOut(ctx, p, ws, plan, verdicts); err != nil {
		return err
	}
	list[0].Kept = true
	for _, x := range list {
		err = errors.Join(err, x.try.Remove())
	}
	return err
}

// words say in short what came of it.
func (x *attempt) words() string {
	text := "passed"
	switch {
	case x.Error != "":
		text = "failed: " + x.Error
	case x.Check != nil && *x.Check != 0:
		text = fmt.Sprintf("the check failed (exit %d)", *x.Check)
	case !x.Passed:
		text = fmt.Sprintf("failed (exit %d)", x.Exit)
	}
	if x.CheckWrote {
		text += "; the check changed files, too"
	}
	return fmt.Sprintf("%s, %.1f s", visible.Plain(text), x.Seconds)
}

func (a *Attempts) show(p *program.Program, list []*attempt) error {
	if a.JSON {
		return print.Array(p.Stdout, list)
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TRY\tMODEL\tRESULT\tFILES\tLINES\tTOKENS\tCOST\tSECONDS")
	for _, x := range list {
		result, cost := "failed", "-"
		switch {
		case x.Kept:
			result = "kept"
		case x.Passed:
			result = "passed"
		}
		if x.Cost != nil {
			cost = fmt.Sprintf("$%.4f", *x.Cost)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t+%d -%d\t%d\t%s\t%.1f\n", x.Try, visible.Plain(x.Model), result, x.Files, x.Added,
			x.Removed, x.Usage.Total(), cost, x.Seconds)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if best := list[0]; best.Kept {
		fmt.Fprintf(p.Stderr, "kerf: try %d was kept; kerf undo takes it back\n", best.Try)
	} else {
		fmt.Fprintf(p.Stderr, "kerf: next: kerf tries diff %d, then kerf keep %d; kerf discard NUMBER throws one away\n",
			best.Try, best.Try)
	}
	return nil
}
