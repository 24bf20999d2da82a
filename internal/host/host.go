// Package host is the composition root: it builds sessions and the readers of
// their logs from the configuration. It decides nothing itself.
package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/executor/mcp"
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
	"kerf/internal/sessions"
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
	log, err := h.openLog(ctx, o, set, choice.Provider)
	if err != nil {
		return nil, err
	}
	if log.State != nil {
		inherit(&set, o.Settings, log.State)
		choice.Unseal(log.State.Meta.Provider, log.State.Items)
	}
	s, err := h.start(ctx, o, set, client, choice, around, log)
	if err != nil {
		log.Close()
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

// log is the record of a session, and what it has of its parent.
type log struct {
	*sessions.Log
	kin kin // of a sub-agent's session
}

// transcript is where the session's records are, or nothing.
func (l *log) transcript() string {
	if l.Writer == nil {
		return ""
	}
	return filepath.Join(l.Dir, "rollout.jsonl")
}

func (h *Host) openLog(ctx context.Context, o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	switch {
	case o.Resume != "" || o.Last:
		return h.resumeLog(ctx, o)
	case o.Fork != "":
		store := h.Sessions()
		info, err := store.Find(ctx, o.Fork)
		if err != nil {
			return nil, err
		}
		return logOf(store.Fork(info, o.ForkTurn, metadata(o, set, provider), o.Ephemeral))
	}
	return h.newLog(o, set, provider)
}

func logOf(l *sessions.Log, err error) (*log, error) { return &log{Log: l}, err }

func (h *Host) newLog(o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	return logOf(h.Sessions().Create(metadata(o, set, provider), o.Ephemeral))
}

func (h *Host) resumeLog(ctx context.Context, o protocol.OpenOptions) (*log, error) {
	store := h.Sessions()
	var info protocol.SessionInfo
	var err error
	switch {
	case o.Resume != "":
		info, err = store.Find(ctx, o.Resume)
	case o.AnyCwd:
		info, err = store.Newest(ctx, "")
	default:
		info, err = store.Newest(ctx, h.Config.Cwd)
	}
	if err != nil {
		return nil, err
	}
	return logOf(store.Resume(info))
}

// metadata is what is known of a new session.
func metadata(o protocol.OpenOptions, set protocol.Settings, provider string) rollout.Metadata {
	return rollout.Metadata{Cwd: set.Cwd, Model: set.Model, Provider: provider, Source: o.Source, Git: gitOf(set.Cwd)}
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

// start builds the session around its log.
func (h *Host) start(ctx context.Context, o protocol.OpenOptions, set protocol.Settings, client model.Client, choice *provider.Choice, around *instructions.Sources, l *log) (*session.Session, error) {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, AddDirs: o.AddDirs, Sandbox: set.Sandbox, Tmp: string(l.ID)})
	if err != nil {
		return nil, err
	}
	ho := h.executorOptions(ws, set, o, l)
	governed, err := h.govern(&ho, l.ID, l.transcript())
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
		Freeform: choice.Freeform(set.Model), CompactModel: h.Config.CompactModel, CacheKey: string(l.ID)} // the client fits the tools to the model
	if l.State != nil && l.State.Meta.Instructions != "" {
		fixed.Instructions = l.State.Meta.Instructions
	}
	h.adapt(&fixed, o, l)
	required := h.MCP().required()
	p := h.Config.Providers[choice.Provider]
	s := session.Start(session.Options{
		ID: l.ID, Settings: set, Provider: choice.Provider, Resumed: l.State != nil && o.Fork == "", State: l.State,
		Rollout: l.Writer, Meta: l.Meta, Client: client, Prompt: fixed,
		RequestRetries: p.RequestMaxRetries, StreamRetries: p.StreamMaxRetries,
		Window: h.Config.ModelContextWindow, OutputTokens: h.Config.ToolOutputTokenLimit,
		Limits: choice.Limits, Cost: costOf(choice), Budget: h.budget(),
		Executor: exec, View: ho.View, Redact: ho.Redact, Hooks: ho.Hooks, Background: exec, Dirty: around.Dirty, Headless: o.Headless, Agents: h.agents(o, client, choice, l.kin, exec),
		Serve: func(f mcp.Front) {
			exec.Serve(mcp.Options{Servers: h.serversOf(set.Cwd, o, l), Roots: ws.Roots, Approval: h.MCP().approval}, f)
		},
		Warnings: slices.Concat(h.Warnings, choice.Warnings, l.Warnings, h.workspaceWarnings(ws, set.Sandbox), governed),
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
