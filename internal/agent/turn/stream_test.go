package turn

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/protocol"
	"kerf/internal/testkit/modeltest"
)

// answer is what a provider sends to one request: a body that ends well or, with
// cut, breaks off; or an HTTP error.
type httpAnswer struct {
	status int
	header map[string]string
	body   string
	cut    bool
}

// provider answers request n with answer n, the last one for ever, without a
// network.
type provider struct {
	answers []httpAnswer
	asked   int
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	a := p.answers[min(p.asked, len(p.answers)-1)]
	p.asked++
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for k, v := range a.header {
		h.Set(k, v)
	}
	if a.status == 0 {
		a.status = 200
	}
	var body io.Reader = strings.NewReader(a.body)
	if a.cut {
		body = io.MultiReader(body, failing{})
	}
	return &http.Response{StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(body), Request: r, ContentLength: -1}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// converse plays one turn against answers and returns what happened.
func converse(t *testing.T, o Options, answers ...httpAnswer) (*tape, *provider) {
	t.Helper()
	p := &provider{answers: answers}
	client := openai.New(openai.Options{Name: "test", BaseURL: "http://model.invalid/v1", EnvKey: "TEST_KEY",
		HTTPClient: &http.Client{Transport: p}})
	if o.Parallel == nil {
		o.Parallel = func(c tool.Call) bool { return c.Name == "read_file" }
	}
	tp := &tape{t: t, core: New(o, nil)}
	tp.answer = func(e CallModel) (inputs []Input) {
		err := client.Stream(context.Background(), &model.Request{Model: "m", Items: e.Items}, func(c model.Chunk) error {
			inputs = append(inputs, Chunk{e.Round, c})
			return nil
		})
		return append(inputs, StreamEnded{Round: e.Round, Err: err})
	}
	tp.play(Submit{ID: "t1", Op: say("go")})
	tp.finish()
	return tp, p
}

// multi is a response with text, thoughts and several calls.
func multi() []string {
	patch := "*** Begin Patch\n*** Add File: a\n+ä\n*** End Patch\n"
	return modeltest.Render(script.Round{Items: []script.Item{
		modeltest.Reasoning("Look first."), modeltest.Message("I will look, then change."),
		modeltest.Call("read_file", map[string]string{"file_path": "a"}),
		modeltest.Call("read_file", map[string]string{"file_path": "ö"}),
		{Call: "apply_patch", Input: &patch}, modeltest.Call("exec_command", map[string]string{"cmd": "go test ./..."}),
	}, Usage: &script.Usage{Input: 10, Output: 5}}, 1)
}

var multiCalls = []protocol.CallID{"call_1_3", "call_1_4", "call_1_5", "call_1_6"}

func last() httpAnswer {
	return httpAnswer{body: strings.Join(modeltest.Render(script.Round{Items: []script.Item{modeltest.Message("done")}},
		2), "")}
}

// TestCutAtSomeBytes breaks a stream with several calls at every seventh byte, with KERF_LONG at every one; the model
// then says it all again. No call is lost and none runs twice.
func TestCutAtSomeBytes(t *testing.T) {
	body := strings.Join(multi(), "")
	step := 7
	if os.Getenv("KERF_LONG") != "" {
		step = 1
	}
	cuts := 0
	tp, _ := converse(t, Options{}, httpAnswer{body: strings.TrimSuffix(body, "\n")}, last())
	tp.whole("an answer that lacks the last line feed only")
	for n := 0; n < len(body)-1; n += step {
		tp, _ := converse(t, Options{StreamRetries: 3, RequestRetries: 3}, httpAnswer{body: body[:n], cut: n%2 == 0},
			httpAnswer{body: body}, last())
		tp.whole(fmt.Sprintf("cut at %d of %d", n, len(body)))
		if t.Failed() {
			t.Fatalf("…%q", body[max(0, n-80):n])
		}
		cuts++
	}
	t.Logf("%d cuts of a stream of %d bytes: no call lost, none twice", cuts, len(body))
}

// whole checks that the turn of multi ended well.
func (p *tape) whole(what string) {
	p.t.Helper()
	if p.ended["t1"] != 1 || p.failed != nil || p.reason != "" {
		p.t.Errorf("%s: the turn ended %d times, failed: %v", what, p.ended["t1"], p.failed)
		return
	}
	for _, id := range multiCalls {
		if p.prepared[id] != 1 {
			p.t.Errorf("%s: call %s ran %d times", what, id, p.prepared[id])
		}
	}
	if len(p.prepared) != len(multiCalls) {
		p.t.Errorf("%s: calls %v", what, p.prepared)
	}
	if msg := pairing(p.core.items); msg != "" {
		p.t.Errorf("%s: %s", what, msg)
	}
	if !p.knows("I will look, then change.") || !p.knows("done") {
		p.t.Errorf("%s: a message is lost", what)
	}
	if len(p.open) > 0 {
		p.t.Errorf("%s: items left open: %v", what, p.open)
	}
	p.rebuilt()
}

// TestOddEvents sends events twice, unknown, empty and malformed ones, at every
// place in a stream.
func TestOddEvents(t *testing.T) {
	events := multi()
	odd := map[string]string{
		"unknown event": "event: response.mystery\ndata: {\"type\":\"response.mystery\",\"x\":[1,2]}\n\n",
		"comment":       ": keep-alive\n\n",
		"empty event":   "event: response.output_text.delta\n\n",
		"delta of nothing": "event: response.output_text.delta\n" +
			"data: {\"type\":\"response.output_text.delta\",\"output_index\":99,\"delta\":\"\"}\n\n",
		"item of no kind": "event: response.output_item.done\n" +
			"data: {\"type\":\"response.output_item.done\",\"output_index\":77,\"item\":{\"type\":\"mystery\"}}\n\n",
		"large unknown event": "event: response.big\ndata: {\"type\":\"response.big\",\"x\":\"" +
			strings.Repeat("y", 1<<16) + "\"}\n\n",
	}
	n := 0
	for name, ev := range odd {
		for i := 0; i <= len(events)-1; i++ {
			body := strings.Join(slices.Insert(slices.Clone(events), i, ev), "")
			tp, p := converse(t, Options{StreamRetries: 2}, httpAnswer{body: body}, last())
			tp.whole(fmt.Sprintf("%s before event %d", name, i))
			if p.asked != 2 {
				t.Errorf("%s before event %d: %d requests, want 2", name, i, p.asked)
			}
			n++
		}
	}
	for i := range events {
		body := strings.Join(slices.Insert(slices.Clone(events), i, events[i]), "")
		tp, _ := converse(t, Options{StreamRetries: 2}, httpAnswer{body: body}, httpAnswer{body: strings.Join(events, "")},
			last())
		if tp.ended["t1"] != 1 || tp.failed != nil {
			t.Errorf("event %d twice: %v", i, tp.failed)
		}
		for id, times := range tp.prepared {
			if times != 1 {
				t.Errorf("event %d twice: call %s ran %d times", i, id, times)
			}
		}
		n++
	}
	// A malformed event spoils the stream; the request is made again.
	for i := range events[:len(events)-1] {
		body := strings.Join(slices.Insert(slices.Clone(events), i,
			"event: response.output_item.done\ndata: {\"type\": \"response.outp\n\n"), "")
		tp, _ := converse(t, Options{StreamRetries: 2, RequestRetries: 2}, httpAnswer{body: body},
			httpAnswer{body: strings.Join(events, "")}, last())
		tp.whole(fmt.Sprintf("malformed before event %d", i))
		n++
	}
	t.Logf("%d streams with odd events", n)
}

// TestFailureTable says for every way a request fails what follows.
func TestFailureTable(t *testing.T) {
	fault := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%q}}`, message, code, code)
	}
	tests := []struct {
		name   string
		first  httpAnswer
		asked  int // requests until the end
		kind   protocol.TroubleKind
		says   string // in message or hint
		passed bool
	}{
		{"408", httpAnswer{status: 408, body: fault("timeout", "slow")}, 2, "", "", true},
		{"429", httpAnswer{status: 429, body: fault("rate_limit_exceeded", "slow down")}, 2, "", "", true},
		{"429 with Retry-After", httpAnswer{status: 429, header: map[string]string{"Retry-After": "2"}, body: fault("rate_limit_exceeded", "slow down")}, 2, "", "", true},
		{"429 with a day to wait", httpAnswer{status: 429, header: map[string]string{"Retry-After": "86400"}, body: fault("rate_limit_exceeded", "slow down")}, 1, protocol.TroubleServer, "wait", false},
		{"500", httpAnswer{status: 500, body: "oops"}, 2, "", "", true},
		{"503 with Retry-After", httpAnswer{status: 503, header: map[string]string{"Retry-After": "1"}, body: "busy"}, 2, "", "", true},
		{"400", httpAnswer{status: 400, body: fault("invalid_request_error", "the words of the server")}, 1, protocol.TroubleRequest, "the words of the server", false},
		{"401", httpAnswer{status: 401, body: fault("invalid_api_key", "bad key")}, 1, protocol.TroubleAuth, "TEST_KEY", false},
		{"403", httpAnswer{status: 403, body: fault("forbidden", "not for you")}, 1, protocol.TroubleAuth, "not for you", false},
		{"quota", httpAnswer{status: 429, body: fault("insufficient_quota", "no credit")}, 1, protocol.TroubleQuota, "no credit", false},
		{"context length", httpAnswer{status: 400, body: fault("context_length_exceeded", "too long")}, 1, protocol.TroubleContext, "too long", false},
		{"empty stream", httpAnswer{body: ""}, 2, "", "", true},
	}
	for _, tt := range tests {
		tp, p := converse(t, Options{StreamRetries: 2, RequestRetries: 2}, tt.first, last())
		if p.asked != tt.asked || tp.ended["t1"] != 1 {
			t.Errorf("%s: %d requests, want %d; the turn ended %d times", tt.name, p.asked, tt.asked, tp.ended["t1"])
		}
		if tt.passed != (tp.failed == nil) {
			t.Errorf("%s: failed: %+v", tt.name, tp.failed)
			continue
		}
		if tp.failed != nil && (tp.failed.Kind != tt.kind ||
			!strings.Contains(tp.failed.Message+" "+tp.failed.Hint, tt.says)) {
			t.Errorf("%s: %+v, want kind %s and %q", tt.name, tp.failed, tt.kind, tt.says)
		}
		if tp.failed != nil && tp.failed.Kind != protocol.TroubleRequest && tp.failed.Hint == "" {
			t.Errorf("%s: no step to take: %+v", tt.name, tp.failed)
		}
	}
}

// TestRetryAfterIsKept wants the wait that the provider asked for.
func TestRetryAfterIsKept(t *testing.T) {
	c := New(Options{RequestRetries: 2}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	r := c.Step(StreamEnded{Round: 1, Err: &model.Error{Kind: model.RateLimit, Message: "slow",
		RetryAfter: 7 * time.Second}})
	if w, ok := r.Effects[0].(Wait); !ok || w.Delay != 7*time.Second || w.Jitter {
		t.Errorf("effects %+v, want a wait of 7 s as it is", r.Effects)
	}
}
