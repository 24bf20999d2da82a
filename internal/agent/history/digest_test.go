package history

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"kerf/internal/model"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// TestDigestsStandForWhatTheyCover: a history rebuilt from a digest of all before
// a compaction is that rebuilt from all records.
func TestDigestsStandForWhatTheyCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawLines(t)
		var digest []byte
		from := 0
		for i, l := range lines {
			if l.Type != (Compacted{}).Type() || i == 0 || rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
				continue
			}
			var err error
			if digest, err = Digest(digest, lines[from:i]); err != nil {
				t.Fatal(err)
			}
			from = i
		}
		got, err := RebuildFrom(digest, lines[from:])
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(Rebuild(lines), got, cmp.AllowUnexported(Mark{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func drawLines(t *rapid.T) []Line {
	var lines []Line
	turn := 0
	round := 0
	put := func(r Record) {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, Line{r.Type(), b})
	}
	id := func() protocol.TurnID { return protocol.TurnID(fmt.Sprintf("turn%d", turn)) }
	put(SessionMeta{ID: "s", Model: "m"})
	for range rapid.IntRange(0, 40).Draw(t, "records") {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0:
			turn++
			put(TurnContext{Turn: id(), Settings: protocol.Settings{Model: "m"}, Facts: map[string]string{"cwd": id2(turn)},
				Items: []*model.Item{model.UserText("context")}})
			put(UserInput{Turn: id(), Text: "words"})
		case 1:
			round++
			put(AssistantMessage{Turn: id(), Round: round, Text: "answer",
				Plan: rapid.SampledFrom([]string{"", "plan"}).Draw(t, "plan")})
		case 2:
			put(ToolStarted{Turn: id(), Round: round, Index: len(lines), Call: protocol.CallID(id2(len(lines))),
				Name: "read_file", Args: json.RawMessage(`{}`)})
		case 3:
			put(ToolCall{Turn: id(), Round: round, Index: len(lines), Call: protocol.CallID(id2(len(lines))), Name: "read_file",
				Args:   json.RawMessage(`{}`),
				Result: "text", Success: true, Observed: []Observation{{Path: pathname.Path("/a" + id2(round%3)), Sum: "s", Hash: "h",
					Version: round}}})
		case 4:
			put(FileChange{Turn: id(), Path: "/a", DiffPath: "diffs/001.diff", Operation: "modified", Cause: "tool"})
		case 5:
			put(TokenUsage{Turn: id(), Round: round, Usage: protocol.Usage{Input: 10, Output: 1}})
		case 6:
			put(Compacted{Turn: id(), Items: []*model.Item{model.UserText("words"), model.UserText("summary")}, Words: []int{0},
				Notes: &Notes{Proposed: "p"}})
		case 7:
			put(EventRecord{Turn: protocol.TurnID(fmt.Sprintf("turn%d", rapid.IntRange(0, turn).Draw(t, "back"))),
				What: Rewound})
		default:
			lines = append(lines, Line{"user_input", []byte(`{"text": 1}`)})
		}
	}
	return lines
}

func id2(n int) string { return fmt.Sprintf("n%d", n) }
