package prompt

import (
	"testing"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

func TestSurroundingsTellOnlyWhatChanged(t *testing.T) {
	first := map[string]string{"cwd": "/w", "git_branch": "main", "current_date": "2026-01-02"}
	it := Surroundings(nil, first)
	want := "<environment_context>\n  <cwd>/w</cwd>\n  <current_date>2026-01-02</current_date>\n  " +
		"<git_branch>main</git_branch>\n</environment_context>"
	if it.Text() != want {
		t.Errorf("got %s\nwant %s", it.Text(), want)
	}
	if it := Surroundings(first, first); it != nil {
		t.Errorf("nothing changed, yet told %s", it.Text())
	}
	it = Surroundings(first, map[string]string{"cwd": "/w", "git_branch": "fix</git_branch>",
		"current_date": "2026-01-02"})
	want = "<environment_context>\n  <git_branch>fix&lt;/git_branch&gt;</git_branch>\n</environment_context>"
	if it.Text() != want {
		t.Errorf("got %s\nwant %s", it.Text(), want)
	}
}

func TestInstructionsJoinUserAndProject(t *testing.T) {
	if Instructions("/w", nil, []Doc{{Text: " \n"}}) != nil {
		t.Error("empty documents make an item")
	}
	got := Instructions("/w", []Doc{{Text: "mine\n"}}, []Doc{{Text: "root"}, {Text: "sub"}}).Text()
	want := "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nmine\n\n--- project-doc " +
		"---\n\nroot\n\nsub\n</INSTRUCTIONS>"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestFreeformToolsCarryTheGrammar(t *testing.T) {
	f := Fixed{Tools: []tool.Spec{{Name: "apply_patch", Schema: []byte(`{}`), Grammar: "start: x"}}, Freeform: true}
	got := f.Build(protocol.Settings{}, nil, nil).Tools[0]
	if got.Grammar == "" || got.Schema != nil {
		t.Errorf("tool = %+v, want the grammar alone", got)
	}
}
