package policy

import (
	"path"
	"slices"

	"kerf/internal/agent/policy/reads"
	"kerf/internal/text/shell"
)

// KnownSafe reports whether line is a list of plain commands that are known to
// only read, and to read no known secret. The line is parsed as shell; whatever
// is not literal words joined by && || ; and | is not known to be safe. It sees the
// words only; SafeAt also looks at the place.
func KnownSafe(line string) bool { return Parse(line).Safe() }

// Safe reports whether the line is plain and every command in it only reads.
func (p *Parsed) Safe() bool { return p.SafeAt(Command{}) }

// SafeAt is Safe for a line that runs in the place of a command: it also must not start
// a program that lies where commands may write, nor git in a repository that has it run
// something.
func (p *Parsed) SafeAt(c Command) bool {
	if !p.Plain() {
		return false
	}
	dirs := p.Dirs(c)
	for i, s := range p.Commands {
		// What is started is judged with the command that starts it.
		if !s.Started && s.whyUnsafe(c, dirs[i]) != "" {
			return false
		}
	}
	return true
}

// Safe reports whether a command is literal and known to only read.
func (s Simple) Safe() bool { return s.whyUnsafe(Command{}, []string{""}) == "" }

// whyUnsafe says why a command that runs in one of the directories is not known to only
// read, or nothing.
func (s Simple) whyUnsafe(c Command, dirs []string) string {
	name := s.Words[0].Text
	vague := name + " is not known to only read as it is used here"
	argv, ok := s.Argv()
	if !ok {
		return vague
	}
	all := [][]string{argv}
	if script, ok := shell.Script(argv); ok {
		inner := Parse(script)
		if all, ok = Plain(script); !ok || slices.ContainsFunc(inner.Commands, func(s Simple) bool {
			return changesDir(s.Words[0].Text)
		}) {
			return vague
		}
	}
	for _, argv := range all {
		if !reads.Only(argv) {
			return vague
		}
		if why := strayed(argv, c, dirs); why != "" {
			return why
		}
	}
	return ""
}

// strayed says why a command that only reads by its words does more in this place.
func strayed(argv []string, c Command, dirs []string) string {
	if c.Place == nil {
		return ""
	}
	name := path.Base(argv[0])
	if reads.Builtin(name) {
		return ""
	}
	if file, changeable := c.Place.Program(name); changeable {
		return name + " would start " + file + ", which commands can write"
	}
	if name != "git" {
		return ""
	}
	if dirs == nil {
		return "where git would run is known only when it runs"
	}
	for _, dir := range dirs {
		if program := c.Place.Runs(dir); program != "" {
			return "the repository has git run something: " + program
		}
	}
	return ""
}

// whyUnsafe says why a line is not known to only read.
func (p *Parsed) whyUnsafe(c Command, h Harm) string {
	switch {
	case h.Level > Ordinary:
		return h.Why
	case p.Err != nil:
		return p.Err.Error()
	case len(p.Odd) > 0:
		return "it has " + p.Odd[0] + ", so it is not known to only read"
	}
	dirs := p.Dirs(c)
	for i, s := range p.Commands {
		if s.Started {
			continue
		}
		if why := s.whyUnsafe(c, dirs[i]); why != "" {
			return why
		}
	}
	return "the command is not known to only read"
}

// leaf reports whether a program starts nothing that its words name.
func leaf(name string) bool {
	if reads.Listed(name) {
		return true
	}
	switch name {
	case "cp", "mv", "ln", "mkdir", "rmdir", "touch", "rm", "chmod", "chown", "chgrp", "tee", "truncate", "dd", "patch",
		"gzip", "gunzip", "bzip2", "xz", "zstd", "gcc", "g++", "clang", "clang++", "cc", "c++", "ld", "ar", "strip", "gofmt",
		"goimports", "cargo", "rustc", "npm", "pnpm", "yarn", "pip", "pip3", "javac", "export", "kill", "killall", "pkill",
		"cmake", "ninja", "pytest", "jest", "eslint", "prettier", "ruff", "black", "mypy", "tsc", "mktemp", "unlink", "shred":
		return true
	}
	return false
}
