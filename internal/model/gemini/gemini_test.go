package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/gemini"
	"kerf/internal/model/script/dialect"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

// stream sends r to a server that plays a round, and returns what the server got and all chunks.
func stream(t *testing.T, o wire.Options, r *model.Request, round mt.Round) (*mt.Request, []model.Chunk, error) {
	t.Helper()
	s := mt.Start(t, round)
	o.Name, o.BaseURL, o.IdleTimeout = "test", s.URL+o.BaseURL, 10*time.Second
	if o.Key == nil {
		o.Key = wire.StaticKey("key")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var chunks []model.Chunk
	err := gemini.New(o).Stream(ctx, r, func(c model.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	if len(s.Requests()) == 0 {
		return nil, chunks, err
	}
	return s.Request(t, 0), chunks, err
}

func hi() *model.Request {
	return &model.Request{Model: "gemini-3-pro", Items: []*model.Item{model.UserText("hi")}}
}

// event is one piece of an answer: its parts and, if the model stopped, why.
func event(parts, reason string) string {
	if reason != "" {
		reason = `,"finishReason":"` + reason + `"`
	}
	return `data: {"responseId":"r","candidates":[{"index":0,"content":{"parts":[` + parts + `]}` + reason + "}]}\n\n"
}

// shown are chunks, one a line.
func shown(chunks []model.Chunk) []string {
	var all []string
	for _, c := range chunks {
		switch c := c.(type) {
		case model.Started:
			all = append(all, "started "+c.ResponseID)
		case model.ItemAdded:
			all = append(all, fmt.Sprintf("%d begins %s", c.Index, item(c.Item)))
		case model.TextDelta:
			all = append(all, fmt.Sprintf("%d text %q", c.Index, c.Text))
		case model.ReasoningDelta:
			all = append(all, fmt.Sprintf("%d thought %q", c.Index, c.Text))
		case model.InputDelta:
			all = append(all, fmt.Sprintf("%d input %q", c.Index, c.Text))
		case model.ItemDone:
			all = append(all, fmt.Sprintf("%d done %s", c.Index, item(c.Item)))
		case model.Done:
			all = append(all, strings.TrimSpace("over "+c.Incomplete))
		}
	}
	return all
}

// item is an item with all that it says.
func item(i *model.Item) string {
	return strings.TrimSpace(strings.Join([]string{string(i.Kind), i.Role, i.CallID, i.Name, string(i.Style), i.Input,
		i.Text(), strings.Join(i.Summary, "|"), i.Encrypted}, " "))
}

// TestAnswersAreItems: what a recorded stream says comes as these chunks, whatever its form.
func TestAnswersAreItems(t *testing.T) {
	call := `{"functionCall":{"id":"c1","name":"read_file","args":{"a":1}}}`
	called := []string{"0 begins call  c1 read_file function", `0 input "{\"a\":1}"`,
		`0 done call  c1 read_file function {"a":1}`}
	for _, tt := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"text in pieces is one message", []string{event(`{"text":"I "}`, ""), event(`{"text":"look."}`, "STOP")},
			[]string{"0 begins message assistant", `0 text "I "`, `0 text "look."`, "0 done message assistant     I look.", "over"}},
		{"a letter cut in two is whole", []string{event(`{"text":"\ud83d"}`, ""), event(`{"text":"\ude00"}`, "STOP")},
			[]string{"0 begins message assistant", `0 text "😀"`, "0 done message assistant     😀", "over"}},
		{"half a letter at the end is told as one that is missing", []string{event(`{"text":"a\ud83d"}`, "STOP")},
			[]string{"0 begins message assistant", `0 text "a"`, "0 done message assistant     a\ufffd", "over"}},
		{"thoughts stand before the message", []string{event(`{"text":"Hm.","thought":true}`, ""), event(`{"text":"Yes."}`, "STOP")},
			[]string{"0 begins reasoning", `0 thought "Hm."`, "0 done reasoning       Hm.", "1 begins message assistant", `1 text "Yes."`,
				"1 done message assistant     Yes.", "over"}},
		{"the signature of a thought goes with it", []string{event(`{"text":"Hm.","thought":true,"thoughtSignature":"sig"}`, "STOP")},
			[]string{"0 begins reasoning", `0 thought "Hm."`, "0 done reasoning       Hm. gemini:sig", "over"}},
		{"a signature without a thought stands alone", []string{event(`{"text":"","thought":true,"thoughtSignature":"sig"}`, "STOP")},
			[]string{"0 done reasoning        gemini:sig", "over"}},
		{"the signature of a text stands behind it", []string{event(`{"text":"Yes.","thoughtSignature":"sig"}`, "STOP")},
			[]string{"0 begins message assistant", `0 text "Yes."`, "0 done message assistant     Yes.", "1 done reasoning        gemini:sig", "over"}},
		{"a call comes whole, when the model stopped", []string{event(call, "STOP")}, append(called, "over")},
		{"the signature of a call belongs to the thought before it",
			[]string{event(`{"text":"Hm.","thought":true},{"functionCall":{"id":"c1","name":"f"},"thoughtSignature":"sig"}`, "STOP")},
			[]string{"0 begins reasoning", `0 thought "Hm."`, "0 done reasoning       Hm. gemini:sig", "1 begins call  c1 f function",
				`1 input "{}"`, "1 done call  c1 f function {}", "over"}},
		{"the signature of a call behind a text stands between them",
			[]string{event(`{"text":"I look."},{"functionCall":{"id":"c1","name":"f","args":null},"thoughtSignature":"sig"}`, "STOP")},
			[]string{"0 begins message assistant", `0 text "I look."`, "0 done message assistant     I look.", "1 done reasoning        gemini:sig",
				"2 begins call  c1 f function", `2 input "{}"`, "2 done call  c1 f function {}", "over"}},
		{"a part that is no list is one part", []string{`data: {"responseId":"r","candidates":[{"content":{"parts":` + call + `},"finishReason":"STOP"}]}` + "\n\n"},
			append(called, "over")},
		{"a gateway may wrap it", []string{`data: {"response":{"responseId":"r","candidates":[{"content":{"parts":[` + call + `]},"finishReason":"STOP"}]}}` + "\n\n",
			"data: [DONE]\n\n"}, append(called, "over")},
		{"only the first of several answers counts", []string{`data: {"responseId":"r","candidates":[{"index":1,"content":{"parts":[{"text":"other"}]},"finishReason":"STOP"},` +
			`{"index":0,"content":{"parts":[` + call + `]},"finishReason":"STOP"}]}` + "\n\n"}, append(called, "over")},
		{"what Kerf does not know is passed over", []string{event(`{"executableCode":{"code":"x"}},{"text":7},`+call, "STOP")}, append(called, "over")},
		{"an answer of nothing is over", []string{event("", "STOP")}, []string{"over"}},
		{"a reason that says nothing is none", []string{event("", "FINISH_REASON_UNSPECIFIED")}, []string{"over"}},
		{"cut by its length", []string{event("", "MAX_TOKENS")}, []string{"over max_output_tokens"}},
		{"kept back by a filter", []string{event("", "SAFETY")}, []string{"over content_filter: safety"}},
		{"another reason is told as it is", []string{event("", "OTHER")}, []string{"over other"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, chunks, err := stream(t, wire.Options{}, hi(), mt.Raw(tt.events...))
			if d := cmp.Diff(append([]string{"started r"}, tt.want...), shown(chunks)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestCallsHaveIDsOfTheirOwn: where the server gives none, gives one twice, or one that an earlier call has.
func TestCallsHaveIDsOfTheirOwn(t *testing.T) {
	r := hi()
	r.Items = append(r.Items, &model.Item{Kind: model.Call, CallID: "old", Name: "f"}, &model.Item{Kind: model.Output, CallID: "old"})
	_, chunks, err := stream(t, wire.Options{}, r, mt.Raw(event(`{"functionCall":{"name":"f"}},{"functionCall":{"id":"old","name":"f"}},`+
		`{"functionCall":{"id":"new","name":"f"}},{"functionCall":{"id":"new","name":"f"}}`, "STOP")))
	seen, calls := map[string]bool{"old": true, "": true}, 0
	for _, c := range chunks {
		if d, ok := c.(model.ItemDone); ok {
			if calls++; seen[d.Item.CallID] || calls == 3 && d.Item.CallID != "new" {
				t.Errorf("call %d has the id %q", calls, d.Item.CallID)
			}
			seen[d.Item.CallID] = true
		}
	}
	if err != nil || calls != 4 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestUsageCountsThoughtsAsOutputAndToolsAsInput; the last word of the server counts, and numbers that cannot be are none.
func TestUsageCountsThoughtsAsOutputAndToolsAsInput(t *testing.T) {
	used := func(s string) string { return `data: {"usageMetadata":` + s + "}\n\n" }
	for _, tt := range []struct {
		events []string
		want   *model.Usage
	}{
		{[]string{used(`{"promptTokenCount":10,"toolUsePromptTokenCount":3,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2}`)},
			&model.Usage{Input: 13, Cached: 4, Output: 7, Reasoning: 2}},
		{[]string{used(`{"promptTokenCount":10}`), used(`{"promptTokenCount":11,"candidatesTokenCount":-5}`)}, &model.Usage{Input: 11}},
		{nil, nil},
	} {
		_, chunks, err := stream(t, wire.Options{}, hi(), mt.Raw(append(tt.events, event(`{"text":"x"}`, "STOP"))...))
		if err != nil {
			t.Fatal(err)
		}
		done, _ := chunks[len(chunks)-1].(model.Done)
		if d := cmp.Diff(model.Done{ResponseID: done.ResponseID, Usage: tt.want}, done); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.events, d)
		}
	}
}

// TestStreamsThatBreakAreToldAsBroken, and what was said by then stays.
func TestStreamsThatBreakAreToldAsBroken(t *testing.T) {
	many := strings.Repeat(`{"functionCall":{"name":"f"}},`, 10_001) + `{"text":"x"}`
	for _, tt := range []struct {
		name  string
		round mt.Round
		kind  model.ErrorKind
		words string
		began bool
		items int // that are whole
	}{
		{"no reason why the model stopped", mt.Raw(event(`{"text":"Half"},{"functionCall":{"name":"f"}}`, "")), model.Broken,
			"stream closed before the finish reason", true, 1},
		{"no JSON", mt.Raw("data: {broken\n\n"), model.Broken, "unreadable event in the stream", true, 0},
		{"an error in the stream", mt.Raw(event(`{"text":"Half"}`, ""), `data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`+"\n\n"),
			model.Server, "overloaded", true, 0},
		{"a prompt that is blocked", mt.Raw(`data: {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}` + "\n\n"),
			model.BadCall, "the provider blocked the prompt: SAFETY no", true, 0},
		{"a call that the provider cannot read", mt.Raw(event("", "MALFORMED_FUNCTION_CALL")), model.Server,
			"the model wrote a call that the provider cannot read (MALFORMED_FUNCTION_CALL)", true, 0},
		{"a call of a tool that there is not", mt.Raw(event("", "UNEXPECTED_TOOL_CALL")), model.Server, "(UNEXPECTED_TOOL_CALL)", true, 0},
		{"items without end", mt.Raw(event(many, "STOP")), model.Server, "the response has too many items", true, 0},
		{"nothing", mt.HTTP(200, ""), model.Broken, "the answer is empty", false, 0},
		{"a refusal", mt.HTTP(400, `{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`),
			model.Auth, "bad", false, 0},
		{"JSON that is no answer", mt.HTTP(200, `{"hello":1}`), model.BadCall, "JSON instead of an event stream", false, 0},
		{"a list with what is no answer", mt.HTTP(200, `[7]`), model.BadCall, "JSON instead of an event stream", false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, chunks, err := stream(t, wire.Options{}, hi(), tt.round)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Message, tt.words) || e.Began != tt.began {
				t.Errorf("%#v", err)
			}
			items := 0
			for _, c := range chunks {
				switch c := c.(type) {
				case model.ItemDone:
					items++
					if c.Item.Kind == model.Call {
						t.Errorf("a call of an answer that broke: %s", item(c.Item))
					}
				case model.Done:
					t.Error("told as over")
				}
			}
			if items > tt.items {
				t.Errorf("%d whole items, want %d", items, tt.items)
			}
		})
	}
}

// TestAnswersThatAreNoStreamCountAsOne: one answer, or the list of its pieces.
func TestAnswersThatAreNoStreamCountAsOne(t *testing.T) {
	first, last := `{"responseId":"r","candidates":[{"content":{"parts":[{"text":"I "}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"look."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}`
	for body, want := range map[string]string{last: "look.", "[" + first + ",\n" + last + "]": "I look.",
		"[" + first + `,{"unknown":1},` + last + "]": "I look."} {
		_, chunks, err := stream(t, wire.Options{}, hi(), mt.HTTP(200, body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		done, _ := chunks[len(chunks)-2].(model.ItemDone)
		if done.Item == nil || done.Item.Text() != want {
			t.Errorf("%s: %v", body, shown(chunks))
		}
	}
}

// TestTheReceiverEndsTheStream: an error of the one who takes the chunks is what the stream ends with, whichever
// chunk it took last.
func TestTheReceiverEndsTheStream(t *testing.T) {
	body := mt.Raw(dialect.Gemini.Render(*mt.Answer(mt.Reasoning("Hm."), mt.Message("I look."), mt.Call("f", mt.M{"a": 1}),
		mt.Call("g", mt.M{}), mt.Message("Bye.")).Script, 1)...).With("x-ratelimit-remaining-requests", "7")
	_, all, err := stream(t, wire.Options{}, hi(), body)
	if err != nil || len(all) < 15 {
		t.Fatal(err, shown(all))
	}
	full := errors.New("full")
	for n := range all {
		s := mt.Start(t, body)
		var got []model.Chunk
		err := gemini.New(wire.Options{BaseURL: s.URL, IdleTimeout: 10 * time.Second}).Stream(t.Context(), hi(), func(c model.Chunk) error {
			if len(got) == n {
				return full
			}
			got = append(got, c)
			return nil
		})
		if d := cmp.Diff(all[:n], got); d != "" && n > 0 || !errors.Is(err, full) {
			t.Errorf("after %d chunks: %v\n%s", n, err, d)
		}
	}
}

// body is what is sent of a request, as text.
func body(t *testing.T, r *model.Request) string {
	t.Helper()
	got, _, err := stream(t, wire.Options{}, r, mt.Raw(event(`{"text":"x"}`, "STOP")))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(got.Body) {
		t.Fatalf("no JSON: %s", got.Body)
	}
	return string(got.Body)
}

// TestConversationsAreContents: each run of items becomes one content of the side that spoke.
func TestConversationsAreContents(t *testing.T) {
	thought := func(seal string) *model.Item {
		return &model.Item{Kind: model.Reasoning, Summary: []string{"Hm."}, Encrypted: seal}
	}
	said := func(s string) *model.Item {
		return &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: s}}}
	}
	f := &model.Item{Kind: model.Call, CallID: "c1", Name: "f", Style: model.Function, Input: `{"a":1}`}
	out := model.OutputText(f, "fine")
	shows := model.OutputText(f, "see")
	shows.Content = append(shows.Content, model.Part{ImageURL: "data:image/png;base64,QUJD"})
	const user, called = `{"role":"user","parts":[{"text":"hi"}]}`, `{"functionCall":{"id":"c1","name":"f","args":{"a":1}`
	const goOn = `{"role":"user","parts":[{"text":"Go on where you stopped."}]}`
	answered := func(s string) string {
		return `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"` + s + `"}}}`
	}
	for _, tt := range []struct {
		name, model string
		items       []*model.Item
		want        string
	}{
		{"messages of the user stand alone", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), model.UserText("hi")}, user + "," + user},
		{"pictures by their bytes and by their address", "gemini-2.5-pro", []*model.Item{{Kind: model.Message, Role: "user", Content: []model.Part{
			{Text: "see"}, {Text: " \n"}, {ImageURL: "data:image/png;base64,QUJD"}, {ImageURL: "https://a/b.png"}}}},
			`{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}},{"fileData":{"fileUri":"https://a/b.png"}}]}`},
		{"a signature goes with the call behind it", "gemini-3-pro", []*model.Item{model.UserText("hi"), thought("gemini:sig"), f, out},
			user + `,{"role":"model","parts":[` + called + `},"thoughtSignature":"sig"}]},` + answered("fine") + "]}"},
		{"a signature before a text stands alone", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), thought("gemini:sig"), said("Yes."), model.UserText("hi")},
			user + `,{"role":"model","parts":[{"text":"","thoughtSignature":"sig"},{"text":"Yes."}]},` + user},
		{"two signatures both go back", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), thought("gemini:1"), thought("gemini:2"), model.UserText("hi")},
			user + `,{"role":"model","parts":[{"text":"","thoughtSignature":"1"},{"text":"","thoughtSignature":"2"}]},` + user},
		{"signatures of others stay at home", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), thought("anthropic:sig"), f, out},
			user + `,{"role":"model","parts":[` + called + `}}]},` + answered("fine") + "]}"},
		{"the first call of another model is let through where signatures are demanded", "gemini-3-pro", []*model.Item{model.UserText("hi"), f, f, out},
			user + `,{"role":"model","parts":[` + called + `},"thoughtSignature":"skip_thought_signature_validator"},` + called + `}}]},` + answered("fine") + "]}"},
		{"outputs stand together and pictures behind them", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), f, shows, out},
			user + `,{"role":"model","parts":[` + called + `}}]},` + answered("see") +
				`,{"functionResponse":{"id":"c1","name":"f","response":{"output":"fine"}}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}`},
		{"an answer that broke off is to go on", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), said("Half")},
			user + `,{"role":"model","parts":[{"text":"Half"}]},` + goOn},
		{"an output without its call is of an unknown tool", "gemini-2.5-pro", []*model.Item{{Kind: model.Output, CallID: "c9", Content: []model.Part{{Text: "x"}}}},
			`{"role":"user","parts":[{"functionResponse":{"id":"c9","name":"unknown","response":{"output":"x"}}}]}`},
		{"an answer without words is left out", "gemini-2.5-pro", []*model.Item{model.UserText("hi"), thought(""), model.UserText("hi")}, user + "," + user},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := body(t, &model.Request{Model: tt.model, Items: tt.items})
			_, rest, _ := strings.Cut(text, `"contents":[`)
			rest, _, _ = strings.Cut(rest, `],"generationConfig"`)
			if d := cmp.Diff(tt.want, rest); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestIDsThatKerfMadeUpAreNotSent, nor any to Vertex.
func TestIDsThatKerfMadeUpAreNotSent(t *testing.T) {
	_, chunks, err := stream(t, wire.Options{}, hi(), mt.Raw(event(`{"functionCall":{"name":"f"}}`, "STOP")))
	if err != nil {
		t.Fatal(err)
	}
	f := chunks[len(chunks)-2].(model.ItemDone).Item
	r := &model.Request{Model: "gemini-2.5-pro", Items: []*model.Item{model.UserText("hi"), f, model.OutputText(f, "fine")}}
	if text := body(t, r); strings.Contains(text, `"id"`) || !strings.Contains(text, `"output":"fine"`) {
		t.Error(text)
	}
	named := &model.Item{Kind: model.Call, CallID: "c1", Name: "f", Style: model.Function, Input: `{}`}
	r.Items = []*model.Item{model.UserText("hi"), named, model.OutputText(named, "fine")}
	got, _, err := stream(t, wire.Options{BaseURL: "/publishers/google"}, r, mt.Raw(event(`{"text":"x"}`, "STOP")))
	if err != nil || strings.Contains(string(got.Body), `"id"`) {
		t.Errorf("%v, %s", err, got.Body)
	}
}

// TestWhatIsAskedFor: tools, the form of the last message, thinking and the search, as each kind of model takes them.
func TestWhatIsAskedFor(t *testing.T) {
	f := []model.Tool{{Name: "f", Description: "does f", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "p", Grammar: "start: /.+/"}}
	schema := json.RawMessage(`{"type":"string"}`)
	const hi = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	const declared = `,"tools":[{"functionDeclarations":[{"name":"f","description":"does f","parametersJsonSchema":{"type":"object"}},` +
		`{"name":"p","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}]}]`
	const form = `"responseMimeType":"application/json","responseJsonSchema":{"type":"string"}`
	thinks := func(how string) string {
		return `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,` + how + `}`
	}
	for _, tt := range []struct {
		name string
		r    model.Request
		want string
	}{
		{"a level of thought", model.Request{Model: "gemini-3-pro", Effort: "max"}, `{` + hi + thinks(`"thinkingLevel":"high"`) + `}}`},
		{"the least level of thought", model.Request{Model: "gemini-3-pro", Effort: "none"}, `{` + hi + thinks(`"thinkingLevel":"low"`) + `}}`},
		{"a budget of thought", model.Request{Model: "gemini-2.5-pro", Effort: "low"}, `{` + hi + thinks(`"thinkingBudget":2048`) + `}}`},
		{"as much thought as the model wants", model.Request{Model: "gemini-2.5-pro"}, `{` + hi + thinks(`"thinkingBudget":-1`) + `}}`},
		{"thoughts that are not told", model.Request{Model: "gemini-2.5-pro", Summary: "none"},
			`{` + hi + `,"generationConfig":{"thinkingConfig":{"includeThoughts":false,"thinkingBudget":-1}}}`},
		{"instructions come first", model.Request{Model: "gemini-2.5-pro", Instructions: "Be \"short\"."},
			`{"systemInstruction":{"parts":[{"text":"Be \"short\"."}]},` + hi + thinks(`"thinkingBudget":-1`) + `}}`},
		{"tools, also those that take text", model.Request{Model: "gemini-2.5-pro", Tools: f}, `{` + hi + declared + thinks(`"thinkingBudget":-1`) + `}}`},
		{"a search where there are no tools", model.Request{Model: "gemini-2.5-pro", WebSearch: "live"},
			`{` + hi + `,"tools":[{"googleSearch":{}}]` + thinks(`"thinkingBudget":-1`) + `}}`},
		{"no search beside tools", model.Request{Model: "gemini-2.5-pro", WebSearch: "live", Tools: f}, `{` + hi + declared + thinks(`"thinkingBudget":-1`) + `}}`},
		{"a form of the last message", model.Request{Model: "gemini-2.5-pro", Schema: schema}, `{` + hi + thinks(`"thinkingBudget":-1`) + `,` + form + `}}`},
		{"the form in words, for a model that refuses it beside tools", model.Request{Model: "gemini-2.5-pro", Schema: schema, Tools: f},
			`{"systemInstruction":{"parts":[{"text":"\n\nYour final message must be one JSON value that follows this schema, and nothing else:\n{\"type\":\"string\"}"}]},` +
				hi + declared + thinks(`"thinkingBudget":-1`) + `}}`},
		{"the form beside tools, for a model that takes both", model.Request{Model: "gemini-3-pro", Schema: schema, Tools: f},
			`{` + hi + declared + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true},` + form + `}}`},
		{"a model that does not think", model.Request{Model: "gemma-3", Schema: schema}, `{` + hi + `,"generationConfig":{` + form + `}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Items = []*model.Item{model.UserText("hi")}
			if d := cmp.Diff(tt.want, body(t, &tt.r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestRequestsThatCannotBeSent are refused before anything is sent.
func TestRequestsThatCannotBeSent(t *testing.T) {
	broken := json.RawMessage(`{broken`)
	for words, r := range map[string]*model.Request{
		"schema of tool f":     {Model: "m", Items: hi().Items, Tools: []model.Tool{{Name: "f", Schema: broken}}},
		"output schema":        {Model: "m", Items: hi().Items, Schema: broken},
		`unknown kind "other"`: {Model: "m", Items: []*model.Item{{Kind: "other"}}},
	} {
		got, chunks, err := stream(t, wire.Options{}, r, mt.Raw(event("", "STOP")))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.BadCall || !strings.Contains(e.Message, words) || e.Err == nil || got != nil || len(chunks) > 0 {
			t.Errorf("%q: %#v, sent %v", words, err, got)
		}
	}
}

// TestWhereRequestsGo: below the base URL, with the key as the protocol or Vertex wants it.
func TestWhereRequestsGo(t *testing.T) {
	for _, tt := range []struct {
		below, model, key, path, bearer, apiKey string
	}{
		{"", "gemini-3-pro", "AIza-1", "/v1/models/gemini-3-pro:streamGenerateContent", "", "AIza-1"},
		{"", "models/gemini-3-pro", "k", "/v1/models/gemini-3-pro:streamGenerateContent", "", "k"},
		{"/publishers/google", "m", "ya29.token", "/v1/publishers/google/models/m:streamGenerateContent", "Bearer ya29.token", ""},
		{"/publishers/google", "m", "AIza-1", "/v1/publishers/google/models/m:streamGenerateContent", "", "AIza-1"},
		{"/publishers/google", "m", "AQ.1", "/v1/publishers/google/models/m:streamGenerateContent", "", "AQ.1"},
	} {
		r := hi()
		r.Model = tt.model
		got, _, err := stream(t, wire.Options{BaseURL: tt.below, Key: wire.StaticKey(tt.key)}, r, mt.Raw(event("", "STOP")))
		if err != nil {
			t.Fatal(err)
		}
		if got.Path != tt.path || got.Query.Get("alt") != "sse" || got.Header.Get("Authorization") != tt.bearer ||
			got.Header.Get("X-Goog-Api-Key") != tt.apiKey {
			t.Errorf("%+v: %s?%v %v", tt, got.Path, got.Query, got.Header)
		}
	}
	s := mt.Start(t, mt.Raw(event("", "STOP")))
	bare := strings.TrimSuffix(s.URL, "/v1")
	err := gemini.New(wire.Options{BaseURL: bare, IdleTimeout: 10 * time.Second}).Stream(t.Context(), hi(), func(model.Chunk) error { return nil })
	if got := s.Request(t, 0).Path; err != nil || got != "/v1beta/models/gemini-3-pro:streamGenerateContent" {
		t.Errorf("without a path: %s, %v", got, err)
	}
}

// FuzzStream: whatever a server sends, calls have ids of their own, and the end is told as over or as an error.
func FuzzStream(f *testing.F) {
	f.Add(strings.Join(dialect.Gemini.Render(*mt.Answer(mt.Reasoning("Hm."), mt.Call("f", mt.M{"a": 1})).Script, 1), ""))
	f.Add(event(`{"functionCall":{"id":7,"name":"f","args":[1]}}`, "STOP"))
	f.Fuzz(func(t *testing.T, text string) {
		_, chunks, err := stream(t, wire.Options{}, hi(), mt.Raw(text))
		seen, over := map[string]bool{"": true}, false
		for _, c := range chunks {
			if d, ok := c.(model.ItemDone); ok && d.Item.Kind == model.Call {
				if seen[d.Item.CallID] {
					t.Errorf("call %+v", d.Item)
				}
				seen[d.Item.CallID] = true
			}
			_, is := c.(model.Done)
			over = over || is
		}
		var e *model.Error
		if over != (err == nil) || err != nil && !errors.As(err, &e) {
			t.Errorf("over %v, %T %v", over, err, err)
		}
	})
}
