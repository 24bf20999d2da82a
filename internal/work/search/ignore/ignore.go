// Package ignore decides which paths ignore files exclude.
//
// It is made for walks: a [Level] holds the rules of one directory and leads to
// those above it. A path below an excluded directory cannot be had back, so a
// walk asks for each directory before it enters. Matching is bytewise and case
// counts, as git does it on a file system that keeps case.
package ignore

import (
	"bytes"
	"strings"
)

// MaxFile is how many bytes of an ignore file are read; git's own limit is
// 100 MiB, but no honest file comes near this one.
const MaxFile = 1 << 20

// Set is the rules of one ignore file, the last that matches counts. A nil Set
// holds none. It is immutable.
type Set struct{ rules []rule }

type rule struct {
	glob    string
	literal int  // how many bytes of glob stand for themselves
	base    bool // matches the last element at any depth
	dirs    bool // matches directories only
	keep    bool // the line began with "!"
}

// Parse reads an ignore file. Nothing in it is an error: what makes no sense
// matches nothing.
func Parse(data []byte) *Set {
	data = bytes.TrimPrefix(data[:min(len(data), MaxFile)], []byte("\xef\xbb\xbf"))
	var s Set
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(string(line), "\n")
		text = strings.TrimSuffix(text, "\r")
		if r, ok := parseRule(text); ok {
			s.rules = append(s.rules, r)
		}
	}
	if s.rules == nil {
		return nil
	}
	return &s
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	// A NUL ends the line for git, whose lines are C strings.
	line, _, _ = strings.Cut(line, "\x00")
	line = trimSpaces(line)
	var r rule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	if line == "" {
		return rule{}, false
	}
	r.base = !strings.Contains(line, "/")
	if !r.base {
		line = strings.TrimPrefix(line, "/")
	}
	r.glob = line
	r.literal = strings.IndexAny(line, `*?[\`)
	if r.literal < 0 {
		r.literal = len(line)
	}
	return r, true
}

// trimSpaces cuts blanks from the end unless they are escaped.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
			if i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// Verdict is what rules say of a path.
type Verdict int

// The verdicts. Silent leaves it to other rules.
const (
	Silent Verdict = iota
	Exclude
	Keep
)

// Match judges rel, a slash-separated path below the directory of the file.
func (s *Set) Match(rel string, dir bool) Verdict {
	if s == nil {
		return Silent
	}
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(s.rules) - 1; i >= 0; i-- {
		r := &s.rules[i]
		if r.dirs && !dir || !r.match(rel, name) {
			continue
		}
		if r.keep {
			return Keep
		}
		return Exclude
	}
	return Silent
}

func (r *rule) match(rel, name string) bool {
	if r.base {
		rel = name
	}
	// The literal start is cut off before the rest is looked at, so that "a**/b"
	// is "a" and then a true "**/": git does the same.
	if len(rel) < r.literal || rel[:r.literal] != r.glob[:r.literal] {
		return false
	}
	return Wild(r.glob[r.literal:], rel[r.literal:], !r.base)
}

// Level is the rules that hold in one directory. Levels are immutable and may
// be shared by goroutines. A nil Level excludes nothing.
type Level struct {
	up  *Level
	dir string // path below the top with a slash at its end, or empty
	// Files of the git kind are heard up to the top of their repository, own
	// rules (.ignore) up to the top of the walk, and before any of git's.
	git, own, info *Set
	repo           bool
}

// Files are the rules found in one directory. Own holds those of .ignore, Git
// those of .gitignore, Info those of .git/info/exclude.
type Files struct {
	Git, Own, Info *Set
	// Repo marks the top of a repository: git's rules from above end here.
	Repo bool
}

// Enter returns the level of a directory. Its path, rel, counts from the top of
// the walk and is empty for the top itself, whose parent is nil.
func (l *Level) Enter(rel string, f Files) *Level {
	if f == (Files{}) && l != nil {
		return l
	}
	if rel != "" {
		rel += "/"
	}
	return &Level{up: l, dir: rel, git: f.Git, own: f.Own, info: f.Info, repo: f.Repo}
}

// Excluded reports whether the rules exclude rel, a path from the top of the
// walk that lies in the level's directory or below it.
func (l *Level) Excluded(rel string, dir bool) bool {
	for at := l; at != nil; at = at.up {
		if v := at.own.Match(rel[len(at.dir):], dir); v != Silent {
			return v == Exclude
		}
	}
	for at := l; at != nil; at = at.up {
		if v := at.git.Match(rel[len(at.dir):], dir); v != Silent {
			return v == Exclude
		}
		if at.repo {
			return at.info.Match(rel[len(at.dir):], dir) == Exclude
		}
	}
	return false
}
