// Package executor carries out what tools propose: it asks the policy, commits changes,
// runs commands, calls MCP servers, takes changes back, and records what came of it.
package executor

import (
	"context"
	"sync"

	"kerf/internal/agent/executor/aim"
	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/executor/headmove"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/executor/usershell"
	"kerf/internal/agent/executor/watch"
	"kerf/internal/agent/executor/webpages"
	"kerf/internal/agent/history"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/skills"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/tools/correct"
	"kerf/internal/agent/view"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/scan"
	"kerf/internal/work/search"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
)

// Options make Executor.
type Options struct {
	Cwd  string
	Base string // diffs name paths relative to this directory
	// Correct has proposed texts checked for slips; nil does not.
	Correct *correct.Corrector
	Tree    files.Tree
	Work    *txn.Workspace
	// Images gives back the bytes of an image.
	Images func(delta.Sum) ([]byte, error)
	// Keep stores what the model was shown, so that a later session knows it too.
	Keep func([]byte) (delta.Sum, error)
	// Witness sees what commands in the sandbox change; nil where that is not possible.
	Witness    *witness.Witness
	WitnessAll bool // also what they change outside of it; some of what they start may go on
	// Unrecorded refuses what cannot be recorded; nil refuses nothing.
	Unrecorded *unrecorded.Guard
	// Scanner finds what commands changed; nil when Unscanned says why it cannot.
	Scanner   *scan.Scanner
	Unscanned string
	Search    *search.Searcher
	Boundary  *boundary.Session // what files and commands may reach
	// Sandbox makes the policy of a command for the given mode; nil for that of Boundary.
	Sandbox func(protocol.SandboxMode) boundary.Policy
	Env     func(tty bool) []string
	Origin  txn.Origin // who: session and client of ledger entries
	// SaveDiff keeps the diff of one change and returns its name; nil keeps none.
	SaveDiff     func([]byte) (string, error)
	OutputTokens int
	// Fleeting sessions write no output of commands down; it can be read again only while they last.
	Fleeting bool
	// Rules are those of all rules files; AddRule writes one to the user's, nil writes none.
	Rules    []policy.Rule
	AddRule  func(line string) error
	Confined bool // as in [policy.Rules]
	// Redact takes secrets out of what commands print before anybody sees it; nil takes none.
	Redact func([]byte) []byte
	// Hooks watch calls and may object; nil has none.
	Hooks *hooks.Set
	// Client is what the front end's own program offers, nil for nothing.
	Client *protocol.ClientServices
	// Parent is that of the session whose sub-agent this one is for, when both work in the same tree.
	Parent *Executor
	// Lender is the executor whose MCP servers this one uses, nil for its own.
	Lender *Executor
	// Shell is the user's own, which commands take aliases and functions from.
	Shell usershell.Options
	// Seen is what the model of a resumed session last saw.
	Seen map[string]history.Observation
	// Instructions are what the model is told before a turn; nil tells nothing.
	Instructions *instructions.Sources
	// View is what the model has seen, shared with the session; nil begins one.
	View *view.View
	// Versions are those that the model was told; nil begins anew.
	Versions *tree.Versions
	// Skills are those whose files read_file reads.
	Skills []skills.Skill
	// Manner is how results are written for a model; nil writes them as for programs.
	Manner func(model string) tool.Manner
	// Pages reads pages of the web; nil refuses to.
	Pages *webpages.Pages
	// Languages answers questions about code; nil has nobody to ask.
	Languages files.Languages
	// Only, when not nil, names the tools that may be called.
	Only []string
}

// Executor carries out what tools propose. It is the one place where files are committed and
// commands are run. The methods may be called by several goroutines; actions that must not run
// beside others are kept apart by the core.
type Executor struct {
	o        Options
	commands *command.Runner
	files    *files.Files
	memory   policy.Memory // what the user allowed for the session
	servers  *mcp.Servers
	borrowed bool // the servers are the parent's
	record   *recorder
	watched  *watch.Watcher // nil without a witness
	aim      aim.Aim
	head     *headmove.Watch

	mu    sync.Mutex // guards what follows
	notes []string   // what the model is to be told with the next turn

	shell   *usershell.Shell
	outputs outputlog.Store
}

// New returns the executor of one session.
func New(o Options) *Executor {
	if o.View == nil {
		o.View = &view.View{}
	}
	if o.Versions == nil {
		o.Versions = &tree.Versions{}
	}
	if o.Sandbox == nil && o.Boundary != nil {
		o.Sandbox = func(mode protocol.SandboxMode) boundary.Policy { return o.Boundary.Policy(string(mode)) }
	}
	h := &Executor{o: o, aim: aim.Aim{Dir: o.Cwd}, head: &headmove.Watch{Dir: o.Cwd}}
	if o.Lender != nil {
		h.servers, h.borrowed = o.Lender.servers, true
	}
	h.outputs = outputlog.Store{Keep: o.Keep, Images: o.Images, Redact: o.Redact}
	if o.Fleeting {
		h.outputs.Keep = nil
	}
	sh := o.Shell
	sh.Dir, sh.Env = o.Cwd, o.Env
	sh.Sandbox = func() boundary.Policy { return o.Sandbox(protocol.SandboxReadOnly) }
	h.shell = usershell.New(sh)
	co := command.Options{Sandbox: o.Sandbox, Env: o.Env, Shell: h.shell, Outputs: &h.outputs,
		OutputTokens: o.OutputTokens}
	fo := files.Options{Cwd: o.Cwd, Base: o.Base, Tree: o.Tree, Txn: o.Work, Images: o.Images, Keep: o.Keep,
		Search:  o.Search,
		Outputs: &h.outputs, View: o.View, Versions: o.Versions, Seen: o.Seen, Languages: o.Languages}
	if o.Client != nil {
		co.Terminals, fo.Editor = o.Client.Terminals, o.Client.Files
	}
	h.files = files.New(fo)
	h.record = &recorder{o: o, files: h.files, collect: func() {}}
	h.record.roots.Scanner, h.record.roots.Enter = o.Scanner, h.record.collectAll
	if o.Work != nil {
		h.record.outside.Ledger, h.record.roots.Ledger = o.Work.Ledger, o.Work.Ledger
	}
	h.commands = command.New(co)
	if o.Witness != nil {
		h.watched = watch.New(watch.Options{Witness: o.Witness, Work: o.Work, Later: h.record.later,
			Outlive: o.WitnessAll, Dir: o.Cwd})
		h.record.collect = h.watched.Collect
	}
	if o.Parent != nil {
		h.record.join(o.Parent.record)
		h.head = o.Parent.head
	}
	return h
}

// Close ends the processes that still run.
func (h *Executor) Close() {
	h.record.leave()
	h.shell.Close()
	h.commands.Close()
	if h.watched != nil {
		h.watched.Close()
	}
	if h.servers != nil && !h.borrowed {
		h.servers.Close()
	}
}

// Serve starts the MCP servers; a session does it before its first call.
func (h *Executor) Serve(o mcp.Options, f mcp.Front) {
	o.Version = Version
	if servers := mcp.Start(o, f); servers != nil {
		h.servers = servers
	}
}

// Settled waits until the servers are ready or have failed, and returns why the first named one has.
func (h *Executor) Settled(ctx context.Context, required []string) error {
	return h.servers.Settled(ctx, required)
}

// Offered are the tools of the servers that are ready.
func (h *Executor) Offered() []tool.Spec { return h.servers.Offered() }

// Parallel reports whether a call may run beside others: tools that only read,
// and commands that are known to.
func Parallel(c tool.Call) bool {
	t, ok := tools.Lookup(c.Name)
	if !ok {
		return true
	}
	spec := t.Spec()
	return spec.Parallel || spec.Name == "exec_command" && policy.KnownSafe(tools.CommandLine(c))
}
