// Package skillset knows where the skills and the commands are that hold in a directory.
package skillset

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/skills"
	"kerf/internal/config"
	"kerf/internal/config/plugins"
	"kerf/internal/pathname"
)

// Set is that of one configuration. Home is the user's.
type Set struct {
	Config *config.Config
	Home   string
}

// untrusted is why something of a project is not used.
const untrusted = "the project is not trusted; see kerf trust"

// projects are the directories of the project with such files, the nearest first.
func (s Set) projects() (dirs []string) {
	for _, dir := range slices.Compact([]string{s.Config.Cwd, s.Config.Root}) {
		if dir != s.Home {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (s Set) places(own string, shared func(string) []skills.Place) (project, user []skills.Place) {
	for _, root := range s.projects() {
		project = append(append(project, skills.Place{Root: root, Dir: ".kerf/" + own}), shared(root)...)
	}
	return project, append([]skills.Place{{Root: s.Config.Home, Dir: own}}, shared(s.Home)...)
}

// Skills are those of a trusted project, then those of the user, then those of plugins.
func (s Set) Skills() []skills.Skill {
	project, user := s.places("skills", skills.Shared)
	return skills.Read(slices.Concat(s.ifTrusted(project), user, s.plugged(skillParts))...)
}

// Commands are the places of commands of a trusted project, then those of the user, then
// those of plugins.
func (s Set) Commands() []skills.Place {
	project, user := s.places("prompts", skills.Commands)
	return slices.Concat(s.ifTrusted(project), user, s.plugged(commandParts))
}

// Agents are the places of agents that plugins bring.
func (s Set) Agents() []skills.Place {
	return s.plugged(func(p plugins.Plugin) []plugins.Part { return p.Agents })
}

func skillParts(p plugins.Plugin) []plugins.Part   { return p.Skills }
func commandParts(p plugins.Plugin) []plugins.Part { return p.Commands }

// plugged are places of the plugins that are used here.
func (s Set) plugged(parts func(plugins.Plugin) []plugins.Part) (places []skills.Place) {
	for _, p := range s.Config.UsedPlugins() {
		places = append(places, Places(p, parts(p))...)
	}
	return places
}

// Places are parts of a plugin as places.
func Places(p plugins.Plugin, parts []plugins.Part) (places []skills.Place) {
	for _, part := range parts {
		place := skills.Place{Root: p.Dir, Dir: part.Dir, Only: part.Only, Prefix: strings.ReplaceAll(p.Name, ".", "-"),
			Of: "plugin " + p.Name}
		if part.Dir == ".." { // the plugin itself is a skill
			place.Root, place.Dir = filepath.Dir(p.Dir), "."
		}
		places = append(places, place)
	}
	return places
}

func (s Set) ifTrusted(places []skills.Place) []skills.Place {
	if s.Config.Trust(s.Config.Root) != config.Trusted {
		return nil
	}
	return places
}

// Found are all skills that are there, with the reason for those that are not used.
func (s Set) Found() []skills.Found {
	project, user := s.places("skills", skills.Shared)
	user = append(user, s.plugged(skillParts)...)
	if s.Config.Trust(s.Config.Root) == config.Trusted {
		return skills.Find(append(project, user...)...)
	}
	found := skills.Find(user...)
	for _, f := range skills.Find(project...) {
		if f.Why == "" {
			f.Why = untrusted
		}
		found = append(found, f)
	}
	return found
}

// Short is a path as people read it: from the project, from the home, or from a plugin.
func (s Set) Short(path string) string {
	for _, p := range s.Config.UsedPlugins() {
		if pathname.Inside(p.Dir, path) {
			return strings.TrimSuffix("plugin "+p.Name+"/"+filepath.ToSlash(pathname.Short(p.Dir, path)), "/.")
		}
	}
	if short := pathname.Short(s.Config.Root, path); short != path {
		return filepath.ToSlash(short)
	}
	if short := pathname.Short(s.Home, path); short != path && s.Home != "" {
		return "~/" + filepath.ToSlash(short)
	}
	return path
}

// Listed are the skills in words: those that are used, and those that are not.
func (s Set) Listed() (used, unused []string) {
	for _, f := range s.Found() {
		if f.Why == "" {
			used = append(used, f.Name+" ("+s.Short(f.Dir)+")")
		} else {
			unused = append(unused, s.Short(f.Dir)+" ("+s.short(f.Why)+")")
		}
	}
	return used, unused
}

// short is a reason in which a path stands first.
func (s Set) short(why string) string {
	path, rest, _ := strings.Cut(why, " has this name")
	if path == why {
		return why
	}
	return s.Short(path) + " has this name" + rest
}

// Why is the reason in words.
func (s Set) Why(f skills.Found) string { return s.short(f.Why) }

// ListedCommands are the commands in words.
func (s Set) ListedCommands() (used, unused []string) {
	list, left := skills.FindPrompts(s.Commands()...)
	for _, c := range list {
		used = append(used, "/"+c.Name)
	}
	for _, l := range left {
		unused = append(unused, s.Short(l.File)+" ("+l.Why+")")
	}
	if project, _ := s.places("prompts", skills.Commands); s.ifTrusted(project) == nil {
		for _, c := range skills.Prompts(project...) {
			unused = append(unused, "/"+c.Name+" ("+untrusted+")")
		}
	}
	return used, unused
}

// Validate holds the folder of a skill against the standard; see [skills.Validate].
func Validate(dir string) []skills.Remark { return skills.Validate(dir) }

// Add copies the folder of a skill into a directory; see [skills.Copy].
func Add(from, into string) (string, error) { return skills.Copy(from, into) }
