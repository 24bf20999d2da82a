package policy

import (
	"path/filepath"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"kerf/internal/pathname"
)

// Place tells what the machine knows of the place where a command runs. What it cannot
// tell counts against the command: it is not allowed by a rule, and not known to only
// read.
type Place interface {
	// Real is the name of a directory with all links followed.
	Real(dir string) (string, bool)
	// Cd is the directory that a shell in dir goes to by cd with this argument.
	Cd(dir, to string) (string, bool)
	// Repo is the root of the repository that holds dir, or empty.
	Repo(dir string) string
	// Program is the file that a command of this name starts. Changeable files are those
	// that commands in the sandbox may write.
	Program(name string) (path string, changeable bool)
	// Runs says which program git would run in dir because of the repository there,
	// or nothing.
	Runs(dir string) string
}

// words is the place of commands that are judged by their words alone, as the examples
// in rules files are.
type words struct{ repo string }

func (words) Real(dir string) (string, bool) { return dir, true }

func (words) Cd(dir, to string) (string, bool) {
	if filepath.IsAbs(to) {
		return filepath.Clean(to), true
	}
	return filepath.Join(dir, to), true
}

func (w words) Repo(string) string          { return w.repo }
func (words) Program(string) (string, bool) { return "", false }
func (words) Runs(string) string            { return "" }

// place is where a command is judged to be.
func (c Command) place() Place {
	if c.Place == nil {
		return words{c.Repo}
	}
	return c.Place
}

// changesDir are the builtins that go elsewhere.
func changesDir(name string) bool { return name == "cd" || name == "pushd" || name == "popd" }

// Dirs are the directories in which each command of the line may run, nil where that is
// not known.
func (p *Parsed) Dirs(c Command) [][]string {
	all := make([][]string, len(p.Commands))
	moves, started := false, false
	for _, s := range p.Commands {
		moves = moves || changesDir(s.Words[0].Text) || !s.Words[0].Known
		started = started || s.Started
	}
	if !moves {
		elsewhere := slices.ContainsFunc(p.Commands, Simple.goesElsewhere)
		for i, s := range p.Commands {
			if !s.Started || !elsewhere {
				all[i] = []string{c.Dir}
			}
		}
		return all
	}
	if !p.Plain() || started || p.file == nil {
		return all
	}
	w := &wanderer{p: p, place: c.place(), dirs: all}
	at := []string{c.Dir}
	for _, s := range p.file.Stmts {
		well, badly := w.walk(s, at)
		at = union(well, badly)
	}
	return all
}

// goesElsewhere reports whether a command may start another one in another directory.
func (s Simple) goesElsewhere() bool {
	for _, w := range s.Words[1:] {
		switch {
		case !w.Known, w.Text == "-C", w.Text == "--chdir", w.Text == "-D", w.Text == "-execdir", w.Text == "--chroot",
			len(w.Text) > 2 && (w.Text[:2] == "-C" || w.Text[:2] == "-D"), len(w.Text) > 8 && w.Text[:8] == "--chdir=":
			return true
		}
	}
	return s.Words[0].Text == "chroot" || s.Words[0].Text == "sudo" || s.Words[0].Text == "su"
}

// wanderer follows a plain line through the directories to which it goes.
type wanderer struct {
	p     *Parsed
	place Place
	dirs  [][]string
}

// walk notes where the commands of a statement run that begins in one of the
// directories at, and returns where a shell is after it went well or badly. Nil is
// anywhere.
func (w *wanderer) walk(s *syntax.Stmt, at []string) (well, badly []string) {
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll { // each side in a shell of its own
			w.walk(cmd.X, at)
			w.walk(cmd.Y, at)
			return at, at
		}
		first, not := w.walk(cmd.X, at)
		if cmd.Op == syntax.AndStmt {
			well, badly = w.walk(cmd.Y, first)
			return well, union(not, badly)
		}
		well, badly = w.walk(cmd.Y, not)
		return union(first, well), badly
	case *syntax.CallExpr:
		i := w.p.calls[cmd] // each call of a plain line is one of its commands
		w.dirs[i] = at
		if s := w.p.Commands[i]; changesDir(s.Words[0].Text) {
			return w.cd(s, at), at
		}
		return at, at
	}
	return nil, nil
}

func (w *wanderer) cd(s Simple, at []string) []string {
	if len(s.Words) != 2 || s.Words[0].Text != "cd" || len(s.Words[1].Text) == 0 || s.Words[1].Text[0] == '-' {
		return nil
	}
	var to []string
	for _, dir := range at {
		d, ok := w.place.Cd(dir, s.Words[1].Text)
		if !ok {
			return nil
		}
		to = append(to, d)
	}
	return to
}

// maxDirs bounds how many directories a command may run in before it is anywhere.
const maxDirs = 64

// union are the directories of both; nil is anywhere.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	all := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	if len(all) > maxDirs {
		return nil
	}
	return all
}

// holds is how far something holds.
type holds int

const (
	no holds = iota
	maybe
	yes
)

// within tells whether a rule's place is that of a command in one of the directories.
func (r Rule) within(c Command, dirs []string) holds {
	if r.In == "" && r.Repo == "" {
		return yes
	}
	if dirs == nil {
		return maybe
	}
	in, out := false, false
	for _, dir := range dirs {
		if r.holdsIn(c, dir) {
			in = true
		} else {
			out = true
		}
	}
	switch {
	case in && out:
		return maybe
	case in:
		return yes
	}
	return no
}

func (r Rule) holdsIn(c Command, dir string) bool {
	place := c.place()
	real, ok := place.Real(dir)
	if !ok {
		return false
	}
	if r.In != "" {
		in, ok := place.Real(r.In)
		if !ok {
			in = r.In
		}
		if !pathname.Inside(in, real) {
			return false
		}
	}
	if r.Repo == "" {
		return true
	}
	root, ok := place.Real(r.Repo)
	if !ok {
		root = r.Repo
	}
	held := c.Repo
	if dir != c.Dir || c.Place != nil {
		held = place.Repo(real)
	}
	if h, ok := place.Real(held); ok {
		held = h
	}
	return held == root
}
