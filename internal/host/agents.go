package host

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/worktree"
	"kerf/internal/agent/prompt"
	"kerf/internal/agent/review"
	"kerf/internal/agent/session"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/host/roles"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/mcpclient"
)

// parent is what the session of a sub-agent has of its parent; the zero value is for
// sessions of the user's own.
type parent struct {
	session *session.Session
	exec    *executor.Executor // of the parent
	shares  bool               // both work in one tree
	depth   int
	places  *team.Places
	spawn   team.Spawn
}

// agents say which sub-agents a session may have.
func (op opener) agents(r request, of parent, exec *executor.Executor) session.Agents {
	places := of.places
	if places == nil {
		places = &team.Places{Most: op.Agents.MaxThreads}
	}
	return session.Agents{Depth: of.depth, MaxDepth: op.Agents.MaxDepth, Places: places, Roles: op.roles().Of(),
		Parent: of.session,
		Open: func(ctx context.Context, s *session.Session, spawn team.Spawn) (team.Member, error) {
			p := parent{session: s, exec: exec, shares: true, depth: of.depth + 1, places: places, spawn: spawn}
			return op.openAgent(ctx, r, p)
		}}
}

// openAgent opens the session of a sub-agent: the parent's settings, narrowed by the
// role, its own record, the same tree or one of its own.
func (op opener) openAgent(ctx context.Context, r request, p parent) (team.Member, error) {
	s, o := p.spawn, &r.open
	r.set = s.Settings
	set := &r.set
	set.Model = cmp.Or(s.Model, s.Role.Model, set.Model)
	set.Effort = cmp.Or(s.Effort, s.Role.Effort, set.Effort)
	set.Sandbox = roles.Narrower(set.Sandbox, s.Role.Sandbox)
	if s.Role.Name == review.Role {
		set.Model = cmp.Or(op.ReviewModel, set.Model)
	}
	o.Resume, o.Last, o.Fork, o.ForkTurn, o.MCP, o.Source = "", false, "", "", nil, sessions.AgentSource
	l, err := op.agentLog(ctx, r, p)
	if err != nil {
		return team.Member{}, err
	}
	var tree *worktree.Tree
	if s.Isolated {
		dir := filepath.Join(op.Home, "worktrees", string(l.ID))
		if tree, err = worktree.New(ctx, set.Cwd, dir, op.hidden(set.Cwd, o.AddDirs)); err != nil {
			l.Close()
			return team.Member{}, err
		}
		if rel, err := filepath.Rel(tree.Root, set.Cwd); err == nil && filepath.IsLocal(rel) {
			dir = filepath.Join(dir, rel)
		}
		set.Cwd, p.shares, o.AddDirs, o.Bounds, l.Meta.Cwd = dir, false, nil, o.Bounds.Elsewhere(), dir
	}
	l.parent = p
	around := op.surroundings(r.set)
	if tree != nil {
		around.Root = tree.Dir
	}
	opened, err := op.start(ctx, r, around, l)
	if err != nil {
		l.Close()
		return team.Member{}, err
	}
	m := team.Member{Session: opened}
	if tree != nil {
		m.Merge = func(ctx context.Context) string { return p.exec.MergeTree(ctx, tree, s, p.session.Ask) }
		m.Leave = tree.Leave
	}
	return m, nil
}

// agentLog is the record of a sub-agent: a new one, or that of one of the parent's
// which was closed.
func (op opener) agentLog(ctx context.Context, r request, p parent) (*log, error) {
	of, id := string(p.session.ID()), p.spawn.Resume
	if id == "" {
		l, err := op.newLog(r)
		if err == nil {
			l.Meta.Parent, l.Meta.Title = of, p.spawn.Name
		}
		return l, err
	}
	if r.open.Ephemeral {
		return nil, fmt.Errorf("the sessions of this run are not kept, so %s cannot be opened again", id)
	}
	r.open.Resume = string(id)
	l, err := op.resumeLog(ctx, r.open)
	if err != nil {
		return nil, err
	}
	if l.Meta.Parent != of || l.Meta.Source != sessions.AgentSource {
		l.Close()
		return nil, fmt.Errorf("%s is not a sub-agent of this session", id)
	}
	return l, nil
}

// agentTools are those about sub-agents.
var agentTools = [...]string{"spawn_agent", "send_input", "wait", "close_agent", "list_agents", "resume_agent"}

// adapt gives a session the tools and the words that are right for its place among
// parent and sub-agents.
func (op opener) adapt(fixed *prompt.Fixed, o protocol.OpenOptions, l *log) {
	p := l.parent
	spawns := p.depth < op.Agents.MaxDepth && op.Agents.MaxThreads > 0
	fixed.Tools = slices.DeleteFunc(fixed.Tools, func(s tool.Spec) bool {
		switch {
		case slices.Contains(agentTools[:], s.Name):
			return !spawns
		case s.Name == "request_user_input":
			return o.Headless || p.session != nil
		}
		return p.spawn.Role.Tools != nil && !slices.Contains(p.spawn.Role.Tools, s.Name)
	})
	for i, s := range fixed.Tools {
		if s.Name == "spawn_agent" {
			fixed.Tools[i].Description += roles.Words(op.roles().Of())
		}
	}
	if p.session == nil || l.State != nil {
		return
	}
	if p.spawn.Role.Name == review.Role {
		fixed.Instructions = p.spawn.Role.Instructions
		return
	}
	fixed.Instructions += "\n\n# You are a sub-agent\n\nAnother agent started you for one task; your messages go to " +
		"it, not to a person. " +
		"Do the task to its end, ask nothing, and let your last message tell what you did, what you found and what is " +
		"left, in a form it can use.\n"
	if words := strings.TrimSpace(p.spawn.Role.Instructions); words != "" {
		fixed.Instructions += "\n" + words + "\n"
	}
	if p.spawn.Isolated {
		fixed.Instructions += "\nYou have a git work tree of your own. Do not commit: what you change is merged when you " +
			"are done.\n"
	}
}

// serversOf are the MCP servers that a session starts. A sub-agent uses those of its
// parent.
func (op opener) serversOf(cwd string, o protocol.OpenOptions, l *log) []mcpclient.Server {
	if l.parent.session != nil {
		return nil
	}
	return op.mcp().servers(cwd, o.MCP)
}
