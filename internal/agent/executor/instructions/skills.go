package instructions

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"kerf/internal/agent/prompt"
	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// Skill is a folder with instructions for one kind of work. Its files are read
// by the model, also where commands and file tools do not reach.
type Skill struct {
	Name, Description string
	Dir               string
	Body              string // of SKILL.md, without its front matter
}

// skillScheme is how the model names the files of a skill.
const skillScheme = "skill:"

// skillLimit bounds one file of a skill.
const skillLimit = 256 << 10

// listed tells the model of the skills, once.
func listed(skills []Skill) *prompt.SkillList {
	l := &prompt.SkillList{}
	for _, s := range skills {
		l.Add(s.Name, s.Description, skillScheme+s.Name+"/SKILL.md")
	}
	return l
}

// mentioned are the skills that the user's words name as $name.
func mentioned(skills []Skill, input []protocol.Input) []Skill {
	var hits []Skill
	for _, s := range skills {
		for _, in := range input {
			if names(in.Text, "$"+s.Name) {
				hits = append(hits, s)
				break
			}
		}
	}
	return hits
}

// names reports whether word occurs in text and does not go on.
func names(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		text = text[i+len(word):]
		if text == "" || !strings.ContainsAny(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") {
			return true
		}
	}
}

// ReadSkill answers a read of a skill's file; it reports false for other calls.
func ReadSkill(skills []Skill, c tool.Call) (tool.Action, error, bool) {
	var args struct {
		Path string `json:"file_path"`
	}
	if (c.Name != "read_file" && c.Name != "Read") || json.Unmarshal(c.Args, &args) != nil || !strings.HasPrefix(args.Path, skillScheme) {
		return nil, nil, false
	}
	name, rel, _ := strings.Cut(strings.TrimPrefix(args.Path, skillScheme), "/")
	for _, k := range skills {
		if k.Name != name {
			continue
		}
		text, ok := readDoc(k.Dir, filepath.FromSlash(rel), skillLimit)
		if !ok {
			return nil, tool.Refuse(tool.NotFound, "skill %s has no file %q", name, rel), true
		}
		return tool.Answer{Result: tool.Result{Success: true, Output: fmt.Sprintf("%s\n(the folder of this skill is %s)", text, k.Dir)}}, nil, true
	}
	return nil, tool.Refuse(tool.NotFound, "there is no skill %q", name), true
}
