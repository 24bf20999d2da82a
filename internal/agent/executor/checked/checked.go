// Package checked runs a project's checks around what an executor does: before files are
// changed, to know what fails already, after each change, and at the end of a turn.
package checked

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/check"
	"kerf/internal/work/check/treehash"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
)

// Options make an Executor.
type Options struct {
	Checks []check.Check
	Dir    string // the working directory
	Roots  []string
	List   treehash.Lister // of the files of a root whose state counts
	Ledger *ledger.Ledger
	Origin txn.Origin
	// Outputs keep what checks print.
	Outputs *outputlog.Store
}

// Executor is an executor with checks.
type Executor struct {
	*executor.Executor
	o     Options
	trees *treehash.Hasher

	stopping sync.Mutex // guards stop
	stop     context.CancelFunc

	mu       sync.Mutex // guards what follows; one check runs at a time
	suite    *check.Suite
	turn     protocol.TurnID
	began    int64 // the last entry of the ledger when the turn began
	settings protocol.Settings
	calls    int                  // the numbers of checks
	made     []history.FileChange // by checks, and in no outcome yet
	show     func(string)         // gets what checks print; nil is nobody
	refused  string               // the state of the files that kept the turn from ending
}

// New puts checks around an executor.
func New(exec *executor.Executor, o Options) *Executor {
	x := &Executor{Executor: exec, o: o, trees: &treehash.Hasher{Roots: o.Roots, List: o.List}}
	x.suite = check.New(check.Options{Checks: o.Checks, Dir: o.Dir, Run: x.run, Tree: x.trees.Tree, Recall: x.recall,
		Record: x.record})
	return x
}

// Prepare is that of the executor. The first one of a turn notes where the turn began.
func (x *Executor) Prepare(ctx context.Context, e turn.Prepare) turn.Prepared {
	x.mu.Lock()
	if x.turn != e.Turn {
		x.turn, x.began, x.refused = e.Turn, x.newest(), ""
		x.suite.Begin()
	}
	x.settings = e.Settings
	x.mu.Unlock()
	return x.Executor.Prepare(ctx, e)
}

// newest is the number of the last entry of the ledger.
func (x *Executor) newest() int64 {
	for e, err := range x.o.Ledger.Backward() {
		if err == nil {
			return e.Seq
		}
		break
	}
	return 0
}

// Run carries out a proposal, with the checks before it and after it.
func (x *Executor) Run(ctx context.Context, e turn.Run, l executor.Live) turn.Input {
	if e.Proposal == nil {
		return x.Executor.Run(ctx, e, l)
	}
	action := e.Proposal.Proposed()
	x.before(ctx, action)
	in := x.Executor.Run(ctx, e, l)
	done, ok := in.(turn.Finished)
	if !ok || ctx.Err() != nil {
		return in
	}
	x.after(ctx, &done.Outcome)
	return done
}

// before runs the checks that an action may break.
func (x *Executor) before(ctx context.Context, a tool.Action) {
	var changing []string
	switch a := a.(type) {
	case tool.Change:
		changing = x.relative(a.Set.Paths())
	case tool.Command:
		if policy.KnownSafe(a.Line) {
			return
		}
	case tool.Delegate, tool.Undo:
	default:
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.suite.Baseline(ctx, changing, check.Edit, check.Turn)
}

// after runs the checks of an edit, and adds what they say to the outcome of the call.
func (x *Executor) after(ctx context.Context, o *turn.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var paths []string
	for _, c := range o.Changes {
		if c.Cause != ledger.CauseOutside {
			paths = append(paths, string(c.Path))
		}
	}
	if files := x.relative(paths); len(files) > 0 {
		reports := x.suite.After(ctx, check.Edit, files)
		if text := check.Text(reports); text != "" {
			o.Text += "\n\n" + text
		}
		o.Checks = ran(reports, func(r check.Report) bool { return r.Outcome != check.OK || len(r.Changed) > 0 })
	}
	o.Changes = append(o.Changes, x.takeMade()...)
}

// relative are the paths below the working directory, as checks name them.
func (x *Executor) relative(paths []string) []string {
	names := []string{}
	for _, p := range paths {
		rel, err := filepath.Rel(x.o.Dir, p)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		names = append(names, filepath.ToSlash(rel))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (x *Executor) takeMade() []history.FileChange {
	made := x.made
	x.made = nil
	return made
}

// Again runs the checks of a moment on the files as they are, outside of turns.
func (x *Executor) Again(ctx context.Context, set protocol.Settings, m check.Moment) []check.Report {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settings, x.show = set, m.Show
	return x.suite.Again(ctx, m)
}

// StopChecks ends the checks of a turn that is over but for them.
func (x *Executor) StopChecks() {
	x.stopping.Lock()
	defer x.stopping.Unlock()
	if x.stop != nil {
		x.stop()
	}
}

// Settle runs the checks of a turn whose work is done. A check that blocks and newly fails
// has the turn go on; where it cannot, the turn fails.
func (x *Executor) Settle(ctx context.Context, e turn.Settle) turn.Settled {
	checking, cancel := context.WithCancel(ctx)
	defer cancel()
	x.stopping.Lock()
	x.stop = cancel
	x.stopping.Unlock()
	reports, again := x.atEnd(checking, e)
	blocks := slices.DeleteFunc(slices.Clone(reports), func(r check.Report) bool { return !r.Blocks() })
	items := ran(reports, func(check.Report) bool { return !again })
	x.mu.Lock()
	made := x.takeMade()
	x.mu.Unlock()
	for i := range made {
		made[i].Turn = e.Turn
	}
	mendable := slices.ContainsFunc(blocks, func(r check.Report) bool { return r.Outcome == check.Failed })
	if mendable && !again && e.Done && ctx.Err() == nil {
		return turn.Settled{Turn: e.Turn, GoOn: "<check_results>\n" + check.Text(blocks) +
			"\n\nMend what is newly broken; then end your turn.\n</check_results>", Checks: items, Changes: made}
	}
	in := x.Executor.Settle(ctx, e)
	in.Checks, in.Changes = items, append(made, in.Changes...)
	if len(blocks) > 0 {
		in.Cut = "the turn ends with checks that do not pass: " + blocks[0].Check.Name + ": " + blocks[0].Verdict()
	} else if text := check.Text(reports); text != "" {
		in.Note = "<check_results>\n" + text + "\n</check_results>"
	}
	return in
}

// atEnd runs the checks at the end of a turn that changed something. Again says that the
// files are as they were when the turn was refused its end for the last time: then they
// are judged, and the turn is over.
func (x *Executor) atEnd(ctx context.Context, e turn.Settle) (reports []check.Report, again bool) {
	if !e.Done && e.WentOn == 0 {
		return nil, false // it failed, or was stopped
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.turn != e.Turn {
		return nil, false // it called no tool
	}
	files := x.relative(x.changed(e.Turn))
	if len(files) == 0 {
		return nil, false
	}
	tree, err := x.trees.Tree(ctx)
	again = err == nil && tree == x.refused
	reports = x.suite.After(ctx, check.Turn, files)
	if x.refused = ""; check.Blocks(reports) && err == nil {
		x.refused = tree
	}
	return reports, again
}

// changed are the paths that the turn changed, by whatever worked for it.
func (x *Executor) changed(id protocol.TurnID) []string {
	var paths []string
	for e, err := range x.o.Ledger.Backward() {
		if err != nil || e.Seq <= x.began {
			break
		}
		if e.Session == x.o.Origin.Session && e.Turn == string(id) && e.Cause != ledger.CauseOutside {
			for _, c := range e.Changes {
				paths = append(paths, c.Path)
			}
		}
	}
	return paths
}

// grace is how long the end of a command may take beyond its own limit.
const grace = 5 * time.Second

// run runs the command of a check in the sandbox, also in a session without one. What it
// changes is entered as what the turn's commands did. The lock is held.
func (x *Executor) run(ctx context.Context, c check.Check, line string) check.Ran {
	began := time.Now()
	x.calls++
	id := protocol.CallID(fmt.Sprintf("check_%s_%d", cmp.Or(string(x.turn), "0"), x.calls))
	set := x.settings
	set.Approval = protocol.PolicyNever
	if set.Sandbox == protocol.SandboxFull {
		set.Sandbox = protocol.SandboxWorkspace
	}
	a := tool.Command{Line: line, Argv: []string{"bash", "-c", line}, Dir: x.o.Dir, Timeout: c.Timeout,
		Yield: c.Timeout + grace}
	o := x.Do(ctx, id, a, executor.RunOptions{Settings: set, Turn: x.turn, Tool: "check", Show: x.show})
	x.made = append(x.made, o.Changes...)
	r := check.Ran{Took: time.Since(began)}
	body, _ := o.Body.(protocol.Command)
	r.Output = body.Output
	if x.o.Outputs.Redact != nil {
		r.Output = string(x.o.Outputs.Redact([]byte(r.Output)))
	}
	switch {
	case body.NoSandbox || body.ExitCode == nil:
		r.Unable = firstLine(o.Text)
	case *body.ExitCode == command.TimedOut && r.Took >= c.Timeout:
		r.TimedOut = true
	default:
		r.Exit = *body.ExitCode
	}
	if r.Exit == 0 && !o.Success && r.Unable == "" && !r.TimedOut {
		r.Unable = "it was stopped"
	}
	var paths []string
	for _, ch := range o.Changes {
		paths = append(paths, string(ch.Path))
	}
	r.Changed = x.relative(paths)
	return r
}

func firstLine(text string) string {
	text = strings.TrimPrefix(text, "exit code 125\n")
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// record keeps the output and enters the verdict into the ledger.
func (x *Executor) record(r check.Report) string {
	return x.o.enter(x.turn, r.Output, ledger.Verdict{Name: r.Check.Name, Command: r.Check.Command, When: string(r.When),
		Outcome: string(r.Outcome), Exit: r.Exit, New: len(r.New), Known: r.Known, Why: r.Why, Millis: r.Took.Milliseconds(),
		Tree: r.Tree, Moved: r.Moved})
}

// enter keeps what a check printed, and enters its verdict. It returns the name of the output.
func (o *Options) enter(turn protocol.TurnID, output string, v ledger.Verdict) string {
	log := o.Outputs.New()
	_, _ = log.Write([]byte(output))
	v.Output = log.Name()
	e := &ledger.Entry{Session: o.Origin.Session, Client: o.Origin.Client, Turn: string(turn), Tool: "check",
		Cause: ledger.CauseChecked, Certainty: ledger.Proven, Exact: true, Changes: []ledger.Change{}, Check: &v}
	if o.Ledger.Append(e) == nil { // without it the check is not on record, and runs again
		_ = o.Ledger.Sync() // so that nobody cuts it off unnoticed
	}
	return v.Output
}

// The bounds of an output that is read again.
const (
	recallLines = 100_000
	recallWidth = 10_000
)

// recall finds a verdict about the same files.
func (x *Executor) recall(c check.Check, tree string) (exit int, output string, ok bool) {
	for e, err := range x.o.Ledger.Backward() {
		if err != nil {
			break
		}
		v := e.Check
		if v == nil {
			if len(e.Changes) > 0 {
				break // it was about other files
			}
			continue
		}
		if v.Tree != tree || v.Name != c.Name || v.Command != c.Command || !lasts(v) {
			continue
		}
		if v.Exit == 0 {
			return 0, "", true
		}
		lines, total, err := x.o.Outputs.Lines(v.Output, 1, recallLines, recallWidth)
		if err != nil || total > len(lines) {
			return 0, "", false
		}
		return v.Exit, strings.Join(lines, "\n"), true
	}
	return 0, "", false
}

// lasts reports whether a verdict tells what the check comes to on the same files: it ran to its
// end, as checks run, and beside no other files that count.
func lasts(v *ledger.Verdict) bool {
	return v.Outcome != string(check.Flaky) && v.Outcome != string(check.Unable) && v.When != string(check.Goal) &&
		v.Beside == 0
}

// ran are the reports that fit, as what was run.
func ran(reports []check.Report, fits func(check.Report) bool) (list []turn.CheckRun) {
	for _, r := range reports {
		if !fits(r) {
			continue
		}
		b := protocol.Command{Command: r.Check.Command, Verdict: r.Check.Name + ": " + r.Verdict()}
		if r.Outcome != check.OK && r.Outcome != check.Before {
			b.Output = r.Output
		}
		if r.Outcome != check.Unable {
			b.ExitCode = &r.Exit
		}
		list = append(list, turn.CheckRun{Body: b, Text: r.Text(),
			OK: r.Outcome == check.OK || r.Outcome == check.Before || r.Outcome == check.Flaky})
	}
	return list
}
