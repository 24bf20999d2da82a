package host

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/skills"
	"kerf/internal/doctor"
	"kerf/internal/model"
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
	c := q.h.configured()
	cwd = cmp.Or(cwd, c.Cwd)
	return q.h.files.Find(ctx, cwd, query, limit, func() search.Boundary {
		set, _ := c.settings(protocol.Settings{Cwd: cwd})
		pl, _ := c.plan(set, set.Sandbox, nil) // where it cannot be met it hides more
		return &pl
	})
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
func efforts(f model.Facts) []string {
	switch f.Reasoning {
	case model.NoReasoning:
		return nil
	case model.EffortReasoning:
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

// Prompts lists the user's own commands, the files KERF_HOME/prompts/NAME.md,
// and the skills, each sorted by name.
func (q query) Prompts(ctx context.Context, cwd string) ([]protocol.Prompt, error) {
	c := q.h.configured()
	list := skills.Prompts(filepath.Join(c.Home, "prompts"))
	for _, s := range c.skills() {
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
		Model: model}), nil
}
