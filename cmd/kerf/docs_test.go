//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kerf/doc"
)

// example is a fenced block of a page, with the marks above it:
//
//	<!-- not run: WHY -->             the block is not run
//	<!-- not run WORDS: WHY -->       its lines that begin with WORDS are not
//	<!-- file PATH, read by: LINE --> it is a file; LINE reads it, and fails if it is wrong
//	<!-- file PATH, starts its command -->   it is JSON that names a program, which is started
//	<!-- read by: LINE -->            LINE reads it in place of kerf config show
//	<!-- golden NAME -->              a screen, which the terminal UI's tests compare
//
// A block in toml is a configuration. One in go or python is a program. Every other one is
// commands, which are run in order, by one reader for each page.
type example struct {
	page, language string
	line           int
	text           []string
	notRun         map[string]string // why, by the first words of lines; "" is all of it
	file, readBy   string
	starts, golden bool
}

var marks = regexp.MustCompile(`^<!-- (not run|file|read by|golden)(.*) -->$`)

// examples are the fenced blocks of a page.
func examples(t *testing.T, page, text string) (all []example) {
	t.Helper()
	marked, in := example{notRun: map[string]string{}}, false
	var e example
	for i, line := range strings.Split(text, "\n") {
		if language, fence := strings.CutPrefix(line, "```"); fence {
			if in {
				all = append(all, e)
			} else {
				e, marked = marked, example{notRun: map[string]string{}}
				e.page, e.language, e.line = page, language, i+1
			}
			in = !in
			continue
		}
		if in {
			e.text = append(e.text, line)
			continue
		}
		m := marks.FindStringSubmatch(line)
		switch {
		case m == nil && strings.HasPrefix(line, "<!--"):
			t.Errorf("%s:%d: a mark that is not known: %s", page, i+1, line)
		case m == nil:
			if strings.HasPrefix(line, "    ") && strings.HasPrefix(strings.TrimSpace(line), "kerf ") {
				t.Errorf("%s:%d: an example that is not fenced: %s", page, i+1, line)
			}
		case m[1] == "not run":
			words, why, ok := strings.Cut(m[2], ":")
			if !ok || strings.TrimSpace(why) == "" {
				t.Errorf("%s:%d: says no reason: %s", page, i+1, line)
			}
			marked.notRun[strings.TrimSpace(words)] = strings.TrimSpace(why)
		case m[1] == "golden":
			marked.golden = true
		case m[1] == "read by":
			marked.readBy = strings.TrimPrefix(m[2], ": ")
		default:
			path, by, _ := strings.Cut(strings.TrimSpace(m[2]), ", ")
			marked.file, marked.readBy = path, strings.TrimPrefix(by, "read by: ")
			marked.starts = by == "starts its command"
		}
	}
	return all
}

// pages are the texts whose examples run as printed.
func pages(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"README": string(readme)}
	for _, name := range doc.Names() {
		all[name], _ = doc.Text(name)
	}
	return all
}

// TestExamplesRunAsPrinted runs the examples of README.md and doc/*.md, each page's in order,
// against a scripted model in a home and a repository of their own.
func TestExamplesRunAsPrinted(t *testing.T) {
	for _, tool := range []string{"git", "bash", "tmux", "jq", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	texts := pages(t)
	run := 0
	for name, text := range texts {
		all := examples(t, name, text)
		for _, e := range all {
			if e.notRun[""] == "" && !e.golden {
				run++
			}
		}
		if len(all) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, name)
			for i, e := range all {
				if name == "README" {
					r.cwd = map[bool]string{true: r.root, false: r.base}[i == 0] // what is built, and where it is used
				}
				r.try(e)
			}
			r.programs()
		})
	}
	if run < 50 {
		t.Errorf("only %d examples are run", run)
	}
}

// try does what an example says.
func (r *reader) try(e example) {
	r.t.Helper()
	r.at = fmt.Sprintf("%s:%d", e.page, e.line)
	switch {
	case e.golden || e.notRun[""] != "":
	case e.file != "":
		r.reads(e)
	case e.language == "toml":
		r.configured(e)
	case e.language == "go":
		r.snippets = append(r.snippets, strings.Join(e.text, "\n"))
	case e.language == "python":
		r.python(strings.Join(e.text, "\n"))
	case e.language == "" || e.language == "sh":
		for _, line := range logical(e.text) {
			r.line(line, e.notRun)
		}
	default:
		r.t.Errorf("%s: nothing is known to do with an example in %s", r.at, e.language)
	}
	for words := range e.notRun {
		if words != "" && !slices.ContainsFunc(e.text, func(l string) bool { return strings.HasPrefix(l, words) }) {
			r.t.Errorf("%s: no line begins with %q, which is said not to run", r.at, words)
		}
	}
}

// logical joins lines that end with a backslash, and drops empty ones.
func logical(text []string) (lines []string) {
	for _, l := range strings.Split(strings.ReplaceAll(strings.Join(text, "\n"), "\\\n", ""), "\n") {
		if strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// reads writes the file that an example is, and lets its reader read it.
func (r *reader) reads(e example) {
	r.t.Helper()
	path := strings.Replace(e.file, "~", r.home, 1)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.cwd, path)
	}
	r.write(path, strings.Join(e.text, "\n")+"\n")
	if !e.starts {
		r.line(e.readBy, nil)
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	var servers map[string]map[string]struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal(b, &servers); err != nil {
		r.t.Fatalf("%s: %v", r.at, err)
	}
	for _, list := range servers {
		for name, s := range list {
			if s.Command == "" {
				r.t.Errorf("%s: %s names no command", r.at, name)
			}
			r.line(strings.Join(append([]string{s.Command}, s.Args...), " "), nil) // it ends with its input
		}
	}
}

// configured reads an example as the user's configuration, alone.
func (r *reader) configured(e example) {
	r.t.Helper()
	path := filepath.Join(r.own, "config.toml")
	old, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	text := strings.Join(e.text, "\n") + "\n"
	line := "kerf config show"
	if e.readBy != "" {
		line, text = e.readBy, string(old)+text
	}
	r.write(path, text)
	r.line(line, nil)
	r.write(path, string(old))
}

// TestReasonsOfTheDocs: what a page names as the test of an example that is not run is there.
func TestReasonsOfTheDocs(t *testing.T) {
	var tests strings.Builder
	for _, root := range []string{".", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			tests.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile(`\bTest\w+|the story (\w+)`)
	for name, text := range pages(t) {
		for _, e := range examples(t, name, text) {
			for _, why := range e.notRun {
				for _, m := range named.FindAllStringSubmatch(why, -1) {
					there := strings.Contains(tests.String(), "func "+m[0]+"(")
					if m[1] != "" {
						_, err := os.Stat(filepath.Join("testdata/script", m[1]+".txtar"))
						there = err == nil
					}
					if !there {
						t.Errorf("%s:%d: there is no %s", name, e.line, m[0])
					}
				}
			}
		}
	}
}
