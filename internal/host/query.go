package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/agent/skills"
	"kerf/internal/doctor"
	"kerf/internal/host/langservers"
	"kerf/internal/host/mentions"
	"kerf/internal/model/family"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/search"
)

// query answers what front ends ask besides a session; it is a protocol.WorkspaceQuery.
type query struct{ h *Host }

// Query answers what front ends ask besides a session.
func (h *Host) Query() protocol.WorkspaceQuery { return query{h} }

// Files finds files below cwd by a fuzzy query, best first; see [fuzzy.Finder].
func (q query) Files(ctx context.Context, cwd, query string, limit int) ([]string, error) {
	cwd = cmp.Or(cwd, q.h.Config.Cwd)
	return q.h.files.Find(ctx, cwd, query, limit, func() search.Boundary { return q.bound(cwd) })
}

// bound is what hides files of a directory from searches.
func (q query) bound(cwd string) search.Boundary {
	c := q.h.configured()
	set, _ := c.settings(protocol.Settings{Cwd: cwd})
	pl, _ := c.plan(set, set.Mode().Sandbox(), nil) // where it cannot be met it hides more
	return &pl
}

// Mentions is [mentions.Find].
func (q query) Mentions(ctx context.Context, cwd, word string, limit int) ([]protocol.Mention, error) {
	s := mentions.Sources{Files: q.Files, Bound: q.bound, History: q.h.configured().reading}
	return mentions.Find(ctx, s, cmp.Or(cwd, q.h.Config.Cwd), word, limit)
}

// Models lists what the configured provider offers, the current model first.
func (q query) Models(ctx context.Context) ([]protocol.ModelInfo, error) {
	op := q.h.opener()
	choice, err := op.choose(ctx, op.Model)
	if err != nil {
		choice = op.registry.Fixed(op.Model)
	}
	known := choice.Models()
	list := make([]protocol.ModelInfo, 0, len(known))
	for _, m := range known {
		list = append(list, protocol.ModelInfo{Name: m.Name, Description: describe(m), Window: m.Facts.Window,
			Efforts: efforts(m.Facts)})
	}
	return list, nil
}

// describe is what a list says of a model.
func describe(m ModelInfo) string {
	var parts []string
	if m.Facts.Window > 0 {
		parts = append(parts, fmt.Sprintf("%dk tokens", m.Facts.Window/1000))
	}
	if p := m.Facts.Prices; p.Input > 0 || p.Output > 0 {
		parts = append(parts, fmt.Sprintf("$%g in, $%g out for a million", p.Input, p.Output))
	}
	if !m.Known {
		parts = append(parts, "not known to Kerf")
	}
	return strings.Join(parts, ", ")
}

// efforts are the words for the effort that a model takes.
func efforts(f family.Facts) []string {
	switch f.Reasoning {
	case family.NoReasoning:
		return nil
	case family.ByEffort:
		return []string{"minimal", "low", "medium", "high", "xhigh"}
	}
	return []string{"low", "medium", "high"}
}

// Changes lists what was changed in the workspace of a session since it began,
// oldest first, by whomever.
func (q query) Changes(ctx context.Context, id protocol.SessionID) ([]protocol.ChangeEntry, error) {
	op := q.h.opener()
	info, err := op.store().Find(ctx, string(id))
	if err != nil {
		return nil, err
	}
	var list []protocol.ChangeEntry
	err = op.reading(info.Cwd, func(r changes.Reader) error {
		entries, err := r.Log(changes.Filter{Since: info.Created, Diffs: true})
		for _, e := range slices.Backward(entries) {
			list = append(list, changeEntry(e))
		}
		return cmp.Or(err, ctx.Err())
	})
	return list, err
}

func changeEntry(e row.Entry) protocol.ChangeEntry {
	d := protocol.ChangeEntry{Session: protocol.SessionID(e.Session), Turn: protocol.TurnID(e.Turn),
		Call:  protocol.CallID(e.Call),
		Cause: e.Cause, Certainty: protocol.Certainty(e.Certainty), Running: e.Running, Tool: e.Tool, Time: e.Time, Undone: e.Undone, Diff: e.Diff}
	for _, c := range e.Changes {
		pc := protocol.PathChange{Path: string(c.Path), Kind: protocol.Update, Moved: string(c.From),
			Certainty: d.Certainty}
		switch c.Operation {
		case "created":
			pc.Kind = protocol.Add
		case "deleted":
			pc.Kind = protocol.Delete
		}
		d.Changes = append(d.Changes, pc)
	}
	return d
}

// Prompts lists the commands of the user and of a trusted project, and the skills, each
// sorted by name.
func (q query) Prompts(ctx context.Context, cwd string) ([]protocol.Prompt, error) {
	c := q.h.configured()
	list := skills.Prompts(c.skillset().Commands()...)
	for _, s := range c.skillset().Skills() {
		list = append(list, protocol.Prompt{Name: s.Name, Description: s.Description, Body: "$" + s.Name + " $ARGUMENTS",
			Skill: true})
	}
	return list, ctx.Err()
}

// Check looks at what Kerf needs on this machine.
func (q query) Check(ctx context.Context) ([]protocol.Check, error) {
	op := q.h.opener()
	c := op.Config
	model := func(ctx context.Context) (string, error) {
		_, _, err := op.clientFor(ctx, &protocol.Settings{Model: c.Model})
		return cmp.Or(c.Model, "the default model") + " of " + c.Providers[c.ModelProvider].Name, err
	}
	return doctor.Run(ctx, doctor.Options{Home: c.Home, Cwd: c.Cwd, Getenv: op.getenv, Warnings: op.warnings,
		Model: model, Files: op.files}), nil
}

// files tells which files of the project and of the user are used.
func (c configured) files() []doctor.Files {
	of := func(name, none string, listed func() (used, unused []string)) doctor.Files {
		used, unused := listed()
		return doctor.Files{Name: name, None: none, Used: used, Unused: unused}
	}
	servers := doctor.Files{Name: "MCP servers", None: "none; kerf mcp add adds one"}
	servers.Used, servers.Unused, servers.Lacking = c.ListedServers(c.mcp().Lacks)
	return []doctor.Files{
		of("instructions", "no AGENTS.md or the like; kerf init writes one",
			c.surroundings(protocol.Settings{Cwd: c.Cwd}).Listed),
		of("plugins", "none; kerf plugin add adds one", c.ListedPlugins),
		servers,
		langservers.Listed(c.Config, c.trusted()), of("hooks", "none", c.ListedHooks), of("skills", "none", c.skillset().Listed),
		of("commands", "none of your own", c.skillset().ListedCommands), of("agents in files", "none", c.roles().Listed)}
}
