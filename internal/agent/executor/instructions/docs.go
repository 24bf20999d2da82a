package instructions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/prompt"
	"kerf/internal/pathname"
	"kerf/internal/text/pattern"
)

// The instruction files, the best first: one of a directory counts.
var (
	ownNames  = []string{"AGENTS.override.md", "AGENTS.md"}
	peerNames = []string{"CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"}
)

// The bounds of what instruction files bring along.
const (
	maxImports = 20  // files, of all instruction files
	maxDepth   = 5   // of imports in imports
	maxRules   = 100 // files of .cursor/rules in a directory
)

// userDocs is the first of the user's own instruction files that has text.
func (s *Sources) userDocs() []prompt.Doc {
	for _, name := range ownNames {
		if text, ok := readDoc(s.Home, name, s.DocBytes, nil); ok && strings.TrimSpace(text) != "" {
			return []prompt.Doc{{Path: filepath.Join(s.Home, name), Text: text}}
		}
	}
	return nil
}

// ProjectDocs is one instruction file per directory from the root down to the working
// directory, each followed by what it imports and by the rules beside it, within the
// budget.
func (s *Sources) ProjectDocs() []prompt.Doc {
	c := collector{s: s, left: s.DocBytes, imports: maxImports, seen: map[string]bool{}}
	for _, dir := range downTo(s.Root, s.Cwd) {
		for _, name := range slices.Concat(ownNames, s.DocNames, peerNames) {
			if c.add(filepath.Join(dir, filepath.FromSlash(name)), 0) {
				break
			}
		}
		c.rules(dir)
	}
	return c.docs
}

// collector gathers instruction files of one project.
type collector struct {
	s             *Sources
	docs          []prompt.Doc
	left, imports int
	seen          map[string]bool // by path
}

// read is a file of the project, within what is left.
func (c *collector) read(path string) (string, bool) {
	rel, err := filepath.Rel(c.s.Root, path)
	if err != nil || c.left <= 0 || c.seen[path] {
		return "", false
	}
	text, ok := readDoc(c.s.Root, rel, c.left, c.s.hidden)
	if ok {
		c.seen[path] = true
	}
	return text, ok
}

// add adds a file and what it imports. It reports whether there is such a file.
func (c *collector) add(path string, depth int) bool {
	text, ok := c.read(path)
	if !ok {
		return false
	}
	c.left -= len(text)
	c.docs = append(c.docs, prompt.Doc{Path: path, Text: text})
	if depth == maxDepth {
		return true
	}
	for _, name := range imported(text) {
		if c.imports == 0 {
			break
		}
		if c.add(filepath.Join(filepath.Dir(path), filepath.FromSlash(name)), depth+1) {
			c.imports--
		}
	}
	return true
}

// importWord is a word @path in a text; only texts are imported.
var importWord = pattern.Lazy("(?m)(?:^|[\\s(])@([^\\s`@]+\\.(?:md|mdc|markdown|txt))\\b")

// imported are the relative paths that a text imports with @path, outside of code.
func imported(text string) (names []string) {
	fenced := false
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimLeft(line, " \t"); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || !strings.Contains(line, "@") {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue // code
			}
			for _, m := range importWord().FindAllStringSubmatch(part, -1) {
				if !filepath.IsAbs(m[1]) && !strings.HasPrefix(m[1], "~") {
					names = append(names, m[1])
				}
			}
		}
	}
	return names
}

// rules adds the rules in .cursor/rules that always hold, and tells for which files the
// others do.
func (c *collector) rules(dir string) {
	place := filepath.Join(dir, ".cursor", "rules")
	var some strings.Builder
	for _, name := range c.s.names(place) {
		path := filepath.Join(place, name)
		left := c.left
		text, ok := c.read(path)
		if !ok {
			continue
		}
		head, body := ruleHead(text)
		switch {
		case head["alwaysApply"] == "true":
			c.left = left - len(body)
			c.docs = append(c.docs, prompt.Doc{Path: path, Text: body})
		case head["globs"] != "" || head["description"] != "":
			some.WriteString("- " + name)
			if head["globs"] != "" {
				some.WriteString(", for files matching " + head["globs"])
			}
			if head["description"] != "" {
				some.WriteString(": " + head["description"])
			}
			some.WriteString("\n")
		}
	}
	if some.Len() > 0 && some.Len() <= c.left {
		c.left -= some.Len()
		c.docs = append(c.docs, prompt.Doc{Path: place,
			Text: "Read the rule with read_file before you work on what it is about:\n" + some.String()})
	}
}

// names are the .mdc files of a directory beneath the root, in order.
func (s *Sources) names(dir string) (names []string) {
	rel, err := filepath.Rel(s.Root, dir)
	if err != nil {
		return nil
	}
	r, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil
	}
	defer r.Close()
	d, err := r.Open(rel)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, _ := d.ReadDir(maxRules)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".mdc") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// ruleHead takes the head of a rule apart: lines KEY: VALUE between lines of three dashes.
func ruleHead(text string) (head map[string]string, body string) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return nil, text
	}
	lines, body, ok := strings.Cut(rest, "\n---")
	if !ok {
		return nil, text
	}
	head = map[string]string{}
	for line := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			head[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return head, strings.TrimLeft(body, "-\n")
}

// downTo lists the directories from root to cwd.
func downTo(root, cwd string) []string {
	dirs := []string{root}
	rel, err := filepath.Rel(root, cwd)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return dirs
	}
	dir := root
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		dirs = append(dirs, dir)
	}
	return dirs
}

// Found is an instruction file that is there: how many bytes of it a model is told, or why
// it is told nothing.
type Found struct {
	Path  string
	Bytes int
	Why   string // empty for what is used
}

// foreign are files that Kerf does not read.
var foreign = []string{".cursorrules", ".windsurfrules", ".clinerules", "CONVENTIONS.md", "QWEN.md"}

// Listed is Found in words: what is used with its tokens, and what is not with the reason.
func (s *Sources) Listed() (used, unused []string) {
	for _, f := range s.Found() {
		name := filepath.ToSlash(pathname.Short(s.Cwd, f.Path))
		if f.Why != "" {
			unused = append(unused, name+" ("+f.Why+")")
		} else {
			used = append(used, fmt.Sprintf("%s (%d tokens)", name, history.TokensOf(f.Bytes)))
		}
	}
	return used, unused
}

// Found tells of all instruction files for the working directory, those that are used
// first.
func (s *Sources) Found() []Found {
	var list []Found
	used := map[string]bool{}
	for _, d := range slices.Concat(s.userDocs(), s.ProjectDocs()) {
		used[d.Path] = true
		list = append(list, Found{Path: d.Path, Bytes: len(d.Text)})
	}
	for _, dir := range downTo(s.Root, s.Cwd) {
		first := ""
		for _, name := range slices.Concat(ownNames, s.DocNames, peerNames, foreign) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Lstat(path); err != nil {
				continue
			}
			why := "it is no file of the project that may be read, or project_doc_max_bytes is used up"
			switch {
			case used[path] && first == "":
				first = name
				continue
			case used[path]:
				continue
			case slices.Contains(foreign, name):
				why = "Kerf does not read this kind; project_doc_fallback_filenames can name it"
			case first != "":
				why = first + " stands there"
			}
			list = append(list, Found{Path: path, Why: why})
		}
	}
	return list
}
