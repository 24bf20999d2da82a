package prompt

import (
	"slices"
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

// TestAnOfferIsMadeOnce: all that changes what a model is offered has it made anew.
func TestAnOfferIsMadeOnce(t *testing.T) {
	made := 0
	offer := Once(func(model string, tools []tool.Spec) []tool.Spec {
		made++
		return append(slices.Clone(tools), tool.Spec{Name: model})
	})
	base := tool.Spec{Name: "a", Description: "b", Schema: []byte(`{}`), Grammar: "g", Aliases: []string{"c"}}
	list := []tool.Spec{base}
	for i := range 3 {
		if got := offer("m", slices.Clone(list)); made != 1 || len(got) != 2 || got[1].Name != "m" {
			t.Fatalf("%d: made %d times: %+v", i, made, got)
		}
	}
	changes := []func(){
		func() { list[0].Name = "x" }, func() { list[0].Description = "x" }, func() { list[0].Schema = []byte(`[]`) },
		func() { list[0].Grammar = "x" }, func() { list[0].Parallel = true }, func() { list[0].Aliases = nil },
		func() { list = append(list, base) }, func() { list[0], list[1] = list[1], list[0] }, func() { list = list[:1] },
	}
	for i, change := range changes {
		change() // also of the very list that was offered
		if got := offer("m", list); made != i+2 || len(got) != len(list)+1 || !got[0].Same(list[0]) {
			t.Fatalf("change %d: made %d times: %+v", i, made, got)
		}
	}
	if got := offer("n", list); got[len(got)-1].Name != "n" {
		t.Errorf("another model: %+v", got)
	}
}
