package executor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"kerf/internal/agent/executor/command"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/executor/usershell"
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
	"kerf/internal/text/lines"
	"kerf/internal/work/ledger"
	"kerf/internal/work/sandbox/plan"
	"kerf/internal/work/scan"
	"kerf/internal/work/search"
	"kerf/internal/work/track"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// Options make Executor.
type Options struct {
	Cwd  string
	Base string // diffs name paths relative to this directory
	// Correct has proposed texts checked for slips; nil does not.
	Correct *correct.Corrector
	Tree    *tree.Tree
	Work    *txn.Workspace
	// Images gives back the bytes of an image.
	Images func(delta.Sum) ([]byte, error)
	// Keep stores what the model was shown, so that a later session knows it too.
	Keep func([]byte) (delta.Sum, error)
	// Scanner finds what commands changed; nil when Unscanned says why it cannot.
	Scanner   *scan.Scanner
	Unscanned string
	Search    *search.Searcher
	// Sandbox makes the policy of a command for the given mode.
	Sandbox func(protocol.SandboxMode) plan.Policy
	Env     func(tty bool) []string
	Origin  txn.Origin // who: session and client of ledger entries
	// SaveDiff keeps the diff of one change and returns its name; nil keeps none.
	SaveDiff     func([]byte) (string, error)
	OutputTokens int
	// Fleeting sessions write no output of commands down; it can be read again only
	// while they last.
	Fleeting bool
	// Rules are those of all rules files; AddRule writes one to the user's, nil
	// writes none.
	Rules   []policy.Rule
	AddRule func(line string) error
	// Redact takes secrets out of what commands print before anybody sees it; nil
	// takes none.
	Redact func([]byte) []byte
	// Hooks watch calls and may object; nil has none.
	Hooks *hooks.Set
	// Client is what the face's own program offers, nil for nothing.
	Client *protocol.ClientHands
	// Above are the hands of the session whose sub-agent these are, when both work in
	// the same tree.
	Above *Executor
	// Lender is the executor whose MCP servers this one uses, nil for its own.
	Lender *Executor
	// Shell is the user's own, which commands take aliases and functions from.
	Shell usershell.Options
	// Seen is what the model of a resumed session last saw.
	Seen map[string]history.Sight
	// Instructions are what the model is told before a turn; nil tells nothing.
	Instructions *instructions.Sources
	// View is what the model has seen, shared with the session; nil begins one.
	View *view.View
	// Roots are the writable roots, which bound file tools where the sandbox mode
	// does.
	Roots []string
	// Skills are those whose files read_file reads.
	Skills []skills.Skill
	// Only, when not nil, names the tools that may be called.
	Only []string
}

// Executor carry out what tools propose. They are what tools see of the machine,
// and the one place where files are committed and commands are run.
//
// The methods may be called by several goroutines; actions that must not run
// beside others are kept apart by the core.
type Executor struct {
	o        Options
	commands *command.Runner
	versions tree.Versions
	memory   policy.Memory // what the user allowed for the session
	servers  *mcp.Servers
	borrowed bool // the servers are the parent's
	family

	view *view.View

	mu    sync.Mutex // guards what follows
	turn  turnLog
	notes []string   // what the model is to be told with the next turn
	snap  *scan.Snap // the state after the last scan

	shell   *usershell.Shell
	outputs outputlog.Store
}

// turnLog is what the running turn changed.
type turnLog struct {
	ours, outside []delta.Set
	track         track.Tracker // all of it, in its order
	inexact       []string
}

// New returns hands for one session.
func New(o Options) *Executor {
	h := &Executor{o: o, view: o.View}
	if h.view == nil {
		h.view = &view.View{}
	}
	if o.Lender != nil {
		h.servers, h.borrowed = o.Lender.servers, true
	}
	if up := o.Above; up != nil {
		up.famMu.Lock()
		up.kin = append(up.kin, h)
		up.famMu.Unlock()
	}
	h.outputs = outputlog.Store{Keep: o.Keep, Images: o.Images, Redact: o.Redact}
	if o.Fleeting {
		h.outputs.Keep = nil
	}
	sh := o.Shell
	sh.Dir, sh.Env = o.Cwd, o.Env
	sh.Sandbox = func() plan.Policy { return o.Sandbox(protocol.SandboxReadOnly) }
	h.shell = usershell.New(sh)
	co := command.Options{Sandbox: o.Sandbox, Env: o.Env, Shell: h.shell, Outputs: &h.outputs, OutputTokens: o.OutputTokens}
	if o.Client != nil {
		co.Terminals = o.Client.Terminals
	}
	h.commands = command.New(co)
	for path, s := range o.Seen {
		h.view.Observe(path, h.remembered(s))
	}
	return h
}

// remembered makes an image of a recorded sight; its bytes may be in the store.
func (h *Executor) remembered(s history.Sight) *delta.Image {
	if s.Sum == "" {
		return nil
	}
	var sum ledger.Sum
	if err := sum.UnmarshalText([]byte(s.Sum)); err != nil {
		return nil
	}
	return &delta.Image{Version: delta.Version{Kind: delta.File, Mode: s.Mode, Sum: delta.Sum(sum)}}
}

// Close ends the processes that still run.
func (h *Executor) Close() {
	h.leave()
	h.shell.Close()
	h.commands.Close()
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

// Settled waits until the servers are ready or have failed, and returns why the first of
// the named ones has failed.
func (h *Executor) Settled(ctx context.Context, required []string) error {
	return h.servers.Settled(ctx, required)
}

// Offered are the tools of the servers that are ready.
func (h *Executor) Offered() []tool.Spec { return h.servers.Offered() }

// Cwd is where relative paths start.
func (h *Executor) Cwd() string { return h.o.Cwd }

// Resolve makes path absolute and checks that it lies in the workspace.
func (h *Executor) Resolve(path string) (string, error) {
	abs, err := h.o.Tree.Resolve(path)
	if err != nil {
		return "", refusal(path, err)
	}
	return abs, nil
}

// keepLimit is the largest content that is kept for having been read.
const keepLimit = 1 << 20

// readLimit is the largest file that is read whole.
const readLimit = 256 << 20

// Read returns the state of a file and its version.
func (h *Executor) Read(path string) (*delta.Image, tool.Stamp, error) {
	img, err := h.o.Tree.Read(path, readLimit)
	if err != nil {
		return nil, tool.Stamp{}, refusal(path, err)
	}
	img = h.buffered(path, img)
	return img, h.stamp(path, img), nil
}

// stamp tells the version of an image as models know it.
func (h *Executor) stamp(path string, img *delta.Image) tool.Stamp {
	n := h.versions.Observe(h.real(path), img.At())
	if img == nil {
		return tool.Stamp{Version: n}
	}
	facts := lines.Facts(img.Data)
	ending := facts.Ending
	if ending == "" {
		ending = "lf"
	}
	return tool.Stamp{Version: n, ContentHash: hashOf(img), LineEnding: ending, Encoding: facts.Encoding}
}

func hashOf(img *delta.Image) string { return fmt.Sprintf("%016x", xxhash.Sum64(img.Data)) }

// Seen returns what the model last saw of path.
func (h *Executor) Seen(path string) (*delta.Image, bool) {
	last, ok := h.view.Latest(h.real(path))
	if ok && last != nil && !last.Loaded {
		if data, err := h.o.Images(last.Sum); err == nil {
			img := *last
			img.Data, img.Loaded, img.Size = data, true, int64(len(data))
			return &img, true
		}
	}
	return last, ok
}

// real is the path without links, so that a file has one name.
func (h *Executor) real(path string) string {
	if target, err := h.o.Tree.Target(path); err == nil {
		return target
	}
	return path
}

// saw notes that the model was shown a file, and returns the record of it.
func (h *Executor) saw(path string, img *delta.Image) history.Sight {
	path = h.real(path)
	h.view.Observe(path, img)
	if img == nil {
		return history.Sight{Path: path}
	}
	if h.o.Keep != nil && img.Loaded && len(img.Data) <= keepLimit {
		_, _ = h.o.Keep(img.Data) // without it a stale edit is refused rather than merged
	}
	seen := history.Sight{Path: path, Sum: img.Sum.String(), Mode: img.Mode, Version: h.versions.Observe(path, img.At())}
	if img.Loaded {
		seen.Hash = hashOf(img)
	}
	return seen
}

// List lists a directory of the workspace.
func (h *Executor) List(ctx context.Context, dir string, depth, limit int) ([]tool.Entry, bool, error) {
	names, more, err := h.o.Search.List(ctx, dir, depth, limit)
	if err != nil {
		return nil, false, refusal(dir, err)
	}
	entries := make([]tool.Entry, len(names))
	for i, n := range names {
		entries[i] = tool.Entry{Path: n}
	}
	return entries, more, nil
}

// Glob finds files by pattern.
func (h *Executor) Glob(ctx context.Context, dir, pattern string, limit int) ([]string, bool, error) {
	paths, more, err := h.o.Search.Glob(ctx, dir, pattern, limit)
	if err != nil {
		return nil, false, refusal(dir, err)
	}
	return paths, more, nil
}

// Grep finds lines by pattern.
func (h *Executor) Grep(ctx context.Context, q tool.Query) ([]tool.Line, bool, error) {
	found, more, err := h.o.Search.Grep(ctx, search.Query(q))
	if err != nil {
		return nil, false, refusal(q.Dir, err)
	}
	result := make([]tool.Line, len(found))
	for i, l := range found {
		result[i] = tool.Line(l)
	}
	return result, more, nil
}

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

// refusal turns a fault of the machine about path into words for the model.
func refusal(path string, err error) error {
	var refused *tool.Error
	var outside *tree.OutsideError
	var special *tree.SpecialError
	var large *tree.TooLargeError
	var pattern *search.PatternError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &outside):
		return tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace (%s). Use a path inside it, or ask the user to add the directory with --add-dir",
			path, strings.Join(outside.Roots, ", "))
	case errors.Is(err, tree.ErrDirectory):
		return tool.Refuse(tool.NotAFile, "%s is a directory. Use list_dir to see what is in it", path)
	case errors.As(err, &special):
		return tool.Refuse(tool.NotAFile, "%s is a %s, not a regular file. It is neither read nor written", path, special.What)
	case errors.As(err, &large):
		return tool.Refuse(tool.TooLarge, "%s has %d bytes; at most %d are read. Look at parts of it with a command such as sed -n", path, large.Size, large.Limit)
	case errors.As(err, &pattern):
		return tool.Refuse(tool.InvalidArguments, "%v", pattern)
	}
	return err
}

// relative is path as diffs name it.
func (h *Executor) relative(path string) string {
	rel, err := filepath.Rel(h.o.Base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return strings.TrimPrefix(filepath.ToSlash(path), "/")
	}
	return filepath.ToSlash(rel)
}
