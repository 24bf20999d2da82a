package turn

import (
	"fmt"
	"strings"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// TestFiftyCompactions compacts a conversation fifty times, with summaries that
// say nothing. The plan, the words of the user, the versions of files and the
// ends of commands are in the prompt all the same, and the prompt stays small.
func TestFiftyCompactions(t *testing.T) {
	const rounds = 50
	c := New(Options{Limits: func(string) (int, int) { return 10_000, 9_000 }}, nil)
	p := &tape{t: t, core: c}
	exit := func(n int) *int { return &n }
	largest := 0
	for n := 1; n <= rounds; n++ {
		p.answer = func(e CallModel) []Input {
			largest = max(largest, history.Sizes(e.Items))
			usage := &model.Usage{Input: 500, Output: 10}
			items := []Input{}
			switch {
			case e.Compact:
				items = append(items, Chunk{e.Round, model.ItemDone{Index: 0, Item: reply("nothing to say")}})
			case len(e.Items[len(e.Items)-1].Content) > 0 && strings.HasPrefix(e.Items[len(e.Items)-1].Text(), "request"):
				usage.Input = 9_500
				for i, name := range []string{"plan", "read", "run"} {
					items = append(items, Chunk{e.Round,
						model.ItemDone{Index: i, Item: &model.Item{Kind: model.Call, CallID: fmt.Sprintf("%s-%d", name, n), Name: name,
							Style: model.Function, Input: "{}"}}})
				}
			default:
				items = append(items, Chunk{e.Round, model.ItemDone{Index: 0, Item: reply(fmt.Sprintf("answer %d", n))}})
			}
			return append(items, Chunk{e.Round, model.Done{Usage: usage}}, StreamEnded{Round: e.Round})
		}
		p.outcome = func(call Prepare) Outcome {
			o := Outcome{Text: strings.Repeat("long output ", 300), Success: true}
			switch call.Call.Name {
			case "plan":
				o.Todo = &protocol.TodoList{Steps: []protocol.Step{{Step: fmt.Sprintf("step %d", n), Status: "in_progress"}}}
			case "read":
				o.Observed = []history.Observation{{Path: pathname.Path(fmt.Sprintf("/w/file%d.go", n%40)), Sum: "s",
					Hash: fmt.Sprintf("%016x", n), Version: n}}
			case "run":
				o.Body = protocol.Command{Command: fmt.Sprintf("make test%d", n), ExitCode: exit(n % 3)}
			}
			return o
		}
		p.play(Submit{ID: fmt.Sprintf("t%d", n), Op: say(fmt.Sprintf("request %d: keep the word %d", n, n*7))})
		p.finish()
	}
	compactions := 0
	for _, l := range p.lines {
		if l.Type == "compacted" {
			compactions++
		}
	}
	if compactions < rounds {
		t.Errorf("%d compactions, want %d", compactions, rounds)
	}
	for n := 1; n <= rounds; n++ {
		if !strings.Contains(p.last, fmt.Sprintf("request %d: keep the word %d\n", n, n*7)) {
			t.Errorf("the words of turn %d are lost", n)
		}
		if n > rounds-40 && !strings.Contains(p.last,
			fmt.Sprintf("/w/file%d.go: read, version %d, contentHash %016x", n%40, n, n)) {
			t.Errorf("the version of turn %d's file is lost", n)
		}
		if !strings.Contains(p.last, fmt.Sprintf("make test%d: exit code %d\n", n, n%3)) {
			t.Errorf("the command of turn %d is lost", n)
		}
	}
	if !strings.Contains(p.last, fmt.Sprintf("[in_progress] step %d\n", rounds)) {
		t.Error("the plan is lost")
	}
	if strings.Contains(p.last, "long output") {
		t.Error("an old output is still in the prompt")
	}
	if n := strings.Count(p.last, "<session_summary>"); n != 1 {
		t.Errorf("%d summaries in the prompt, want 1", n)
	}
	p.rebuilt()
	t.Logf("%d compactions in %d turns; largest request %d tokens, last one %d tokens", compactions, rounds, largest,
		history.Sizes(c.items))
}

func reply(s string) *model.Item {
	return &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: s}}}
}

// TestCompactionAfterASwitchAsksTheOldModel switches to a model with a smaller
// window: the one that can hold the history writes the summary.
func TestCompactionAfterASwitchAsksTheOldModel(t *testing.T) {
	limits := func(name string) (int, int) {
		if name == "large" {
			return 10_000, 9_000
		}
		return 1_000, 900
	}
	c := New(Options{Settings: protocol.Settings{Model: "large"}, Limits: limits}, nil)
	p := &tape{t: t, core: c}
	var asked []string
	p.answer = func(e CallModel) []Input {
		asked = append(asked, fmt.Sprintf("%s compact=%v", e.Settings.Model, e.Compact))
		return []Input{Chunk{e.Round, model.ItemDone{Index: 0, Item: reply("ok")}},
			Chunk{e.Round, model.Done{Usage: &model.Usage{Input: 5_000}}}, StreamEnded{Round: e.Round}}
	}
	p.play(Submit{ID: "t1", Op: say("first")})
	p.finish()
	p.play(Submit{ID: "c", Op: protocol.Configure{Settings: protocol.Settings{Model: "small"}}},
		Submit{ID: "t2", Op: say("second")})
	p.finish()
	want := "[large compact=false large compact=true small compact=false]"
	if got := fmt.Sprint(asked); got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// TestCompactionThatOverflows drops the oldest part until the summary can be
// written.
func TestCompactionThatOverflows(t *testing.T) {
	c := New(Options{Limits: func(string) (int, int) { return 100, 90 }}, nil)
	p := &tape{t: t, core: c}
	var sizes []int
	p.answer = func(e CallModel) []Input {
		if !e.Compact {
			return []Input{Chunk{e.Round, model.ItemDone{Index: 0, Item: reply(strings.Repeat("word ", 40))}},
				Chunk{e.Round, model.Done{Usage: &model.Usage{Input: 10 * len(e.Items)}}}, StreamEnded{Round: e.Round}}
		}
		sizes = append(sizes, len(e.Items))
		if msg := pairing(e.Items); msg != "" {
			t.Error(msg)
		}
		if len(e.Items) > 6 {
			return []Input{StreamEnded{Round: e.Round, Err: &model.Error{Kind: model.Context, Message: "too long"}}}
		}
		return []Input{Chunk{e.Round, model.ItemDone{Index: 0, Item: reply("short")}}, Chunk{e.Round, model.Done{}},
			StreamEnded{Round: e.Round}}
	}
	for n := 1; len(sizes) == 0 && n < 30; n++ {
		p.play(Submit{ID: fmt.Sprintf("t%d", n), Op: say(fmt.Sprintf("turn %d", n))})
		p.finish()
	}
	if len(sizes) < 3 || sizes[len(sizes)-1] > 6 {
		t.Fatalf("the requests for the summary had %v items; want fewer each time", sizes)
	}
	if !p.knows("short") || !p.knows("turn 1") {
		t.Error("the summary or the user's words are missing")
	}
	p.rebuilt()
}
