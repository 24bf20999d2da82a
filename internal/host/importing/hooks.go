package importing

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"kerf/internal/config/hookfile"
)

// gathered are the hooks of all agents, which become one file.
type gathered struct {
	events map[string][]any
	done   bool
	err    error
}

// hooks plans hooks.json of Kerf's home, with what Kerf can run of the hooks of an agent.
func (p *plan) hooks(from string, table any) {
	events, _ := table.(map[string]any)
	var known []string
	for _, event := range slices.Sorted(maps.Keys(events)) {
		own := hookfile.Own(event)
		groups, _ := events[event].([]any)
		kept, why := usable(own, groups)
		if why != "" {
			p.add(None, from, "hooks of "+event, why, nil)
		}
		if len(kept) == 0 {
			continue
		}
		if p.hooked.events == nil {
			p.hooked.events = map[string][]any{}
		}
		if p.mayHook() {
			p.hooked.events[own] = append(p.hooked.events[own], kept...)
		}
		known = append(known, own)
	}
	if len(known) == 0 {
		return
	}
	slices.Sort(known)
	what := "hooks of " + strings.Join(slices.Compact(known), ", ") + " as " + hooksName
	if !p.mayHook() {
		p.add(Kept, from, what, "there is one already", nil)
		return
	}
	p.add(Write, from, what, "", p.writeHooks)
}

const hooksName = "hooks.json"

// mayHook reports whether hooks.json can be written: Kerf has none.
func (p *plan) mayHook() bool { return !p.exists(hooksName) }

// writeHooks writes the hooks of all agents, once.
func (p *plan) writeHooks() error {
	if p.hooked.done {
		return p.hooked.err
	}
	p.hooked.done = true
	data, err := json.MarshalIndent(map[string]any{"hooks": p.hooked.events}, "", "  ")
	if err == nil {
		err = p.create(hooksName, append(data, '\n'))
	}
	p.hooked.err = err
	return err
}

// usable are the groups of handlers of an event without those that Kerf cannot run, and why one
// cannot.
func usable(event string, groups []any) (kept []any, why string) {
	fits := func(handler any) bool {
		err := hookfile.Check(map[string]any{event: []any{handler}})
		if err != nil {
			if _, why, _ = strings.Cut(err.Error(), "hooks."+event+": "); strings.HasPrefix(why, "no such event") {
				why = "Kerf has no such event"
			}
		}
		return err == nil
	}
	if len(groups) == 0 {
		_ = fits(map[string]any{"type": "command", "command": "true"})
	}
	for _, g := range groups {
		group, _ := g.(map[string]any)
		nested, ok := group["hooks"].([]any)
		if !ok {
			if fits(g) {
				kept = append(kept, g)
			}
			continue
		}
		group = maps.Clone(group)
		var all []any
		for _, handler := range nested {
			if fits(handler) {
				all = append(all, handler)
			}
		}
		if group["hooks"] = all; len(all) > 0 {
			kept = append(kept, group)
		}
	}
	return kept, why
}
