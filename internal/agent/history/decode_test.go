package history

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// samples has a record of every type, with Unknown.
func samples() []Record {
	exit := 1
	return []Record{
		SessionMeta{ID: "s", Cwd: "/w", Version: "1", Source: "exec", Model: "m", Provider: "p", Instructions: "do"},
		TurnContext{Turn: "t1", Settings: protocol.Settings{Model: "m", Cwd: "/w"}, Facts: map[string]string{"cwd": "/w"},
			Items: []*model.Item{model.UserText("x")}},
		UserInput{Turn: "t1", Text: "hello", Images: []string{"blob:image/png;1"}},
		AssistantMessage{Turn: "t1", Round: 1, Index: 2, Text: "hi", Partial: true, Plan: "p"},
		Reasoning{Turn: "t1", Round: 1, Summary: []string{"a"}, Encrypted: "e"},
		ToolStarted{Turn: "t1", Round: 1, Call: "c1", Name: "grep", Args: json.RawMessage(`{}`)},
		ToolCall{Turn: "t1", Round: 1, Call: "c1", Name: "grep", Args: json.RawMessage(`{}`), Result: "r", Exit: &exit,
			Success: true},
		FileChange{Turn: "t1", Call: "c1", Path: "/w/a", DiffPath: "diffs/001.diff", Operation: "created", Cause: "tool",
			After: "00", Exact: true, Entry: 3},
		TokenUsage{Agent: "a", Turn: "t1", Round: 1, Usage: protocol.Usage{Input: 1}},
		Approval{Turn: "t1", Call: "c1", Asked: "may it?", Decision: protocol.Once},
		QuestionAsked{Turn: "t1", Question: "ask_1", Kind: protocol.AskHost, Agent: "a", Call: "c1",
			Asked: "example.com:443"},
		Compacted{Turn: "t1", Before: 2, After: 1, Summary: "s", Items: []*model.Item{model.UserText("x")}, Words: []int{0}},
		EventRecord{Turn: "t1", What: TurnCompleted},
		Unknown{Name: "later", JSON: json.RawMessage(`{"type":"later","x":[1]}`)},
	}
}

// withType writes a record as a line of a rollout.
func withType(t *testing.T, r Record) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.(Unknown); ok {
		return b
	}
	return append([]byte(`{"seq":1,"type":"`+r.Type()+`",`), b[1:]...)
}

// TestDecodeIsTheInverseOfMarshal: every record comes back as it was written, and
// an unknown one is kept byte for byte.
func TestDecodeIsTheInverseOfMarshal(t *testing.T) {
	for _, want := range samples() {
		got, err := Decode(withType(t, want))
		if err != nil {
			t.Errorf("%s: %v", want.Type(), err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	}
}

func TestDecodeReportsDamage(t *testing.T) {
	for _, line := range []string{``, `{`, `[]`, `{"type":1}`, `{"type":"tool_call","round":"x"}`,
		`{"type":"event","event":3}`} {
		if r, err := Decode([]byte(line)); err == nil {
			t.Errorf("%q was read as %#v", line, r)
		}
	}
}

// TestEveryRecordIsDecoded: each type of this package with a Type method has a
// decoder and a sample.
func TestEveryRecordIsDecoded(t *testing.T) {
	want := recordTypes(t)
	var got []string
	for _, r := range samples() {
		got = append(got, reflect.TypeOf(r).Name())
		_, known := decoders[r.Type()]
		if _, ok := r.(Unknown); known == ok {
			t.Errorf("%T: the decoder of %q is there: %t", r, r.Type(), known)
		}
	}
	listed := []string{"Unknown"}
	for _, r := range All() {
		listed = append(listed, reflect.TypeOf(r).Name())
	}
	slices.Sort(got)
	slices.Sort(listed)
	if d := cmp.Diff(want, listed); d != "" {
		t.Errorf("what All leaves out:\n%s", d)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records without a sample, or samples without a record:\n%s", d)
	}
}
