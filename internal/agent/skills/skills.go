// Package skills reads the instructions that users keep in files: skills, which are
// folders with a SKILL.md, and prompts.
package skills

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/text/order"
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

	place Place
	name  string // of the folder
}

// Place is a directory with folders of skills.
type Place struct {
	Root string // absolute; no link leads out of it
	Dir  string // below Root, with slashes; "." is Root
	// Only is the one entry of the directory that counts; empty for all.
	Only string
	// Prefix stands before the names of commands, with a colon.
	Prefix string
	// Of names what brings the place, where it is neither a project nor a home.
	Of string
}

// Shared are the places below a home or a project that agents share, the best first; none
// for "".
func Shared(root string) (places []Place) {
	for _, dir := range []string{".agents/skills", ".claude/skills", ".codex/skills", ".github/skills", ".gemini/skills",
		".cursor/skills"} {
		if root != "" {
			places = append(places, Place{Root: root, Dir: dir})
		}
	}
	return places
}

// open opens the directory, if it is one and beneath the root.
func (p Place) open() (*os.Root, error) {
	first, _, _ := strings.Cut(p.Dir, "/")
	if _, err := os.Lstat(filepath.Join(p.Root, first)); errors.Is(err, fs.ErrNotExist) {
		return nil, err // as most of them; this is one call
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil || p.Dir == "." {
		return root, err
	}
	defer root.Close()
	return root.OpenRoot(filepath.FromSlash(p.Dir))
}

// Open opens the folder of the skill as it is now. A link in its place that leads out is an
// error.
func (s Skill) Open() (*os.Root, error) {
	dir, err := s.place.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenRoot(s.name)
}

// Found is a skill that is there, and why it is not used; Why is empty for one that is.
type Found struct {
	Skill
	Why string
}

// Read reads the skills in the folders of places. The first of a name counts.
func Read(places ...Place) (all []Skill) {
	for _, f := range Find(places...) {
		if f.Why == "" {
			all = append(all, f.Skill)
		}
	}
	return all
}

// Find finds all skills in the folders of places.
func Find(places ...Place) (all []Found) {
	n := newNames(maxSkills)
	for _, p := range places {
		for _, f := range skillsIn(p) {
			if f.Why == "" {
				f.Why = n.take(f.Name, f.Dir)
			}
			all = append(all, f)
		}
	}
	return all
}

// takenNames are names and where they stand, up to a number of them.
type takenNames struct {
	most  int
	where map[string]string
}

func newNames(most int) takenNames { return takenNames{most, map[string]string{}} }

// take takes a name for what stands in where, or says why it cannot. The first of a name counts.
func (n takenNames) take(name, where string) (why string) {
	if first, taken := n.where[name]; taken {
		return first + " has this name"
	}
	if len(n.where) == n.most {
		return fmt.Sprintf("there are more than %d", n.most)
	}
	n.where[name] = where
	return ""
}

// skillsIn reads the skills in the folders of a place, sorted by name. Where the name that
// a skill gives itself cannot be written as $name, its folder's counts.
func skillsIn(p Place) (all []Found) {
	root, err := p.open()
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if len(all) == 2*maxSkills {
			break
		}
		if p.Only != "" && p.Only != e.Name() {
			continue
		}
		file := filepath.Join(e.Name(), "SKILL.md")
		dir := filepath.Join(p.Root, filepath.FromSlash(p.Dir), e.Name())
		text, ok := readText(root, file)
		if !ok {
			if _, err := root.Lstat(file); err == nil {
				all = append(all, Found{Skill{Name: e.Name(), Dir: dir}, "its SKILL.md is no file that may be read"})
			}
			continue
		}
		fields, body := frontMatter(text)
		f := Found{Skill: Skill{Name: fields["name"], Dir: dir, Body: body, place: p, name: e.Name(),
			Description: clipped(fields["description"], maxSkillWords)}}
		if !validSkill(f.Name) {
			f.Name = e.Name()
		}
		if !validSkill(f.Name) {
			f.Why = "its name has other characters than letters, digits, - and _, or is longer than 64"
		}
		all = append(all, f)
	}
	order.By(all, func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
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

// clipped is s cut to at most n bytes, on one line.
func clipped(s string, n int) string { return visible.Clip(strings.Join(strings.Fields(s), " "), n) }
