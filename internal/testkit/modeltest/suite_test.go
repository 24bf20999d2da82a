package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/chat"
	"kerf/internal/model/gemini"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

const secret = "sk-planted-0123456789abcdef"

// client is the real client of a protocol, pointed at a server.
func client(api dialect.API, s *mt.Server) model.Client {
	o := wire.Options{Name: "test", BaseURL: s.URL, Key: wire.StaticKey(secret), EnvKey: "TEST_API_KEY",
		IdleTimeout: 10 * time.Second}
	switch api {
	case dialect.Chat:
		return chat.New(chat.Options{Options: o, Lenient: true})
	case dialect.Anthropic:
		return anthropic.New(anthropic.Options{Options: o})
	case dialect.Gemini:
		return gemini.New(o)
	}
	return openai.New(o)
}

// modelOf is a model whose facts have the protocol do all it can.
func modelOf(api dialect.API) string {
	return map[dialect.API]string{dialect.Responses: "gpt-5", dialect.Chat: "some-model",
		dialect.Anthropic: "claude-sonnet-4-6", dialect.Gemini: "gemini-3-pro"}[api]
}

// talk is a conversation over one client.
type talk struct {
	t      *testing.T
	api    dialect.API
	server *mt.Server
	client model.Client
	items  []*model.Item
}

func newTalk(t *testing.T, api dialect.API, rounds ...mt.Round) *talk {
	s := mt.Start(t, rounds...)
	return &talk{t: t, api: api, server: s, client: client(api, s)}
}

var tools = []model.Tool{
	{Name: "read_file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}`)},
	{Name: "apply_patch", Description: "patches", Grammar: "start: /.+/"},
}

func (c *talk) request() *model.Request {
	return &model.Request{Model: modelOf(c.api), Instructions: "Be brief.", Items: slices.Clone(c.items), Tools: tools,
		Parallel: true, CacheKey: "s"}
}

// ask sends what was said so far and returns the chunks.
func (c *talk) ask(ctx context.Context) ([]model.Chunk, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var chunks []model.Chunk
	err := c.client.Stream(ctx, c.request(), func(ch model.Chunk) error {
		chunks = append(chunks, ch)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		c.t.Error("the stream hangs")
	}
	return chunks, err
}

// say sends words of the user and takes the answer into the conversation; every
// call gets its output.
func (c *talk) say(text string) []*model.Item {
	c.t.Helper()
	if text != "" {
		c.items = append(c.items, model.UserText(text))
	}
	chunks, err := c.ask(c.t.Context())
	if err != nil {
		c.t.Fatalf("%s: %v", c.api, err)
	}
	checkOrder(c.t, chunks, true)
	got := done(chunks)
	c.items = append(c.items, got...)
	for _, i := range got {
		if i.Kind == model.Call {
			c.items = append(c.items, model.OutputText(i, "output of "+i.Name))
		}
	}
	return got
}

func done(chunks []model.Chunk) []*model.Item {
	var items []*model.Item
	for _, ch := range chunks {
		if d, ok := ch.(model.ItemDone); ok {
			items = append(items, d.Item)
		}
	}
	return items
}

// checkOrder holds the laws of chunks: Started first, deltas within their item,
// an item done once and equal to its deltas, Done last.
func checkOrder(t *testing.T, chunks []model.Chunk, whole bool) {
	t.Helper()
	grown, ended := map[int]string{}, map[int]bool{}
	add := func(i int, s string) {
		if ended[i] {
			t.Errorf("a delta of item %d after its end", i)
		}
		grown[i] += s
	}
	for n, ch := range chunks {
		if _, ok := ch.(model.Started); ok != (n == 0) {
			t.Errorf("chunk %d is %T", n, ch)
		}
		switch ch := ch.(type) {
		case model.TextDelta:
			add(ch.Index, ch.Text)
		case model.ReasoningDelta:
			add(ch.Index, ch.Text)
		case model.InputDelta:
			add(ch.Index, ch.Text)
		case model.ItemDone:
			if ended[ch.Index] {
				t.Errorf("item %d is done twice", ch.Index)
			}
			ended[ch.Index] = true
			want := ch.Item.Text() + strings.Join(ch.Item.Summary, "") + ch.Item.Input
			if g := grown[ch.Index]; g != "" && strings.TrimSpace(g) != strings.TrimSpace(want) {
				t.Errorf("item %d grew to %q and is %q", ch.Index, g, want)
			}
		case model.Done:
			if n != len(chunks)-1 {
				t.Error("chunks after Done")
			}
		}
	}
	if _, ok := chunks[len(chunks)-1].(model.Done); ok != whole {
		t.Errorf("Done at the end: %v, want %v", ok, whole)
	}
}

// shape is what of items every protocol must agree on.
func shape(items []*model.Item) []string {
	var all []string
	for _, i := range items {
		switch i.Kind {
		case model.Reasoning:
			all = append(all, "thought "+strings.Join(i.Summary, ""))
		case model.Call:
			all = append(all, fmt.Sprintf("call %s %s %s", i.CallID, i.Name, wire.Object(i)))
		default:
			all = append(all, "said "+i.Text())
		}
	}
	return all
}

func want(t *testing.T, got []*model.Item, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, shape(got)); d != "" {
		t.Errorf("items (-want +got):\n%s", d)
	}
}

// cases are one conversation each; every protocol must pass them all.
var cases = []struct {
	name string
	run  func(t *testing.T, api dialect.API)
}{
	{"text", caseText}, {"usage", caseUsage}, {"tools", caseTools}, {"parallel tools", caseParallel}, {"freeform tools", caseFreeform},
	{"images", caseImages}, {"reasoning", caseReasoning}, {"errors", caseErrors}, {"errors in the stream", caseStreamErrors},
	{"cut streams", caseCut}, {"cut at every byte", caseCutBytes}, {"cancel", caseCancel}, {"long history", caseLong},
	{"model switch", caseSwitch}, {"broken answer goes on", caseGoOn}, {"secrets", caseSecrets},
}

// TestConversations is the table of protocol and case.
func TestConversations(t *testing.T) {
	passed := map[string]bool{}
	for _, api := range dialect.All() {
		t.Run(string(api), func(t *testing.T) {
			for _, c := range cases {
				passed[string(api)+c.name] = t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) { c.run(t, api) })
			}
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", "case")
	for _, api := range dialect.All() {
		fmt.Fprintf(&b, "%-11s", api)
	}
	for _, c := range cases {
		fmt.Fprintf(&b, "\n%-24s", c.name)
		for _, api := range dialect.All() {
			word := "FAIL"
			if passed[string(api)+c.name] {
				word = "ok"
			}
			fmt.Fprintf(&b, "%-11s", word)
		}
	}
	t.Log("\n" + b.String())
}

func caseText(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Message("Grüße — \"zwei\" Zeilen\nund <xml>.")), mt.Answer(mt.Message("Yes.")))
	want(t, c.say("hi"), "said Grüße — \"zwei\" Zeilen\nund <xml>.")
	want(t, c.say("again"), "said Yes.")
	input := c.server.Request(t, 1).Messages("user")
	if d := cmp.Diff([]string{"hi", "again"}, input); d != "" {
		t.Error(d)
	}
}

func caseUsage(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Message("x")).With("x-ratelimit-remaining-requests", "7"))
	c.items = []*model.Item{model.UserText("hi")}
	chunks, err := c.ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := chunks[len(chunks)-1].(model.Done)
	if d := cmp.Diff(&model.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}, last.Usage); d != "" {
		t.Error(d)
	}
	if l, ok := chunks[1].(model.Limits); !ok || l.Values["x-ratelimit-remaining-requests"] != "7" {
		t.Errorf("no limits: %v", chunks[1])
	}
}

func caseTools(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Message("I look."), mt.Call("read_file", mt.M{"file_path": "ä b.txt"})),
		mt.Answer(mt.Message("Done.")))
	want(t, c.say("hi"), "said I look.", `call call_1_2 read_file {"file_path":"ä b.txt"}`)
	want(t, c.say(""), "said Done.")
	if out, ok := c.server.Request(t, 1).Output("call_1_2"); !ok || out != "output of read_file" {
		t.Errorf("output %q, %v", out, ok)
	}
	if d := cmp.Diff([]string{"read_file", "apply_patch"}, c.server.Request(t, 0).Tools()); d != "" {
		t.Error(d)
	}
}

func caseParallel(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Call("read_file", mt.M{"file_path": "a"}),
		mt.Call("read_file", mt.M{"file_path": "b"}),
		mt.Call("read_file", mt.M{})), mt.Answer(mt.Message("Done.")))
	want(t, c.say("hi"), `call call_1_1 read_file {"file_path":"a"}`, `call call_1_2 read_file {"file_path":"b"}`,
		`call call_1_3 read_file {}`)
	c.say("")
	if outs := c.server.Request(t, 1).Outputs(); len(outs) != 3 {
		t.Errorf("outputs %q", outs)
	}
}

// Freeform calls of a history made elsewhere are told as calls with an input.
func caseFreeform(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Freeform("apply_patch", "*** Begin Patch\n*** End Patch")),
		mt.Answer(mt.Message("Done.")))
	got := c.say("hi")
	if len(got) != 1 || wire.Object(got[0]) != `{"input":"*** Begin Patch\n*** End Patch"}` {
		t.Errorf("got %v", shape(got))
	}
	c.say("")
	input := string(c.server.Request(t, 1).Body)
	if !strings.Contains(input, `*** Begin Patch\n*** End Patch`) &&
		!strings.Contains(input, `*** Begin Patch\\n*** End Patch`) {
		t.Errorf("the call is not in %s", input)
	}
}

func caseImages(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Call("read_file", mt.M{"file_path": "a.png"})), mt.Answer(mt.Message("A cat.")))
	c.items = append(c.items, &model.Item{Kind: model.Message, Role: "user",
		Content: []model.Part{{Text: "what is this?"}, {ImageURL: "data:image/png;base64,QUJD"}}})
	got := c.say("")
	out := c.items[len(c.items)-1]
	out.Content = append(out.Content, model.Part{ImageURL: "data:image/jpeg;base64,REVG"})
	c.say("")
	first, second := string(c.server.Request(t, 0).Body), string(c.server.Request(t, 1).Body)
	if !strings.Contains(first, "QUJD") || !strings.Contains(first, "image/png") {
		t.Errorf("no image in %s", first)
	}
	if !strings.Contains(second, "REVG") || !strings.Contains(second, "image/jpeg") || len(got) != 1 {
		t.Errorf("no image of the tool in %s", second)
	}
}

// What was thought goes back with the calls it led to.
func caseReasoning(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Reasoning("Let me think."), mt.Call("read_file", mt.M{"file_path": "a"})),
		mt.Answer(mt.Message("Done.")))
	want(t, c.say("hi"), "thought Let me think.", `call call_1_2 read_file {"file_path":"a"}`)
	c.say("")
	sign := map[dialect.API]string{dialect.Responses: `"encrypted_content":"sealed item_1_1"`,
		dialect.Chat:      `"reasoning_content":"Let me think."`,
		dialect.Anthropic: `{"type":"thinking","thinking":"Let me think.","signature":"sealed item_1_1"}`,
		dialect.Gemini:    `"thoughtSignature":"c2VhbGVkIGl0ZW1fMV8x"`}[api]
	if body := string(c.server.Request(t, 1).Body); !strings.Contains(body, sign) {
		t.Errorf("no %s in %s", sign, body)
	}
}

func caseErrors(t *testing.T, api dialect.API) {
	kinds := []model.ErrorKind{model.Auth, model.Quota, model.BadCall, model.Context, model.RateLimit, model.Server,
		model.Network}
	for _, kind := range kinds {
		c := newTalk(t, api, mt.Play(script.Round{Error: &script.Failure{Kind: kind, Message: "told so by the server",
			RetryAfter: 2}}))
		c.items = []*model.Item{model.UserText("hi")}
		_, err := c.ask(t.Context())
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", kind, err)
		}
		got := e.Kind
		if kind == model.Network {
			if got = model.Network; e.Kind != model.Network && e.Kind != model.Broken {
				t.Errorf("network: %v", e)
			}
		} else if !strings.Contains(e.Message, "told so by the server") {
			t.Errorf("%s: message %q", kind, e.Message)
		}
		if got != kind {
			t.Errorf("kind %s, want %s (%v)", got, kind, e)
		}
		if kind == model.RateLimit && e.RetryAfter != 2*time.Second {
			t.Errorf("retry after %v", e.RetryAfter)
		}
	}
}

func caseStreamErrors(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Play(script.Round{Items: []script.Item{mt.Message("Half")},
		Error: &script.Failure{Kind: model.Server, Message: "overloaded now"}}))
	c.items = []*model.Item{model.UserText("hi")}
	_, err := c.ask(t.Context())
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.Server || !e.Began || !strings.Contains(e.Message, "overloaded now") {
		t.Errorf("err = %#v", err)
	}
}

func conversationRound() mt.Round {
	return mt.Answer(mt.Reasoning("Thinking it over."), mt.Message("I will look — und dann."),
		mt.Call("read_file", mt.M{"file_path": "ä.txt"}), mt.Call("read_file", mt.M{"file_path": "b"}))
}

// A stream that stops after any event delivers whole items or none, and says
// that it broke unless the model had said that it was done.
func caseCut(t *testing.T, api dialect.API) {
	events := api.Render(*conversationRound().Script, 1)
	s := mt.Start(t)
	full := newTalk(t, api, mt.Raw(events...))
	full.items = []*model.Item{model.UserText("hi")}
	wholeChunks, err := full.ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := shape(done(wholeChunks))
	c := &talk{t: t, api: api, server: s, client: client(api, s), items: full.items}
	for n := range len(events) {
		s.Add(mt.Raw(events[:n]...))
		chunks, err := c.ask(t.Context())
		got := shape(done(chunks))
		if len(got) > len(whole) || !cmp.Equal(got, whole[:len(got)]) && len(got) > 0 {
			t.Fatalf("after %d events: %q is no beginning of %q", n, got, whole)
		}
		if err == nil && len(got) != len(whole) {
			t.Fatalf("after %d events: no error, but only %q", n, got)
		}
		var e *model.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != model.Broken) {
			t.Fatalf("after %d events: %v", n, err)
		}
	}
}

func caseCutBytes(t *testing.T, api dialect.API) {
	body := strings.Join(api.Render(*mt.Answer(mt.Message("Ändern."), mt.Call("read_file", mt.M{"a": "b\\\"é"})).Script,
		1), "")
	s := mt.Start(t)
	c := &talk{t: t, api: api, server: s, client: client(api, s), items: []*model.Item{model.UserText("hi")}}
	for n := 0; n < len(body); n += 3 {
		s.Add(mt.Raw(body).Cut(n))
		chunks, err := c.ask(t.Context())
		for _, i := range done(chunks) {
			if i.Kind == model.Call && i.Input != `{"a":"b\\\"é"}` || i.Kind == model.Message && i.Text() != "Ändern." {
				t.Fatalf("cut at %d: %q", n, shape(done(chunks)))
			}
		}
		if err == nil && len(done(chunks)) != 2 {
			t.Fatalf("cut at %d of %d: no error", n, len(body))
		}
	}
}

func caseCancel(t *testing.T, api dialect.API) {
	body := strings.Join(api.Render(*conversationRound().Script, 1), "")
	c := newTalk(t, api, mt.Raw(body).Stall(len(body)/2))
	c.items = []*model.Item{model.UserText("hi")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.client.Stream(ctx, c.request(), func(ch model.Chunk) error {
		if _, ok := ch.(model.TextDelta); ok {
			cancel()
		}
		if _, ok := ch.(model.ReasoningDelta); ok {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	stop := errors.New("stop")
	c.server.Add(mt.Raw(body))
	if err := c.client.Stream(t.Context(), c.request(), func(model.Chunk) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("err of emit = %v", err)
	}
}

// messagesOf are the bytes of the conversation in a body, without cache marks.
func messagesOf(t *testing.T, api dialect.API, body []byte) string {
	t.Helper()
	name := map[dialect.API]string{dialect.Responses: "input", dialect.Gemini: "contents"}[api]
	if name == "" {
		name = "messages"
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	s := string(m[name])
	if api == dialect.Anthropic {
		s = strings.ReplaceAll(s, `,"cache_control":{"type":"ephemeral"}`, "")
	}
	return strings.TrimSuffix(s, "]")
}

// Request n+1 begins with request n, byte for byte, however long it gets.
func caseLong(t *testing.T, api dialect.API) {
	const turns = 40
	c := newTalk(t, api)
	for n := range turns {
		c.server.Add(mt.Answer(mt.Reasoning("r"), mt.Message(fmt.Sprintf("m%d", n)), mt.Call("read_file", mt.M{"n": n}),
			mt.Call("read_file", mt.M{"k": n})),
			mt.Answer(mt.Message("ok")))
		c.say(fmt.Sprintf("turn %d", n))
		c.say("")
	}
	before := ""
	for n, r := range c.server.Requests() {
		now := messagesOf(t, api, r.Body)
		if !strings.HasPrefix(now, before) || now == before {
			t.Fatalf("request %d does not begin with the one before:\n%s\n%s", n+1, before, now)
		}
		before = now
	}
	fresh := client(api, c.server)
	c.server.Add(mt.Answer(mt.Message("x")), mt.Answer(mt.Message("x")))
	c.items = append(c.items, model.UserText("last"))
	for _, cl := range []model.Client{c.client, fresh} {
		c.client = cl
		if _, err := c.ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := c.server.Requests()
	if d := cmp.Diff(string(all[len(all)-2].Body), string(all[len(all)-1].Body)); d != "" {
		t.Errorf("a new client writes another request: %s", d)
	}
}

// A conversation begun over any other protocol goes on over this one.
func caseSwitch(t *testing.T, api dialect.API) {
	for _, other := range dialect.All() {
		if other == api {
			continue
		}
		a := newTalk(t, other, conversationRound(), mt.Answer(mt.Freeform("apply_patch", "p")))
		a.say("hi")
		a.say("")
		b := newTalk(t, api, mt.Answer(mt.Message("Done.")))
		b.items = slices.Clone(a.items)
		want(t, b.say(""), "said Done.")
		r := b.server.Request(t, 0)
		if body := string(r.Body); strings.Contains(body, "sealed item") || strings.Contains(body, "c2VhbGVk") ||
			strings.Contains(body, "reasoning_content") {
			t.Errorf("%s: reasoning of %s goes along: %s", api, other, body)
		}
		if outs := r.Outputs(); len(outs) != 3 {
			t.Errorf("%s after %s: outputs %q", api, other, outs)
		}
	}
}

// An answer that a broken stream left half is not the end of a request.
func caseGoOn(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.Answer(mt.Message("and the rest")))
	c.items = []*model.Item{model.UserText("hi"),
		{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "half"}}}}
	want(t, c.say(""), "said and the rest")
	if api == dialect.Responses {
		return // the protocol takes it as it is
	}
	input := c.server.Request(t, 0).Input()
	if last := input[len(input)-1]; last["role"] != "user" {
		t.Errorf("the last item is %v", last)
	}
}

// The key is in the header and nowhere else.
func caseSecrets(t *testing.T, api dialect.API) {
	c := newTalk(t, api, mt.HTTP(401, `{"error":{"message":"bad key `+secret+`"}}`))
	c.items = []*model.Item{model.UserText("hi")}
	_, err := c.ask(t.Context())
	if err == nil || strings.Contains(fmt.Sprintf("%+v", err), secret) {
		t.Errorf("err = %v", err)
	}
	var e *model.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "TEST_API_KEY") {
		t.Errorf("hint of %v", err)
	}
	r := c.server.Request(t, 0)
	header := fmt.Sprint(r.Header)
	if !strings.Contains(header, secret) || strings.Contains(string(r.Body), secret) ||
		strings.Contains(r.Query.Encode(), secret) {
		t.Errorf("the key went elsewhere: %s %s", r.Query.Encode(), r.Body)
	}
}
