package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/model"
)

func load(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stream(ctx context.Context, c *Client, items ...*model.Item) ([]model.Chunk, error) {
	var chunks []model.Chunk
	err := c.Stream(ctx, &model.Request{Items: items}, func(c model.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	return chunks, err
}

const story = `{"version":1,"title":"story","rounds":[
 {"items":[{"reasoning":"Let me  see."},{"message":"I will\nlook."},{"call":"read_file","args":{"file_path":"a b"}},
           {"call":"apply_patch","input":"*** Begin","id":"mine"}],
  "usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1}},
 {"expect":{"tool_output_contains":["fine"],"input_contains":["hello"]},"items":[{"message":"Done."}]}
]}`

func TestPlay(t *testing.T) {
	c := New(load(t, story))
	if got := c.Label(); got != "scripted: story" {
		t.Errorf("label %q", got)
	}
	got, err := stream(context.Background(), c, model.UserText("hello"))
	if err != nil {
		t.Fatal(err)
	}
	read := &model.Item{Kind: model.Call, CallID: "call_1_3", Name: "read_file", Style: model.Function,
		Input: `{"file_path":"a b"}`}
	patch := &model.Item{Kind: model.Call, CallID: "mine", Name: "apply_patch", Style: model.Freeform, Input: "*** Begin"}
	want := []model.Chunk{
		model.Started{ResponseID: "resp_1"},
		model.ItemAdded{Index: 0, Item: &model.Item{Kind: model.Reasoning}},
		model.ReasoningDelta{Index: 0, Text: "Let "}, model.ReasoningDelta{Index: 0, Text: "me  "},
		model.ReasoningDelta{Index: 0, Text: "see."},
		model.ItemDone{Index: 0, Item: &model.Item{Kind: model.Reasoning, Summary: []string{"Let me  see."}}},
		model.ItemAdded{Index: 1, Item: &model.Item{Kind: model.Message, Role: "assistant"}},
		model.TextDelta{Index: 1, Text: "I "}, model.TextDelta{Index: 1, Text: "will\n"},
		model.TextDelta{Index: 1, Text: "look."},
		model.ItemDone{Index: 1, Item: &model.Item{Kind: model.Message, Role: "assistant",
			Content: []model.Part{{Text: "I will\nlook."}}}},
		model.ItemAdded{Index: 2, Item: &model.Item{Kind: model.Call, CallID: "call_1_3", Name: "read_file",
			Style: model.Function}},
		model.InputDelta{Index: 2, Text: `{"file_path":"a `}, model.InputDelta{Index: 2, Text: `b"}`},
		model.ItemDone{Index: 2, Item: read},
		model.ItemAdded{Index: 3, Item: &model.Item{Kind: model.Call, CallID: "mine", Name: "apply_patch",
			Style: model.Freeform}},
		model.InputDelta{Index: 3, Text: "*** "}, model.InputDelta{Index: 3, Text: "Begin"},
		model.ItemDone{Index: 3, Item: patch},
		model.Done{ResponseID: "resp_1", Usage: &model.Usage{Input: 10, Cached: 4, Output: 3, Reasoning: 1}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("chunks (-want +got):\n%s", d)
	}
	if _, err := stream(context.Background(), c, model.UserText("hello"), read,
		model.OutputText(read, "all fine")); err != nil {
		t.Error(err)
	}
	if c.Left() != 0 {
		t.Errorf("%d rounds left", c.Left())
	}
}

func TestRefusals(t *testing.T) {
	call := &model.Item{Kind: model.Call, CallID: "1"}
	tests := []struct {
		name  string
		items []*model.Item
		skip  int
		want  string
	}{
		{"out of rounds", nil, 2, `scenario "story": it has 2 rounds, request 3 has no answer`},
		{"input", []*model.Item{model.UserText("hi there")}, 1,
			`scenario "story": round 2: the input does not contain "hello"; it ends in "hi there"`},
		{"no output", []*model.Item{model.UserText("hello fine")}, 1,
			`scenario "story": round 2: no tool output contains "fine"; there is none`},
		{"other output", []*model.Item{model.UserText("hello"), model.OutputText(call, "bad")}, 1,
			`scenario "story": round 2: no tool output contains "fine"; the last ends in "bad"`},
	}
	for _, tt := range tests {
		c := New(load(t, story))
		c.played = tt.skip
		chunks, err := stream(context.Background(), c, tt.items...)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.BadCall || e.Message != tt.want || len(chunks) != 0 {
			t.Errorf("%s: %d chunks, error %v\nwant %s", tt.name, len(chunks), err, tt.want)
		}
	}
}

func TestErrorAndCut(t *testing.T) {
	c := New(load(t, `{"version":1,"rounds":[
		{"error":{"kind":"rate_limit","status":429,"message":"slow down","retry_after":1.5}},
		{"items":[{"message":"a"}],"error":{"kind":"server"}},
		{"items":[{"message":"a"}],"cut":true}]}`))
	want := []*model.Error{
		{Kind: model.RateLimit, Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond},
		{Kind: model.Server, Message: "scripted error: server", Began: true},
		{Kind: model.Broken, Message: "stream closed before the end of the response", Began: true},
	}
	for i, w := range want {
		chunks, err := stream(context.Background(), c)
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("round %d: %v", i+1, err)
		}
		if d := cmp.Diff(w, e); d != "" {
			t.Errorf("round %d (-want +got):\n%s", i+1, d)
		}
		if whole := len(chunks) == 4; whole != (i > 0) {
			t.Errorf("round %d: %d chunks", i+1, len(chunks))
		}
	}
}

func TestDelayAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(load(t, `{"version":1,"rounds":[{"delay_ms":2000,"items":[{"message":"a"}]},{"delay_ms":2000}]}`))
		start := time.Now()
		if _, err := stream(t.Context(), c); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("err %v after %v, want nil after 2s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := stream(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestEmitErrorEndsTheStream(t *testing.T) {
	stop := errors.New("stop")
	for n := range 20 {
		c, left := New(load(t, story)), n
		err := c.Stream(context.Background(), &model.Request{}, func(model.Chunk) error {
			if left--; left < 0 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) && n < 20 {
			t.Errorf("after %d chunks: %v", n, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, `line 1, column 1: the text ends too soon`},
		{`[]`, `line 1, column 1: want scenario, an object`},
		{`{}`, `line 1, column 1: version is missing`},
		{`{"version":2}`, `line 1, column 12: version 2 is not known, this Kerf reads version 1`},
		{`{"version":"1"}`, `line 1, column 12: want a whole number, found string`},
		{`{"version":null}`, `line 1, column 12: want a whole number, found null`},
		{"{\"version\":1,\n  \"titel\":\"x\"}", `line 2, column 3: unknown name "titel" in a scenario`},
		{`{"version":1,"version":1}`, `line 1, column 14: "version" twice in one scenario`},
		{`{"version":1} {}`, `line 1, column 15: text after the end of the scenario`},
		{`{"version":1,"rounds":{}}`, `line 1, column 23: want a list of rounds`},
		{"{\"version\":1,\"rounds\":[\n{\"items\":[{}]}]}", `line 2, column 11: an item has exactly one of message, reasoning and call`},
		{`{"version":1,"rounds":[{"items":[{"message":"a","call":"b"}]}]}`, `line 1, column 34: an item has exactly one of message, reasoning and call`},
		{`{"version":1,"rounds":[{"items":[{"message":"a","id":"b"}]}]}`, `line 1, column 34: args, input, style and id belong to a call`},
		{`{"version":1,"rounds":[{"items":[{"call":"a","args":{},"input":""}]}]}`, `line 1, column 34: a call has args or input, not both`},
		{`{"version":1,"rounds":[{"items":[{"call":"a","args":[]}]}]}`, `line 1, column 53: want an object or a text`},
		{`{"version":1,"rounds":[{"items":[{"call":"a","style":"x"}]}]}`, `line 1, column 54: style is "x", want "shell" or none`},
		{`{"version":1,"rounds":[{"delay_ms":-1}]}`, `line 1, column 36: want a number that is not negative, found -1`},
		{`{"version":1,"rounds":[{"delay_ms":1.5}]}`, `line 1, column 36: want a whole number, found number 1.5`},
		{`{"version":1,"rounds":[{"cut":1}]}`, `line 1, column 31: want true or false, found number`},
		{`{"version":1,"rounds":[{"error":{}}]}`, `line 1, column 33: an error needs a kind`},
		{`{"version":1,"rounds":[{"error":{"kind":"odd"}}]}`, `line 1, column 41: unknown kind of error "odd", want one of [unauthorized quota bad_request context_window_exceeded rate_limit server network stream]`},
		{`{"version":1,"rounds":[{"error":{"kind":"server","status":200}}]}`, `line 1, column 59: status is 200, want 400 to 599`},
		{"{\"version\":1,\n\"title\":\"a\" \"b\"}", `line 2, column 13: invalid character '"' after object key:value pair`},
		{`{"version":1,"rounds":[`, `line 1, column 24: the text ends too soon`},
	}
	for _, tt := range tests {
		_, err := Load(strings.NewReader(tt.in))
		var pos *PosError
		if !errors.As(err, &pos) || err.Error() != "scenario: "+tt.want {
			t.Errorf("Load(%s)\n got %v\nwant scenario: %s", tt.in, err, tt.want)
		}
	}
}

// The example of the document is a scenario, and the document names every
// member.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../doc/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(doc)
	if example == nil {
		t.Fatal("no example")
	}
	s := load(t, string(example[1]))
	if len(s.Rounds) != 2 || len(s.Rounds[0].Items) != 3 {
		t.Errorf("example read as %+v", s)
	}
	for _, kind := range kinds {
		if !bytes.Contains(doc, []byte("`"+string(kind)+"`")) {
			t.Errorf("error kind %s is not in the document", kind)
		}
	}
}

func drawScenario(t *rapid.T) *Scenario {
	text := rapid.String().Filter(func(s string) bool { return s != "" })
	args := rapid.SampledFrom([]string{`{}`, `{"a":[1,"<b>"]}`, `"raw {"`})
	item := rapid.Custom(func(t *rapid.T) Item {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Item{Message: text.Draw(t, "message")}
		case 1:
			return Item{Reasoning: text.Draw(t, "reasoning")}
		case 2:
			return Item{Call: text.Draw(t, "call"), Args: json.RawMessage(args.Draw(t, "args")),
				ID: rapid.String().Draw(t, "id")}
		}
		input := rapid.String().Draw(t, "input")
		return Item{Call: text.Draw(t, "call"), Input: &input}
	})
	round := rapid.Custom(func(t *rapid.T) Round {
		r := Round{DelayMS: rapid.IntRange(0, 5).Draw(t, "delay"), Cut: rapid.Bool().Draw(t, "cut")}
		if items := rapid.SliceOfN(item, 0, 4).Draw(t, "items"); len(items) > 0 {
			r.Items = items
		}
		if rapid.Bool().Draw(t, "usage") {
			r.Usage = &Usage{Input: rapid.IntRange(0, 1000).Draw(t, "in"), Output: 3}
		}
		if rapid.Bool().Draw(t, "error") {
			r.Error = &Failure{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Message: rapid.String().Draw(t, "message"),
				RetryAfter: 0.25}
		}
		return r
	})
	return &Scenario{Version: Version, Title: rapid.String().Draw(t, "title"),
		Rounds: rapid.SliceOfN(round, 0, 4).Draw(t, "rounds")}
}

// What is saved is loaded.
func TestSaveLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawScenario(t)
		var b bytes.Buffer
		if err := want.Save(&b); err != nil {
			t.Fatal(err)
		}
		got, err := Load(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-saved +loaded):\n%s", d)
		}
	})
}

// The pieces of a text make the text; only the last is without white space at
// its end, unless a word is very long.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		words := Words(s)
		if got := strings.Join(words, ""); got != s {
			t.Fatalf("Words(%q) join to %q", s, got)
		}
		for i, w := range words {
			if i < len(words)-1 && len(w) < 80 && !strings.ContainsAny(w[len(w)-1:], " \n\t") {
				t.Fatalf("Words(%q)[%d] = %q", s, i, w)
			}
		}
	})
}

// The same requests get the same chunks.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		a, b := New(s), New(s)
		for range len(s.Rounds) + 1 {
			ca, ea := stream(context.Background(), a)
			cb, eb := stream(context.Background(), b)
			if d := cmp.Diff(ca, cb); d != "" {
				t.Fatal(d)
			}
			if (ea == nil) != (eb == nil) || (ea != nil && ea.Error() != eb.Error()) {
				t.Fatalf("%v, %v", ea, eb)
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add(story)
	f.Add(`{"version":1,"rounds":[{"error":{"kind":"server"},"cut":true,"expect":{"input_contains":[]}}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Load(strings.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := s.Save(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(&b); err != nil {
			t.Fatalf("saved scenario does not load: %v", err)
		}
	})
}
