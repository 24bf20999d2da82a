package host

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/executor/webpages"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/profile"
	"kerf/internal/agent/prompt"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/session"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/correct"
	"kerf/internal/agent/view"
	"kerf/internal/host/checking"
	"kerf/internal/host/langservers"
	"kerf/internal/host/telemetry"
	"kerf/internal/model"
	"kerf/internal/model/provider"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/tries"
)

// opener opens sessions as one configuration says.
type opener struct {
	configured
	registry   *provider.Registry
	client     model.Client // instead of the configured provider, when set
	local      bool         // a model of this machine is asked for
	unrecorded bool         // lets sessions be opened that cannot be recorded, by the user's own word
	record     string       // the file that the session is written into as a scenario
	warnings   []string     // told at the start of every session
}

// openerFor opens sessions that ask m.
func openerFor(c configured, m model.Client) opener {
	return opener{configured: c, registry: c.newProviders().registry, client: m}
}

// request is a session that is to be opened, and the model that it asks.
type request struct {
	open   protocol.OpenOptions
	set    protocol.Settings
	client model.Client
	choice *provider.Choice
	watch  *telemetry.Watch // of the session and its sub-agents; nil sends nothing
}

// open opens a new session, or goes on with an old one.
func (op opener) open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	r := request{open: o}
	var err error
	if r.set, err = op.settings(o.Settings); err != nil {
		return nil, err
	}
	if _, err := op.rules(); err != nil { // before anything is begun
		return nil, err
	}
	if r.client, r.choice, err = op.clientFor(ctx, &r.set); err != nil {
		return nil, err
	}
	if err := op.recordable(&r.open); err != nil {
		return nil, err
	}
	around := op.surroundings(r.set)
	if o.Headless && o.Resume+o.Fork == "" && !o.Last { // its turn follows at once, and may be over soon
		around.Look(context.WithoutCancel(ctx))
	}
	log, err := op.openLog(ctx, r)
	if err != nil {
		return nil, err
	}
	if log.State != nil {
		if o.Headless && o.Settings.Approval == "" && op.Origin("approval_policy") == "default" {
			r.set.Approval = protocol.PolicyNever // nobody is there
		}
		was := log.State.SettingsAt(r.choice.Provider)
		set, narrowed := policy.Resumed(r.set, o.Settings, was, log.Meta.Cwd == op.Cwd && op.Undecided())
		r.set, op.warnings = set, slices.Concat(op.warnings, told(narrowed))
		r.choice.Unseal(log.State.Meta.Provider, log.State.Items)
	}
	s, err := op.start(ctx, r, around, log)
	if err != nil {
		log.Close()
		return nil, err
	}
	return s, nil
}

// log is the record of a session, and what it has of its parent.
type log struct {
	*sessions.Log
	parent parent // of a sub-agent's session
}

// transcript is where the session's records are, or nothing.
func (l *log) transcript() string {
	if l.Writer == nil {
		return ""
	}
	return filepath.Join(l.Dir, "rollout.jsonl")
}

func (op opener) openLog(ctx context.Context, r request) (*log, error) {
	o := r.open
	switch {
	case o.Resume != "" || o.Last:
		return op.resumeLog(ctx, o)
	case o.Fork != "":
		store := op.store()
		info, err := store.Find(ctx, o.Fork)
		if err != nil {
			return nil, err
		}
		return logOf(store.Fork(info, o.ForkTurn, metadata(r), o.Ephemeral))
	}
	return op.newLog(r)
}

func logOf(l *sessions.Log, err error) (*log, error) { return &log{Log: l}, err }

func (op opener) newLog(r request) (*log, error) {
	return logOf(op.store().Create(metadata(r), r.open.Ephemeral))
}

func (op opener) resumeLog(ctx context.Context, o protocol.OpenOptions) (*log, error) {
	store := op.store()
	info, err := store.Resumed(ctx, o, op.Cwd)
	if err != nil {
		return nil, err
	}
	return logOf(store.Resume(ctx, info))
}

// metadata is what is known of a new session.
func metadata(r request) rollout.Metadata {
	return rollout.Metadata{Cwd: r.set.Cwd, Model: r.set.Model, Provider: r.choice.Provider, Source: r.open.Source,
		Git: sessions.GitOf(r.set.Cwd)}
}

// start builds the session around its log.
func (op opener) start(ctx context.Context, r request, around *instructions.Sources, l *log) (*session.Session, error) {
	o, set := r.open, r.set
	ws, notKept, err := op.sessionWorkspace(WorkspaceOptions{Root: set.Cwd, AddDirs: o.AddDirs, Sandbox: set.Sandbox,
		Tmp: string(l.ID), Check: o.Bounds.Check})
	if err != nil {
		return nil, err
	}
	if l.Writer != nil {
		ws.Room.Watch(l.Dir)
	}
	if try := op.getenv(tries.Env); try != "" {
		l.Meta.Try = try
	}
	eo := op.executorOptions(ws, set, o, l.Log)
	eo.Unrecorded = &unrecorded.Guard{Room: ws.Room, Allowed: op.unrecorded, NotKept: notKept}
	ask := func(ctx context.Context, m, question string) (string, error) {
		return session.Asker{Client: r.client, Model: cmp.Or(m, set.Model)}.Ask(ctx, question)
	}
	warnings, err := op.applyPolicy(&eo, l.ID, l.transcript(), ask)
	if err != nil {
		_ = ws.Close()
		return nil, err
	}
	if p := l.parent; p.session != nil {
		eo.Lender, eo.Only = p.exec, p.spawn.Role.Tools
		if p.shares {
			eo.Parent = p.exec
		}
	}
	if m := op.EditCorrection; m.Enabled {
		eo.Correct = &correct.Corrector{Asker: session.Asker{Client: r.client, Model: cmp.Or(m.Model, set.Model)}}
	}
	around.Roots, around.Boundary, around.Skills = ws.Roots, ws.Boundary, op.skillset().Skills()
	if l.parent.session == nil {
		around.Others = ws.Join(string(l.ID))
	}
	eo.View, eo.Skills, eo.Instructions = &view.View{}, around.Skills, around
	eo.Manner = profile.Profiles{Models: r.choice, Results: op.Tools.Results, Lines: op.Tools.LineNumbers}.Manner
	if eo.Pages, err = webpages.Open(op.Tools.WebFetch, op.WebFetch.Domains, executor.Version); err != nil {
		_ = ws.Close()
		return nil, err
	}
	servers, noServers := langservers.Open(ctx, langservers.Options{Config: op.Config, Trusted: op.trusted(),
		Roots: ws.Roots, Policy: op.policy, Scratch: ws.Scratch()}, &eo)
	exec := executor.New(eo)
	checked, unchecked := checking.Around(exec, eo, ws.Roots, op.Config, op.trusted())
	watched := telemetry.Join(&r.watch, &r.client, op.Config, op.getenv, l.ID, r.choice.Provider, set.Model)
	s := session.Start(session.Options{
		ID: l.ID, Settings: set, Provider: r.choice.Provider, Resumed: l.State != nil && o.Fork == "", State: l.State,
		Rollout: l.Writer, Meta: l.Meta, Client: r.client, Prompt: op.prompt(r, l, servers.Specs()),
		Retries: r.choice.Retries, Window: op.ModelContextWindow,
		OutputTokens: op.ToolOutputTokenLimit, Limits: r.choice.Limits, Cost: costOf(r.choice), Budget: op.budget(),
		Executor: servers.Around(checked), View: eo.View, Redact: eo.Redact, Hooks: eo.Hooks, Background: exec, Dirty: around.Dirty,
		Headless: o.Headless, Refuse: op.refuse, Agents: op.agents(r, l.parent, exec),
		Serve: func(f mcp.Front) {
			exec.Serve(mcp.Options{Servers: op.serversOf(set.Cwd, o, l), Roots: ws.Roots, Approval: op.mcp().approval,
				ToolTokens: op.Tools.MCPTokens}, f)
		},
		Warnings: slices.Concat(op.warnings, r.choice.Warnings, l.Warnings, op.workspaceWarnings(ws, set.Sandbox), warnings,
			told(notKept), unchecked, noServers),
		Release: func() { watched.Close(); _ = ws.Close() }, Observe: watched.Observer(),
	})
	if err := exec.Settled(ctx, op.mcp().required()); err != nil {
		go func() { // it must be drained to close
			for range s.Events() {
			}
		}()
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// prompt is what stays the same in all requests. The client fits the tools to the model.
func (op opener) prompt(r request, l *log, more []tool.Spec) prompt.Fixed {
	f := prompt.Fixed{Instructions: profile.Profiles{Models: r.choice}.Of(r.set.Model).Instructions(), Parallel: true,
		Tools: append(op.offered(), more...), Offer: prompt.Once(profile.Profiles{Models: r.choice}.Offer), Summary: op.Summary,
		Freeform: r.choice.Freeform(r.set.Model), CompactModel: op.CompactModel, CacheKey: string(l.ID)}
	if l.State != nil && l.State.Meta.Instructions != "" {
		f.Instructions = l.State.Meta.Instructions
	}
	op.adapt(&f, r.open, l)
	return f
}

// costOf returns the price of a response in dollars, 0 where no price is known.
func costOf(c *provider.Choice) func(string, protocol.Usage) float64 {
	return func(name string, u protocol.Usage) float64 {
		dollars, _ := c.Price(name, model.Usage(u))
		return dollars
	}
}
