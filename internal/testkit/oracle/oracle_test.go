// Package oracle asks the providers' own libraries whether Kerf speaks their
// protocols. It is a module of its own, so that they are no part of Kerf:
//
//	cd internal/testkit/oracle && go test ./...
package oracle

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/chat"
	"kerf/internal/model/gemini"
	"kerf/internal/model/openai"
	"kerf/internal/model/script/dialect"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

func client(api dialect.API, s *mt.Server) model.Client {
	o := wire.Options{Name: "test", BaseURL: s.URL, Key: wire.StaticKey("k")}
	switch api {
	case dialect.Chat:
		return chat.New(chat.Options{Options: o, CacheKey: true})
	case dialect.Anthropic:
		return anthropic.New(anthropic.Options{Options: o})
	case dialect.Gemini:
		return gemini.New(o)
	}
	return openai.New(o)
}

func round() mt.Round {
	return mt.Answer(mt.Reasoning("Thinking it over."), mt.Message("I will look."),
		mt.Call("read_file", mt.M{"file_path": "ä.txt"}), mt.Call("read_file", mt.M{"file_path": "b"}))
}

// requests are the bodies of a conversation with all that Kerf ever sends.
func requests(t *testing.T, api dialect.API, name string) [][]byte {
	s := mt.Start(t, round(), mt.Answer(mt.Message("Done.")), mt.Answer(mt.Message("Done.")))
	c := client(api, s)
	image := &model.Item{Kind: model.Message, Role: "user",
		Content: []model.Part{{Text: "look"}, {ImageURL: "data:image/png;base64,QUJD"}}}
	items := []*model.Item{{Kind: model.Message, Role: "developer", Content: []model.Part{{Text: "be kind"}}}, image}
	ask := func(change func(*model.Request)) []*model.Item {
		r := &model.Request{Model: name, Instructions: "Be brief.", Items: slices.Clone(items), Parallel: true,
			CacheKey: "session",
			Effort:   "high", Summary: "auto", Tools: []model.Tool{
				{Name: "read_file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`)},
				{Name: "apply_patch", Description: "patches", Grammar: "start: /.+/"}}}
		change(r)
		var got []*model.Item
		if err := c.Stream(t.Context(), r, func(ch model.Chunk) error {
			if d, ok := ch.(model.ItemDone); ok {
				got = append(got, d.Item)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask(func(*model.Request) {})
	items = append(items, got...)
	for _, i := range got {
		if i.Kind == model.Call {
			out := model.OutputText(i, "the output")
			out.Content = append(out.Content, model.Part{ImageURL: "data:image/png;base64,QUJD"})
			items = append(items, out)
		}
	}
	ask(func(r *model.Request) { r.Parallel = false })
	ask(func(r *model.Request) {
		r.WebSearch = "live"
		r.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	})
	var bodies [][]byte
	for _, r := range s.Requests() {
		bodies = append(bodies, r.Body)
	}
	return bodies
}

// same checks that nothing of a body is lost when a library reads it into its
// own type and writes it again; ignore are members that are no parameters there.
func same(t *testing.T, body []byte, params any, ignore ...string) {
	t.Helper()
	if err := json.Unmarshal(body, params); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	_ = json.Unmarshal(body, &want)
	_ = json.Unmarshal(again, &got)
	for _, name := range ignore {
		delete(want, name)
		delete(got, name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the library reads something else (-sent +read):\n%s", d)
	}
}

func TestAnthropicRequests(t *testing.T) {
	for _, name := range []string{"claude-sonnet-4-6", "claude-sonnet-4-5", "claude-3-5-haiku", "unknown"} {
		for _, body := range requests(t, dialect.Anthropic, name) {
			same(t, body, &anthropicsdk.MessageNewParams{}, "stream")
		}
	}
}

func TestChatRequests(t *testing.T) {
	for _, body := range requests(t, dialect.Chat, "some-model") {
		// reasoning_content is an extension that the library does not know.
		body = []byte(strings.ReplaceAll(string(body), `"reasoning_content":"Thinking it over.",`, ""))
		same(t, body, &openaisdk.ChatCompletionNewParams{}, "stream")
	}
}

func TestResponsesRequests(t *testing.T) {
	for _, body := range requests(t, dialect.Responses, "gpt-5") {
		same(t, body, &responses.ResponseNewParams{}, "stream")
	}
}

func TestGeminiRequests(t *testing.T) {
	type request struct {
		SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
		Contents          []*genai.Content        `json:"contents,omitempty"`
		Tools             []*genai.Tool           `json:"tools,omitempty"`
		Config            *genai.GenerationConfig `json:"generationConfig,omitempty"`
	}
	for _, name := range []string{"gemini-3-pro", "gemini-2.5-flash", "gemini-2.0-flash"} {
		for _, body := range requests(t, dialect.Gemini, name) {
			d := json.NewDecoder(strings.NewReader(string(body)))
			d.DisallowUnknownFields()
			var r request
			if err := d.Decode(&r); err != nil {
				t.Errorf("%s: %v: %s", name, err, body)
			}
		}
	}
}

// The emulated servers are understood by the libraries, so that what the suite
// shows holds for real ones.
func TestLibrariesReadTheServers(t *testing.T) {
	s := mt.Start(t, round(), round(), round())
	want := "I will look."
	a := anthropicsdk.NewClient(anthropicoption.WithBaseURL(strings.TrimSuffix(s.URL, "/v1")),
		anthropicoption.WithAPIKey("k"), anthropicoption.WithMaxRetries(0))
	stream := a.Messages.NewStreaming(t.Context(), anthropicsdk.MessageNewParams{Model: "m", MaxTokens: 10,
		Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock("hi"))}})
	var message anthropicsdk.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if stream.Err() != nil || len(message.Content) != 4 || message.Content[1].Text != want ||
		message.Content[0].Signature == "" || message.StopReason != "tool_use" {
		t.Errorf("anthropic: %+v, %v", message.Content, stream.Err())
	}
	o := openaisdk.NewClient(openaioption.WithBaseURL(s.URL+"/"), openaioption.WithAPIKey("k"),
		openaioption.WithMaxRetries(0))
	chunks := o.Chat.Completions.NewStreaming(t.Context(), openaisdk.ChatCompletionNewParams{Model: "m",
		Messages: []openaisdk.ChatCompletionMessageParamUnion{openaisdk.UserMessage("hi")}})
	var acc openaisdk.ChatCompletionAccumulator
	for chunks.Next() {
		if !acc.AddChunk(chunks.Current()) {
			t.Fatal("chat: a chunk does not fit")
		}
	}
	if chunks.Err() != nil || len(acc.Choices) != 1 || acc.Choices[0].Message.Content != want ||
		len(acc.Choices[0].Message.ToolCalls) != 2 {
		t.Errorf("chat: %+v, %v", acc.Choices, chunks.Err())
	}
	g, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: strings.TrimSuffix(s.URL, "/v1")}})
	if err != nil {
		t.Fatal(err)
	}
	text, calls := "", 0
	for r, err := range g.Models.GenerateContentStream(t.Context(), "m", genai.Text("hi"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		calls += len(r.FunctionCalls())
		for _, p := range r.Candidates[0].Content.Parts {
			if !p.Thought {
				text += p.Text
			}
		}
	}
	if text != want || calls != 2 {
		t.Errorf("gemini: %q, %d calls", text, calls)
	}
}
