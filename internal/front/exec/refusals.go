package exec

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
)

// refusals keep which files a turn wanted to change and was not allowed to.
type refusals struct {
	settings protocol.Settings
	paths    []string // in the order of the first refusal
	why      string   // of the first one that still stands
	command  string   // the first one that could not write in the working directory, unless it did later
}

// hear takes one message in.
func (r *refusals) hear(m protocol.Msg) {
	switch m := m.(type) {
	case protocol.SessionStarted:
		r.settings = m.Settings
	case protocol.ItemCompleted:
		if c, ok := m.Item.Body.(protocol.FileChange); ok {
			r.change(m.Item.Status, c)
		} else if c, ok := m.Item.Body.(protocol.Command); ok {
			r.ran(c)
		}
	case protocol.TurnDiff:
		for _, f := range shown.Files(m.Diff) { // commands may have done it in the end
			r.forget(func(path string) bool { return path == f.Name || strings.HasSuffix(path, "/"+f.Name) })
		}
	}
}

func (r *refusals) change(status protocol.Status, c protocol.FileChange) {
	for _, p := range c.Changes {
		path := filepath.ToSlash(p.Path)
		switch {
		case status == protocol.Completed:
			r.forget(func(have string) bool { return have == path || p.Moved != "" && have == filepath.ToSlash(p.Moved) })
		case status == protocol.Declined && !slices.Contains(r.paths, path):
			if len(r.paths) == 0 {
				r.why = c.Error
			}
			r.paths = append(r.paths, path)
		}
	}
}

// ran notes a command that ended because the sandbox let it write nothing here. One that
// succeeds when it is run again makes it good.
func (r *refusals) ran(c protocol.Command) {
	switch {
	case c.Verdict != "" || r.settings.Mode().Sandbox() != protocol.SandboxReadOnly || c.ExitCode == nil:
	case *c.ExitCode == 0 && r.command == c.Command:
		r.command = ""
	case *c.ExitCode != 0 && r.command == "" && r.blocked(c.Output):
		r.command = c.Command
	}
}

// blocked reports whether output complains of a file in the working directory that cannot be
// written. What lies elsewhere, such as a cache, was not what was asked for.
func (r *refusals) blocked(output string) bool {
	cwd := strings.TrimSuffix(filepath.ToSlash(r.settings.Cwd), "/")
	for line := range strings.Lines(output) {
		if !strings.Contains(strings.ToLower(line), "read-only file system") {
			continue
		}
		i := strings.IndexByte(line, '/')
		outside := i >= 0 && (i == 0 || strings.ContainsRune(" '\"`:", rune(line[i-1]))) && !strings.Contains(line, cwd+"/")
		if !outside {
			return true
		}
	}
	return false
}

func (r *refusals) forget(is func(string) bool) { r.paths = slices.DeleteFunc(r.paths, is) }

// words tell what was not done, why, and what helps; empty if all was allowed. In plan
// mode nothing is expected to be written.
func (r *refusals) words() (message, hint string) {
	const help = "allow it for this run: -s workspace-write; or for this project from now on: kerf trust --yes"
	switch {
	case r.settings.Mode().Plans():
		return "", ""
	case len(r.paths) == 0 && r.command != "":
		return "a command of the turn could not write here: the sandbox is read-only: " +
			visible.ClipRunes(oneLine(r.command), 80), help
	case len(r.paths) == 0:
		return "", ""
	}
	message = "the turn wanted to change " + strings.Join(r.short(3), ", ") + " and was not allowed to"
	switch {
	case r.settings.Mode().Sandbox() == protocol.SandboxReadOnly:
		return message + ": the sandbox is read-only",
			help
	case r.why != "":
		message += ": " + r.why
	}
	return message, "kerf without exec asks you instead of refusing"
}

// short names at most n of the paths from the working directory.
func (r *refusals) short(n int) []string {
	var names []string
	for _, p := range r.paths[:min(n, len(r.paths))] {
		if rel, err := filepath.Rel(r.settings.Cwd, filepath.FromSlash(p)); err == nil && filepath.IsLocal(rel) {
			p = filepath.ToSlash(rel)
		}
		names = append(names, oneLine(p))
	}
	if more := len(r.paths) - len(names); more > 0 {
		names = append(names, count(more, "more file"))
	}
	return names
}
