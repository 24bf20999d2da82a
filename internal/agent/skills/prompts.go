package skills

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
	"strings"

	"kerf/internal/protocol"
)

// Prompts reads the commands in the files NAME.md of dir, sorted by name. A first line
// that is a heading, or the front matter, describes a command.
func Prompts(dir string) []protocol.Prompt {
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
