package plugging

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/skills"
	"kerf/internal/config"
	"kerf/internal/config/peers"
	"kerf/internal/config/plugins"
	"kerf/internal/host/skillset"
)

// Told is what a plugin has, in lines.
type Told struct {
	// Runs is all that Kerf starts for it: hooks and MCP servers, as they stand there.
	Runs []string
	// Brings is what the model and the user get: skills, commands, agents.
	Brings []string
	// Programs are the files in it that can be run, which only its hooks and servers start,
	// or the model by a command, as the policy allows.
	Programs []string
	Left     []string
}

// Tell says what a plugin has.
func Tell(p plugins.Plugin, getenv func(string) string) (t Told) {
	hooks, left := config.PluginHooks(p)
	for _, h := range hooks {
		on := h.Event
		if h.Matcher != "" && h.Matcher != "*" {
			on += " of " + h.Matcher
		}
		t.Runs = append(t.Runs, "hook at "+on+": "+h.Shown()+sent(h))
	}
	for _, s := range p.Servers {
		_, reads, why := s.Expanded(getenv)
		switch {
		case s.Why != "":
			t.Left = append(t.Left, "MCP server "+s.Name+": "+s.Why)
			continue
		case why != "":
			why = " (not now: " + why + ")"
		}
		t.Runs = append(t.Runs, "MCP server "+s.Name+": "+started(s, reads)+why)
	}
	for _, f := range skills.Find(skillset.Places(p, p.Skills)...) {
		if f.Why != "" {
			t.Left = append(t.Left, "skill "+f.Name+": "+f.Why)
		} else {
			t.Brings = append(t.Brings, "skill "+f.Name+": "+f.Description)
		}
	}
	for _, c := range skills.Prompts(skillset.Places(p, p.Commands)...) {
		t.Brings = append(t.Brings, "command /"+c.Name+": "+c.Description)
	}
	for _, a := range skills.Agents(skillset.Places(p, p.Agents)...) {
		if a.Why != "" {
			t.Left = append(t.Left, "agent "+a.Name+": "+a.Why)
		} else {
			t.Brings = append(t.Brings, "agent "+a.Name+": "+a.Description)
		}
	}
	t.Programs = programs(p.Dir)
	for _, text := range left {
		t.Left = append(t.Left, strings.TrimPrefix(text, "plugin "+p.Name+" "))
	}
	t.Left = append(t.Left, p.Left...)
	return t
}

// sent names the headers with which a hook is sent, and the variables whose values go along.
func sent(h config.Hook) string {
	if len(h.Headers) == 0 {
		return ""
	}
	text := " with the headers " + strings.Join(slices.Sorted(maps.Keys(h.Headers)), ", ")
	if len(h.Env) > 0 {
		text += " and the values of " + strings.Join(h.Env, ", ")
	}
	return text
}

// started is what an MCP server is, with all of its words.
func started(s peers.Server, reads []string) string {
	g := s.Given
	var b strings.Builder
	if g.URL != "" {
		b.WriteString(g.URL)
		if len(g.Headers) > 0 {
			b.WriteString(" with the headers " + strings.Join(slices.Sorted(maps.Keys(g.Headers)), ", "))
		}
	} else {
		b.WriteString(word(g.Command))
		for _, a := range g.Args {
			b.WriteString(" " + word(a))
		}
		for _, name := range slices.Sorted(maps.Keys(g.Env)) {
			fmt.Fprintf(&b, ", %s=%s", name, word(g.Env[name]))
		}
		if g.Cwd != "" {
			b.WriteString(", in " + g.Cwd)
		}
	}
	reads = slices.DeleteFunc(reads, func(name string) bool { return s.Vars[name] != "" })
	if len(reads) > 0 {
		b.WriteString(", gets your " + strings.Join(reads, ", "))
	}
	return b.String()
}

// word is an argument so that one sees where it ends.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"'\\,") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// programs are the files of a plugin that can be run.
func programs(dir string) (names []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&0o100 != 0 {
			if rel, err := filepath.Rel(dir, path); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return names
}
