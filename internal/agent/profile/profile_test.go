package profile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/model/family"
)

// models are one of each family.
var models = map[string]string{"generic": "some-model", "gpt": "gpt-5.2", "claude": "us.anthropic.claude-sonnet-4-6",
	"gemini": "models/gemini-3-pro", "qwen": "Qwen/Qwen3-Coder-480B", "kimi": "moonshotai/kimi-k2", "glm": "z-ai/glm-5",
	"deepseek": "deepseek-chat", "grok": "grok-4", "minimax": "MiniMaxAI/MiniMax-M2", "mistral": "devstral-medium",
	"llama": "meta-llama/llama-4-maverick", "granite": "ibm/granite-4.0-h-small", "small": "qwen2.5-coder"}

func of(name string) Profile {
	facts, known := family.Lookup(name)
	return For(name, facts, known, facts.Window)
}

func all(names ...string) []tool.Spec {
	var specs []tool.Spec
	for _, t := range tools.All() {
		if s := t.Spec(); len(names) == 0 || slices.Contains(names, s.Name) {
			specs = append(specs, s)
		}
	}
	return specs
}

func names(specs []tool.Spec) []string {
	var list []string
	for _, s := range specs {
		list = append(list, s.Name)
	}
	return list
}

// Each family gets these words and tools, and this is known of its models. KERF_UPDATE=1
// rewrites them.
func TestFamilies(t *testing.T) {
	for kind, name := range models {
		p := of(name)
		if p.Name != kind {
			t.Errorf("%s is of family %s, want %s", name, p.Name, kind)
		}
		var b strings.Builder
		b.WriteString(p.Instructions())
		for _, s := range p.Offer(all()) {
			b.WriteString("\n== " + s.Name + "\n" + s.Description + "\n" + string(s.Schema) + "\n")
		}
		told := b.String()
		b.WriteString(knownOf(t, p.Family))
		path := filepath.Join("testdata", kind+".txt")
		if os.Getenv("KERF_UPDATE") != "" {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", kind, d)
		}
		// Four bytes are at least a token here: 4,000 tokens for all, 1,800 for small ones.
		if most := map[bool]int{false: 16_000, true: 7_200}[p.Few]; len(told) > most {
			t.Errorf("%s: %d bytes before the first word of the user, at most %d", kind, len(told), most)
		}
		for own, other := range p.Tools.Names {
			if strings.Contains(told, own) {
				t.Errorf("%s is called %s in family %s, which is told of %s too", own, other, kind, own)
			}
		}
	}
}

// knownOf writes down what is known of the models of a family.
func knownOf(t *testing.T, f family.Family) string {
	var b strings.Builder
	for _, m := range f.Known {
		facts, err := json.Marshal(m.Facts())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n== model %s\n%s\n", m.Prefix, facts)
	}
	for _, q := range f.Quirks {
		fmt.Fprintf(&b, "\n== quirks of …%s…\n%+v\n", q.Part, q.Quirks)
	}
	for _, m := range f.Makers {
		fmt.Fprintf(&b, "\n== made as %s…\n%s %s\n", m.Prefix, m.Provider, m.Usual)
	}
	return b.String()
}

// What is offered is accepted: each name is one of a tool, with these very parameters.
func TestWhatIsOfferedIsAccepted(t *testing.T) {
	type schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	for kind, name := range models {
		for _, s := range of(name).Offer(all()) {
			full, ok := tools.Schema(s.Name)
			if !ok {
				t.Fatalf("%s: there is no tool %s", kind, s.Name)
			}
			var takes, offers schema
			if json.Unmarshal(full, &takes) != nil || json.Unmarshal(s.Schema, &offers) != nil {
				t.Fatalf("%s: %s has no schema", kind, s.Name)
			}
			for field := range offers.Properties {
				if _, ok := takes.Properties[field]; !ok {
					t.Errorf("%s: %s takes no %s", kind, s.Name, field)
				}
			}
			for _, field := range slices.Concat(takes.Required, offers.Required) {
				if _, ok := offers.Properties[field]; !ok {
					t.Errorf("%s: %s requires %s, which is not offered", kind, s.Name, field)
				}
			}
		}
		for tool := range of(name).Tools.Fields {
			if _, ok := tools.Lookup(tool); !ok {
				t.Errorf("%s names a tool %s", kind, tool)
			}
		}
	}
}

// No profile takes a way to work away: where the tool that does the work of another is
// not offered, that one is.
func TestThereIsAlwaysAWay(t *testing.T) {
	for kind, name := range models {
		p := of(name)
		for _, only := range [][]string{{"read_file", "list_dir", "glob", "grep"}, {"read_file", "edit_file"},
			{"read_file", "apply_patch"}, {"write_file"}} {
			if kind == "small" && only[len(only)-1] != "write_file" && only[len(only)-1] != "edit_file" {
				continue // has few tools in any case
			}
			if got := p.Offer(all(only...)); len(got) != len(only) {
				t.Errorf("%s: of %v only %v are offered", kind, only, names(got))
			}
		}
		if got := p.Offer([]tool.Spec{{Name: "mcp__a__b", Description: "d"}}); len(got) != 1 || got[0].Description != "d" {
			t.Errorf("%s: a server's tool becomes %v", kind, got)
		}
	}
	gpt := names(of("gpt-5.2").Offer(all()))
	for _, second := range []string{"edit_file", "write_file"} {
		if slices.Contains(gpt, second) {
			t.Errorf("gpt is offered %s beside apply_patch", second)
		}
	}
	// The user's word on how a model edits counts more than its family.
	facts, _ := family.Lookup("claude-sonnet-4-6")
	facts.EditTool = family.JSONPatch
	if got := names(For("claude-sonnet-4-6", facts, true, 0).Offer(all())); slices.Contains(got, "edit") ||
		!slices.Contains(got, "apply_patch") {
		t.Errorf("a model said to patch is offered %v", got)
	}
	if p := For("gpt-5.2", family.Facts{}, true, 8000); p.Name != "small" {
		t.Errorf("a model that holds 8000 tokens is of family %s", p.Name)
	}
}

// What is added to the words about a tool stays with it.
func TestWordsOfOthersStay(t *testing.T) {
	specs := all("spawn_agent")
	specs[0].Description += "\n\nThe agent types are: x"
	if got := of("gpt-5.2").Offer(specs)[0].Description; !strings.HasSuffix(got, "\n\nThe agent types are: x") {
		t.Errorf("the words are %q", got)
	}
}

// The user's word on how results are written counts.
func TestMannerIsTheUsers(t *testing.T) {
	for _, c := range []struct {
		results, lines string
		want           tool.Manner
	}{
		{"", "", tool.Manner{Short: true, Tab: true, Lenient: true}},
		{"full", "bar", tool.Manner{Lenient: true}},
		{"short", "tab", tool.Manner{Short: true, Tab: true, Lenient: true}},
	} {
		got := Profiles{known{}, c.results, c.lines}.Manner("claude-sonnet-4-6")
		if got != c.want {
			t.Errorf("%q, %q: %+v, want %+v", c.results, c.lines, got, c.want)
		}
	}
}

type known struct{}

func (known) Bare(name string) string                  { return name }
func (known) Facts(name string) (family.Facts, bool)   { return family.Lookup(name) }
func (known) Limits(name string) (window, compact int) { return 200_000, 0 }
