package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/protocol"
)

func TestPromptsListCommandsAndSkills(t *testing.T) {
	h := scripted(t, &talker{})
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(h.Config.Home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("prompts/review.md", "# Look at it\nReview $ARGUMENTS.\n")
	put("prompts/fix.md", "---\ndescription: Mend a thing\n---\nFix $1.\r\n")
	put("prompts/bad name.md", "no")
	put("prompts/empty.md", " \n")
	put("prompts/notes.txt", "no")
	put("skills/release/SKILL.md", "---\nname: ship\ndescription: \"How to\n---\nsteps\n")
	put("skills/plain/SKILL.md", "just text\n")
	put("skills/evil/SKILL.md", "---\nname: ../../x\n---\n")
	put("skills/none/README.md", "no")
	if err := os.Symlink("/etc", filepath.Join(h.Config.Home, "skills", "link")); err != nil {
		t.Logf("no link: %v", err)
	}
	got, err := h.Query().Prompts(context.Background(), h.Config.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	want := []protocol.Prompt{
		{Name: "fix", Description: "Mend a thing", Body: "Fix $1."},
		{Name: "review", Description: "Look at it", Body: "# Look at it\nReview $ARGUMENTS."},
		{Name: "evil", Body: "$evil $ARGUMENTS", Skill: true}, // by the name of its folder
		{Name: "plain", Body: "$plain $ARGUMENTS", Skill: true},
		{Name: "ship", Description: "How to", Body: "$ship $ARGUMENTS", Skill: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
}
