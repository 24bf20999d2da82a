package instructions

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"kerf/internal/agent/prompt"
	"kerf/internal/agent/skills"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/protocol"
)

// skillScheme is how the model names the files of a skill.
const skillScheme = "skill:"

// skillLimit bounds one file of a skill.
const skillLimit = 256 << 10

// listed tells the model of the skills, once.
func listed(list []skills.Skill) *prompt.SkillList {
	l := &prompt.SkillList{}
	for _, s := range list {
		l.Add(s.Name, s.Description, skillScheme+s.Name+"/SKILL.md")
	}
	return l
}

// mentioned are the skills that the user's words name as $name.
func mentioned(list []skills.Skill, input []protocol.Input) []skills.Skill {
	var hits []skills.Skill
	for _, s := range list {
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
func ReadSkill(list []skills.Skill, c tool.Call) (tool.Action, error, bool) {
	var args struct {
		Path string `json:"file_path"`
	}
	if tools.Name(c.Name) != "read_file" || json.Unmarshal(c.Args, &args) != nil ||
		!strings.HasPrefix(args.Path, skillScheme) {
		return nil, nil, false
	}
	name, rel, _ := strings.Cut(strings.TrimPrefix(args.Path, skillScheme), "/")
	for _, k := range list {
		if k.Name != name {
			continue
		}
		text, ok := "", false
		if dir, err := k.Open(); err == nil {
			text, ok = readIn(dir, k.Dir, filepath.FromSlash(rel), skillLimit, nil)
			dir.Close()
		}
		if !ok {
			return nil, tool.Refuse(tool.NotFound, "skill %s has no file %q", name, rel), true
		}
		return tool.Answer{Result: tool.Result{Success: true,
			Output: fmt.Sprintf("%s\n(the folder of this skill is %s)", text, k.Dir)}}, nil, true
	}
	return nil, tool.Refuse(tool.NotFound, "there is no skill %q", name), true
}
