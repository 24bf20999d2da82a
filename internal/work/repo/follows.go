package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of what is read of included settings.
const (
	maxIncludes     = 64
	maxIncludeDepth = 10
)

// Target is a file or directory that settings of git name, and from which git then runs a
// program or takes further settings. It need not exist.
type Target struct {
	Path    string // absolute, as it is named
	Setting string // such as core.hooksPath
	File    string // where that is set
	Kind    TargetKind
}

// TargetKind says what git does with a target.
type TargetKind int

// The kinds of targets: a program that is run, a directory of programs, a file of settings.
const (
	Program TargetKind = iota
	Programs
	Settings
)

// Follows returns what git runs or reads for the repository whose git directory is gitDir
// and whose working tree is top, because settings name it: the directory of hooks,
// included files, and the programs that a setting begins with. Besides the settings of the
// repository those of the user with the given home and of the machine are read, since a
// relative path there means a place in the working tree as well. Conditions of includes
// are taken to hold. It reads files and starts nothing.
func Follows(gitDir, top, home string) []Target {
	f := following{top: top, home: home, seen: make(map[string]bool)}
	for _, file := range []string{filepath.Join(CommonDir(gitDir), "config"), filepath.Join(gitDir, "config"),
		filepath.Join(gitDir, "config.worktree"), "/etc/gitconfig"} {
		f.file(file, 0)
	}
	if home != "" {
		f.file(filepath.Join(home, ".gitconfig"), 0)
		f.file(filepath.Join(home, ".config", "git", "config"), 0)
	}
	return f.found
}

// following reads settings and gathers what they name.
type following struct {
	top, home string
	seen      map[string]bool
	found     []Target
}

func (f *following) file(path string, depth int) {
	if f.seen[path] || len(f.seen) >= maxIncludes || depth > maxIncludeDepth {
		return
	}
	f.seen[path] = true
	text, err := readSmall(path, maxConfig)
	if err != nil {
		return
	}
	all, _ := settingsOf(text)
	for _, s := range all {
		f.setting(path, s, depth)
	}
}

func (f *following) setting(file string, s setting, depth int) {
	add := func(path string, kind TargetKind) {
		if path != "" {
			f.found = append(f.found, Target{Path: path, Setting: s.name, File: file, Kind: kind})
		}
	}
	section, key := s.section(), s.plain()
	switch {
	case s.value == "":
	case section == "include" || section == "includeif":
		path := f.place(filepath.Dir(file), s.value)
		add(path, Settings)
		f.file(path, depth+1)
	case key == "core.hookspath":
		path := f.place(f.top, s.value)
		add(path, Programs)
		if filepath.Base(path) == "_" {
			add(filepath.Dir(path), Programs) // husky keeps there what the hooks in _ start
		}
	case key == "init.templatedir":
		add(f.place(f.top, s.value), Programs)
	case (!passive()[section] || starting()[s.key()]) && !harmlessValue(key):
		add(f.program(s.value), Program)
	}
}

// passive are sections whose values name neither programs nor files that git runs.
var passive = setOf("remote branch url user author committer color advice column status i18n")

// starting are keys in those sections whose value is started even so.
var starting = setOf("uploadpack receivepack")

// harmlessValue reports whether a setting names no program.
func harmlessValue(key string) bool {
	return harmlessSettings()[key] && key != "core.editor"
}

// place is an absolute path for one that a setting names.
func (f *following) place(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if f.home == "" {
			return ""
		}
		return filepath.Join(f.home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// interpreters are programs that run the file which is their first argument.
var interpreters = setOf(`sh bash dash zsh ksh fish env python python2 python3 node nodejs deno bun perl ruby php lua pwsh
exec source . command nohup time`)

// program is the file that a command line in a setting starts, when a path names it: git
// begins in the working tree. For an interpreter that is the file which it runs. Words of
// the shell that only a shell can read are no path.
func (f *following) program(line string) string {
	words := strings.Fields(strings.TrimPrefix(line, "!"))
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	for i, word := range words {
		word = strings.Trim(word, `"';`)
		switch {
		case strings.Contains(word, "="), interpreters()[filepath.Base(word)]:
			continue
		case strings.Contains(word, "://"):
			return ""
		case strings.Contains(word, "/"):
			return f.place(f.top, word)
		case i == 0:
			return "" // from PATH
		}
		path := f.place(f.top, word)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		return path
	}
	return ""
}
