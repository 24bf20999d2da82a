// Package host is the composition root: it builds sessions and the readers of
// their logs from the configuration. It decides nothing itself.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/history"
	"kerf/internal/agent/prompt"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/session"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/tools/correct"
	"kerf/internal/agent/turn"
	"kerf/internal/agent/view"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/provider"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
	"kerf/internal/work/repo"
	"kerf/internal/work/search/fuzzy"
)

// Version is Kerf's version.
const Version = executor.Version

// Host opens sessions. It implements protocol.Sessions and may be used by
// several goroutines.
type Host struct {
	Config *config.Config
	Env    []string
	// Warnings are told at the start of every session.
	Warnings []string
	// Client, when set, is used instead of the configured provider.
	Client model.Client
	// Local asks for a model of this machine, see --oss.
	Local bool
	// Record is a file that the session is written into as a scenario.
	Record string

	mu      sync.Mutex
	made    *providers // of the configuration; guarded by mu
	files   fuzzy.Finder
	secrets redact.Secrets // in use, taken out of all that is recorded
}

var _ protocol.Sessions = (*Host)(nil)

// Open opens a new session, or goes on with an old one.
func (h *Host) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	set, err := h.settings(o.Settings)
	if err != nil {
		return nil, err
	}
	if _, err := h.Rules(); err != nil { // before anything is begun
		return nil, err
	}
	client, choice, err := h.client(ctx, &set)
	if err != nil {
		return nil, err
	}
	around := h.surroundings(set)
	log, err := h.openLog(o, set, choice.Provider)
	if err != nil {
		return nil, err
	}
	if log.state != nil {
		inherit(&set, o.Settings, log.state)
		choice.Unseal(log.state.Meta.Provider, log.state.Items)
	}
	s, err := h.start(ctx, o, set, client, choice, around, log)
	if err != nil {
		log.close()
		return nil, err
	}
	return s, nil
}

// settings are the configured ones, overridden by what the front end asks for.
func (h *Host) settings(over protocol.Settings) (protocol.Settings, error) {
	c := h.Config
	set := protocol.Settings{Model: c.Model, Effort: c.Effort, Cwd: c.Cwd,
		Approval: protocol.ApprovalPolicy(c.ApprovalPolicy), Sandbox: protocol.SandboxMode(c.SandboxMode)}
	if over.Model != "" {
		set.Model = over.Model
	}
	if over.Effort != "" {
		set.Effort = over.Effort
	}
	if over.Approval != "" {
		set.Approval = over.Approval
	}
	if over.Sandbox != "" {
		set.Sandbox = over.Sandbox
	}
	if set.Sandbox == "" {
		set.Sandbox = protocol.SandboxReadOnly
		if h.Trusted() {
			set.Sandbox = protocol.SandboxWorkspace
		}
	}
	if set.Approval == "" {
		set.Approval = protocol.PolicyOnRequest
	}
	if st, err := os.Stat(set.Cwd); err != nil || !st.IsDir() {
		return set, fmt.Errorf("%s is not a directory", set.Cwd)
	}
	return set, nil
}

// inherit takes model and effort of a resumed session where nothing else was
// asked for.
func inherit(set *protocol.Settings, over protocol.Settings, st *history.State) {
	if over.Model == "" && st.Settings.Model != "" {
		set.Model = st.Settings.Model
	}
	if over.Effort == "" && st.Settings.Effort != "" {
		set.Effort = st.Settings.Effort
	}
}

// Trusted reports whether the user trusts the project.
func (h *Host) Trusted() bool { return h.Config.Trust(h.Config.Root) == config.Trusted }

// Getenv reads from the environment the host was given.
func (h *Host) Getenv(name string) string {
	for i := len(h.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(h.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// log is the record of a session: new, resumed, or none.
type log struct {
	id     protocol.SessionID
	dir    string // empty for ephemeral sessions
	writer *rollout.Writer
	meta   rollout.Metadata
	state  *history.State
	warn   []string
	kin    kin // of a sub-agent's session
}

// transcript is where the session's records are, or nothing.
func (l *log) transcript() string {
	if l.writer == nil {
		return ""
	}
	return filepath.Join(l.dir, "rollout.jsonl")
}

func (l *log) close() {
	if l.writer != nil {
		_ = l.writer.Close()
	}
}

func (h *Host) openLog(o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	switch {
	case o.Resume != "" || o.Last:
		return h.resumeLog(o)
	case o.Fork != "":
		return h.forkLog(o, set, provider)
	}
	return h.newLog(o, set, provider)
}

func (h *Host) newLog(o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("session id: %w", err)
	}
	now := time.Now().UTC()
	l := &log{id: protocol.SessionID(id.String())}
	l.meta = rollout.Metadata{ID: id.String(), Cwd: set.Cwd, Model: set.Model, Provider: provider,
		Created: now, Updated: now, Source: o.Source, Git: gitOf(set.Cwd)}
	if o.Ephemeral {
		return l, nil
	}
	l.dir = filepath.Join(h.SessionsDir(), id.String())
	if l.writer, err = rollout.Create(l.dir, h.rolloutOptions()); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return l, nil
}

// gitOf tells root and branch from files alone; the rest costs a process and is
// asked for later.
func gitOf(cwd string) rollout.Git {
	root, gitDir, ok := repo.Find(cwd)
	if !ok {
		return rollout.Git{}
	}
	name, _, _ := repo.Branch(gitDir)
	return rollout.Git{Root: root, Branch: name}
}

func (h *Host) rolloutOptions() rollout.Options {
	return rollout.Options{Redact: h.redact, Digester: rollout.Digester{Cut: history.Compacted{}.Type(),
		Digest: func(prior json.RawMessage, records []rollout.Record) (json.RawMessage, error) {
			return history.Digest(prior, linesOf(records))
		}}}
}

func (h *Host) resumeLog(o protocol.OpenOptions) (*log, error) {
	info, err := h.find(o.Resume, o.Last, o.AnyCwd)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(h.SessionsDir(), string(info.ID))
	w, tail, damage, err := rollout.Resume(dir, h.rolloutOptions())
	if errors.Is(err, rollout.ErrLive) {
		return nil, fmt.Errorf("session %s is open in another process; close it there, or fork it", info.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	l := &log{id: info.ID, dir: dir, writer: w}
	if l.state, err = history.RebuildFrom(tail.Digest, linesOf(tail.Records)); err != nil {
		l.close()
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	restoreImages(l.state, dir)
	if l.meta, err = rollout.LoadMetadata(dir); err != nil {
		l.meta = rollout.Metadata{ID: string(info.ID), Cwd: l.state.Meta.Cwd, Model: l.state.Meta.Model, Created: time.Now().UTC()}
	}
	if damage != nil {
		l.warn = append(l.warn, "the session file was damaged: "+damage.String())
	}
	return l, nil
}

func linesOf(records []rollout.Record) []history.Line {
	lines := make([]history.Line, len(records))
	for i, r := range records {
		lines[i] = history.Line{Type: r.Type, JSON: r.Raw}
	}
	return lines
}

// start builds the session around its log.
func (h *Host) start(ctx context.Context, o protocol.OpenOptions, set protocol.Settings, client model.Client, choice *provider.Choice, around *instructions.Sources, l *log) (*session.Session, error) {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, AddDirs: o.AddDirs, Sandbox: set.Sandbox, Tmp: string(l.id)})
	if err != nil {
		return nil, err
	}
	ho := h.executorOptions(ws, set, o, l)
	governed, err := h.govern(&ho, l.id, l.transcript())
	if err != nil {
		_ = ws.Close()
		return nil, err
	}
	if k := l.kin; k.parent != nil {
		ho.Lender, ho.Only = k.exec, k.spawn.Role.Tools
		if k.shares {
			ho.Above = k.exec
		}
	}
	if m := h.Config.EditCorrection; m.Enabled {
		ho.Correct = &correct.Corrector{Asker: session.Asker{Client: client, Model: orElse(m.Model, set.Model)}}
	}
	around.Roots, around.Skills = ws.Roots, h.skills()
	ho.View, ho.Roots, ho.Skills, ho.Instructions = &view.View{}, ws.Roots, around.Skills, around
	exec := executor.New(ho)
	fixed := prompt.Fixed{Instructions: prompt.Base, Tools: h.offered(), Parallel: true, Summary: h.Config.Summary,
		Freeform: choice.Freeform(set.Model), CompactModel: h.Config.CompactModel, CacheKey: string(l.id)} // the client fits the tools to the model
	if l.state != nil && l.state.Meta.Instructions != "" {
		fixed.Instructions = l.state.Meta.Instructions
	}
	h.adapt(&fixed, o, l)
	required := h.MCP().required()
	p := h.Config.Providers[choice.Provider]
	s := session.Start(session.Options{
		ID: l.id, Settings: set, Provider: choice.Provider, Resumed: l.state != nil && o.Fork == "", State: l.state,
		Rollout: l.writer, Meta: l.meta, Client: client, Prompt: fixed,
		RequestRetries: p.RequestMaxRetries, StreamRetries: p.StreamMaxRetries,
		Window: h.Config.ModelContextWindow, OutputTokens: h.Config.ToolOutputTokenLimit,
		Limits: choice.Limits, Cost: costOf(choice), Budget: h.budget(),
		Executor: exec, View: ho.View, Redact: ho.Redact, Hooks: ho.Hooks, Background: exec, Dirty: around.Dirty, Headless: o.Headless, Agents: h.agents(o, client, choice, l.kin, exec),
		Serve: func(f executor.Front) {
			exec.Serve(executor.Remotes{Servers: h.serversOf(set.Cwd, o, l), Roots: ws.Roots, Approval: h.MCP().approval}, f)
		},
		Warnings: slices.Concat(h.Warnings, choice.Warnings, l.warn, h.workspaceWarnings(ws, set.Sandbox), governed),
		Release:  func() { _ = ws.Close() },
	})
	if err := exec.Settled(ctx, required); err != nil {
		go func() { // it must be drained to close
			for range s.Events() {
			}
		}()
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// costOf returns the price of a response in dollars, 0 where no price is known.
func costOf(c *provider.Choice) func(string, protocol.Usage) float64 {
	return func(name string, u protocol.Usage) float64 {
		dollars, _ := c.Price(name, model.Usage(u))
		return dollars
	}
}

// budget bounds what a run may use.
func (h *Host) budget() turn.Budget {
	b := h.Config.Budget
	return turn.Budget{Rounds: b.MaxTurns, Tokens: b.MaxTokens, Cost: b.MaxCost, Wall: time.Duration(b.MaxSeconds) * time.Second}
}

// restoreImages puts the images back that the records in dir only name.
func restoreImages(st *history.State, dir string) {
	history.RestoreImages(st.Items, func(name string) ([]byte, error) { return rollout.LoadBlob(dir, name) })
}

// offered are the tools of a session.
func (h *Host) offered() []tool.Spec {
	var specs []tool.Spec
	for _, t := range tools.All() {
		s := t.Spec()
		if s.Name == "update_plan" && !h.Config.Tools.UpdatePlan {
			continue
		}
		specs = append(specs, s)
	}
	return specs
}

func (h *Host) surroundings(set protocol.Settings) *instructions.Sources {
	root := h.Config.Root
	if root == "" {
		root = set.Cwd
	}
	shell := filepath.Base(h.Getenv("SHELL"))
	if shell == "." {
		shell = "bash"
		if runtime.GOOS == "windows" {
			shell = "powershell"
		}
	}
	return &instructions.Sources{Home: h.Config.Home, Cwd: set.Cwd, Root: root, DocBytes: h.Config.ProjectDocMaxBytes,
		DocNames: h.Config.ProjectDocFallbackFilenames, Developer: h.Config.DeveloperInstructions, Shell: shell,
		Network: h.Config.WorkspaceWrite.NetworkAccess, Now: time.Now}
}
