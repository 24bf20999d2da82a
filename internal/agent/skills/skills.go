// Package skills reads the instructions that users keep in files: skills, which are
// folders with a SKILL.md, and prompts.
package skills

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/visible"
)

// Bounds of what is read of skills and prompts.
const (
	maxSkills     = 200
	maxSkillBytes = 64 << 10
	maxSkillName  = 64
	maxSkillWords = 1024
)

// Skill is a folder with instructions for one kind of work. Its files are read
// by the model, also where commands and file tools do not reach.
type Skill struct {
	Name, Description string
	Dir               string // absolute
	Body              string // of SKILL.md, without its front matter
}

// Read reads the skills in the folders of dirs. The first of a name counts.
func Read(dirs ...string) []Skill {
	var all []Skill
	for _, dir := range dirs {
		for _, s := range skillsIn(dir) {
			same := func(o Skill) bool { return o.Name == s.Name }
			if len(all) < maxSkills && !slices.ContainsFunc(all, same) {
				all = append(all, s)
			}
		}
	}
	return all
}

// skillsIn reads the skills in the folders of dir, sorted by name.
func skillsIn(dir string) []Skill {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	var all []Skill
	for _, e := range entries {
		if len(all) == maxSkills {
			break
		}
		text, ok := readText(root, filepath.Join(e.Name(), "SKILL.md"))
		if !ok {
			continue
		}
		fields, body := frontMatter(text)
		s := Skill{Name: cmp.Or(fields["name"], e.Name()), Description: fields["description"],
			Dir: filepath.Join(dir, e.Name()), Body: body}
		if validSkill(s.Name) {
			s.Description = clipped(s.Description, maxSkillWords)
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// validSkill reports whether a name can be written as $name.
func validSkill(name string) bool {
	if name == "" || len(name) > maxSkillName {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// readText reads a regular file beneath root that is not too large.
func readText(root *os.Root, name string) (string, bool) {
	st, err := root.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	f, err := root.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSkillBytes))
	if err != nil {
		return "", false
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), true
}

// frontMatter takes the "key: value" lines between two "---" lines off a text.
func frontMatter(text string) (fields map[string]string, body string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	head, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, strings.TrimSpace(text)
	}
	head, body, ok = strings.Cut(head, "\n---")
	if !ok {
		return nil, strings.TrimSpace(text)
	}
	fields = map[string]string{}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if ok && !strings.HasPrefix(key, " ") {
			fields[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return fields, strings.TrimSpace(body)
}

// clipped is s cut to at most n bytes, on one line.
func clipped(s string, n int) string { return visible.Clip(strings.Join(strings.Fields(s), " "), n) }
