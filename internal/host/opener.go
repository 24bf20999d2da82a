package host

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/history"
	"kerf/internal/agent/prompt"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/session"
	"kerf/internal/agent/tools/correct"
	"kerf/internal/agent/view"
	"kerf/internal/model"
	"kerf/internal/model/provider"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/repo"
)

// opener opens sessions as one configuration says.
type opener struct {
	configured
	registry *provider.Registry
	client   model.Client // instead of the configured provider, when set
	local    bool         // a model of this machine is asked for
	record   string       // the file that the session is written into as a scenario
	warnings []string     // told at the start of every session
}

// openerFor opens sessions that ask m.
func openerFor(c configured, m model.Client) opener {
	return opener{configured: c, registry: c.newProviders().registry, client: m}
}

// open opens a new session, or goes on with an old one.
func (op opener) open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	set, err := op.settings(o.Settings)
	if err != nil {
		return nil, err
	}
	if _, err := op.rules(); err != nil { // before anything is begun
		return nil, err
	}
	client, choice, err := op.clientFor(ctx, &set)
	if err != nil {
		return nil, err
	}
	around := op.surroundings(set)
	log, err := op.openLog(ctx, o, set, choice.Provider)
	if err != nil {
		return nil, err
	}
	if log.State != nil {
		inherit(&set, o.Settings, log.State)
		choice.Unseal(log.State.Meta.Provider, log.State.Items)
	}
	s, err := op.start(ctx, o, set, client, choice, around, log)
	if err != nil {
		log.Close()
		return nil, err
	}
	return s, nil
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

func (op opener) openLog(ctx context.Context, o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	switch {
	case o.Resume != "" || o.Last:
		return op.resumeLog(ctx, o)
	case o.Fork != "":
		store := op.store()
		info, err := store.Find(ctx, o.Fork)
		if err != nil {
			return nil, err
		}
		return logOf(store.Fork(info, o.ForkTurn, metadata(o, set, provider), o.Ephemeral))
	}
	return op.newLog(o, set, provider)
}

func logOf(l *sessions.Log, err error) (*log, error) { return &log{Log: l}, err }

func (op opener) newLog(o protocol.OpenOptions, set protocol.Settings, provider string) (*log, error) {
	return logOf(op.store().Create(metadata(o, set, provider), o.Ephemeral))
}

func (op opener) resumeLog(ctx context.Context, o protocol.OpenOptions) (*log, error) {
	store := op.store()
	var info protocol.SessionInfo
	var err error
	switch {
	case o.Resume != "":
		info, err = store.Find(ctx, o.Resume)
	case o.AnyCwd:
		info, err = store.Newest(ctx, "")
	default:
		info, err = store.Newest(ctx, op.Cwd)
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
func (op opener) start(ctx context.Context, o protocol.OpenOptions, set protocol.Settings, client model.Client, choice *provider.Choice, around *instructions.Sources, l *log) (*session.Session, error) {
	ws, err := op.workspace(WorkspaceOptions{Root: set.Cwd, AddDirs: o.AddDirs, Sandbox: set.Sandbox, Tmp: string(l.ID)})
	if err != nil {
		return nil, err
	}
	ho := op.executorOptions(ws, set, o, l.Log)
	governed, err := op.applyPolicy(&ho, l.ID, l.transcript())
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
	if m := op.EditCorrection; m.Enabled {
		ho.Correct = &correct.Corrector{Asker: session.Asker{Client: client, Model: cmp.Or(m.Model, set.Model)}}
	}
	around.Roots, around.Skills = ws.Roots, op.skills()
	ho.View, ho.Roots, ho.Skills, ho.Instructions = &view.View{}, ws.Roots, around.Skills, around
	exec := executor.New(ho)
	fixed := prompt.Fixed{Instructions: prompt.Base, Tools: op.offered(), Parallel: true, Summary: op.Summary,
		Freeform: choice.Freeform(set.Model), CompactModel: op.CompactModel, CacheKey: string(l.ID)} // the client fits the tools to the model
	if l.State != nil && l.State.Meta.Instructions != "" {
		fixed.Instructions = l.State.Meta.Instructions
	}
	op.adapt(&fixed, o, l)
	required := op.mcp().required()
	p := op.Providers[choice.Provider]
	s := session.Start(session.Options{
		ID: l.ID, Settings: set, Provider: choice.Provider, Resumed: l.State != nil && o.Fork == "", State: l.State,
		Rollout: l.Writer, Meta: l.Meta, Client: client, Prompt: fixed,
		RequestRetries: p.RequestMaxRetries, StreamRetries: p.StreamMaxRetries,
		Window: op.ModelContextWindow, OutputTokens: op.ToolOutputTokenLimit,
		Limits: choice.Limits, Cost: costOf(choice), Budget: op.budget(),
		Executor: exec, View: ho.View, Redact: ho.Redact, Hooks: ho.Hooks, Background: exec, Dirty: around.Dirty, Headless: o.Headless, Agents: op.agents(o, client, choice, l.kin, exec),
		Serve: func(f mcp.Front) {
			exec.Serve(mcp.Options{Servers: op.serversOf(set.Cwd, o, l), Roots: ws.Roots, Approval: op.mcp().approval}, f)
		},
		Warnings: slices.Concat(op.warnings, choice.Warnings, l.Warnings, op.workspaceWarnings(ws, set.Sandbox), governed),
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
