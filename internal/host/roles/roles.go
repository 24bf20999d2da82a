// Package roles tells which kinds of sub-agents the configuration knows.
package roles

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kerf/internal/agent/review"
	"kerf/internal/agent/skills"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/config"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// Set is the roles of one configuration. Home is the user's.
type Set struct {
	Config *config.Config
	Home   string
	// Plugged are the places of agents that plugins bring.
	Plugged []skills.Place
}

// Of are the built-in roles, with the configured ones over them, and those in files of a
// trusted project and of the user.
func (s Set) Of() []team.Role {
	roles := s.own()
	for _, a := range s.files(roles) {
		if a.Why == "" {
			role, _ := s.role(a)
			roles = append(roles, role)
		}
	}
	return roles
}

// own are the built-in roles with the configured ones over them.
func (s Set) own() []team.Role {
	roles := team.Roles()
	for _, name := range slices.Sorted(maps.Keys(s.Config.Agents.Roles)) {
		a := s.Config.Agents.Roles[name]
		r := team.Role{Name: name, Description: a.Description, Instructions: a.Instructions, Model: a.Model, Effort: a.Effort,
			Tools: a.Tools, Sandbox: protocol.SandboxMode(a.Sandbox), Isolated: a.Isolation == "worktree"}
		if i := slices.IndexFunc(roles, func(r team.Role) bool { return r.Name == name }); i >= 0 {
			roles[i] = r
		} else {
			roles = append(roles, r)
		}
	}
	return roles
}

// files are the agents in files beside the roles that there are.
func (s Set) files(roles []team.Role) []skills.Agent {
	var places []skills.Place
	trusted := s.Config.Trust(s.Config.Root) == config.Trusted
	for _, root := range slices.Compact([]string{s.Config.Cwd, s.Config.Root}) {
		if root != s.Home && trusted {
			places = append(places, skills.AgentPlaces(root)...)
		}
	}
	all := skills.Agents(slices.Concat(places, skills.AgentPlaces(s.Home), s.Plugged)...)
	if !trusted && s.Config.Root != s.Home {
		for _, a := range skills.Agents(skills.AgentPlaces(s.Config.Root)...) {
			a.Why = cmp.Or(a.Why, "the project is not trusted; see kerf trust")
			all = append(all, a)
		}
	}
	for i, a := range all {
		taken := slices.ContainsFunc(roles, func(r team.Role) bool { return r.Name == a.Name }) || a.Name == review.Role
		if a.Why == "" && taken {
			all[i].Why = "Kerf or config.toml has an agent of this name"
		}
	}
	return all
}

// equals are Kerf's tools for one of other agents, nil where there is none.
func equals(name string) []string {
	own := ""
	switch name {
	case "Read":
		own = "read_file view_image"
	case "Write":
		own = "write_file"
	case "Edit", "MultiEdit":
		own = "edit_file apply_patch"
	case "Bash":
		own = "exec_command write_stdin"
	case "Glob", "Grep":
		own = strings.ToLower(name)
	case "LS":
		own = "list_dir"
	case "TodoWrite":
		own = "update_plan"
	case "Task", "Agent":
		own = "spawn_agent send_input wait close_agent list_agents resume_agent"
	default:
		return nil
	}
	return strings.Fields(own)
}

// asksCode reports whether a tool asks a language server, where there is one.
func asksCode(name string) bool {
	return slices.ContainsFunc(tools.Code(), func(t tool.Tool) bool { return t.Spec().Name == name })
}

// role is an agent as a role, and what of it has no equal here. A model counts if the
// session's is of the same family, and a sandbox mode only as far as it narrows.
func (s Set) role(a skills.Agent) (r team.Role, left []string) {
	r = team.Role{Name: a.Name, Description: a.Description, Instructions: a.Instructions, Isolated: a.Worktree}
	if a.Tools != nil {
		r.Tools = []string{}
	}
	for _, name := range a.Tools {
		switch own := equals(name); {
		case own != nil:
			r.Tools = append(r.Tools, own...)
		case strings.HasPrefix(name, "mcp__") || slices.Contains(tools.Names(), name) || asksCode(name):
			r.Tools = append(r.Tools, name)
		default:
			left = append(left, "tool "+name)
		}
	}
	if len(a.Without) > 0 && r.Tools == nil {
		r.Tools = tools.Names()
	}
	for _, name := range a.Without {
		gone := append(equals(name), name)
		r.Tools = slices.DeleteFunc(r.Tools, func(own string) bool { return slices.Contains(gone, own) })
	}
	switch a.Sandbox {
	case "", "read-only", "workspace-write", "danger-full-access":
		r.Sandbox = protocol.SandboxMode(a.Sandbox)
	default:
		left = append(left, "sandbox "+a.Sandbox)
	}
	if slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, a.Effort) {
		r.Effort = a.Effort
	}
	switch {
	case a.Model == "" || a.Model == "inherit":
	case family(a.Model) != "" && family(a.Model) == family(s.Config.Model):
		r.Model = a.Model
	default:
		left = append(left, "model "+a.Model)
	}
	return r, left
}

// family is the first word of a model's name.
func family(model string) string {
	word, _, cut := strings.Cut(model, "-")
	if !cut {
		return ""
	}
	return word
}

// Listed are the agents in files in words: those that are used with what is left out, and
// those that are not.
func (s Set) Listed() (used, unused []string) {
	for _, a := range s.files(s.own()) {
		name := pathname.Short(s.Home, pathname.Short(s.Config.Root, a.File))
		for _, p := range s.Plugged {
			if pathname.Inside(p.Root, a.File) {
				name = p.Of + "/" + pathname.Short(p.Root, a.File)
			}
		}
		if a.Why != "" {
			unused = append(unused, name+" ("+strings.ReplaceAll(a.Why, s.Config.Root+"/", "")+")")
			continue
		}
		if _, left := s.role(a); len(left) > 0 {
			name += " without " + strings.Join(left, ", ")
		}
		used = append(used, a.Name+" ("+name+")")
	}
	return used, unused
}

// Words tell a model which roles there are.
func Words(roles []team.Role) string {
	var b strings.Builder
	b.WriteString("\n\nThe agent types are:")
	for _, r := range roles {
		b.WriteString("\n- " + r.Name)
		if r.Description != "" {
			b.WriteString(": " + r.Description)
		}
	}
	return b.String()
}

// Narrower is the stricter of two sandbox modes; an empty one says nothing.
func Narrower(a, b protocol.SandboxMode) protocol.SandboxMode {
	if b == "" || b.Rank() >= a.Rank() {
		return a
	}
	return b
}
