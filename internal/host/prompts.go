package host

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/executor/instructions"
	"kerf/internal/protocol"
)

// Prompts lists the user's own commands, the files KERF_HOME/prompts/NAME.md,
// and the skills, each sorted by name. A first line that is a heading, or the
// front matter, describes a command.
func (h *Host) Prompts(ctx context.Context, cwd string) ([]protocol.Prompt, error) {
	list := promptsIn(filepath.Join(h.Config.Home, "prompts"))
	for _, s := range h.skills() {
		list = append(list, protocol.Prompt{Name: s.name, Description: s.description, Body: "$" + s.name + " $ARGUMENTS", Skill: true})
	}
	return list, ctx.Err()
}

func promptsIn(dir string) []protocol.Prompt {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	var list []protocol.Prompt
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || !validSkill(name) {
			continue
		}
		text, ok := readText(root, e.Name())
		if !ok || strings.TrimSpace(text) == "" {
			continue
		}
		fields, body := frontMatter(text)
		first, _, _ := strings.Cut(body, "\n")
		list = append(list, protocol.Prompt{Name: name, Body: body,
			Description: clipped(cmp.Or(fields["description"], strings.TrimLeft(first, "# ")), 120)})
	}
	slices.SortFunc(list, func(a, b protocol.Prompt) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// sessionSkills are the skills as a session tells them to the model.
func (h *Host) sessionSkills() []instructions.Skill {
	var list []instructions.Skill
	for _, s := range h.skills() {
		list = append(list, instructions.Skill{Name: s.name, Description: s.description, Dir: s.dir, Body: s.body})
	}
	return list
}
