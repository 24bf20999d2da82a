package openai_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kerf/internal/model"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
	"kerf/internal/testkit/race"
)

const key = "sk-secret-0123456789"

func options(url string) openai.Options {
	return openai.Options{Name: "test", BaseURL: url, Key: wire.StaticKey(key), EnvKey: "TEST_API_KEY",
		IdleTimeout: 10 * time.Second}
}

func request(items ...*model.Item) *model.Request {
	return &model.Request{Model: "m", Instructions: "i", Items: items, CacheKey: "s"}
}

// stream collects the chunks of one request. A test that hangs fails.
func stream(t *testing.T, c *openai.Client, r *model.Request) ([]model.Chunk, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var chunks []model.Chunk
	err := c.Stream(ctx, r, func(c model.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the stream hangs")
	}
	return chunks, err
}

// failure is stream's error, which must be a *model.Error without the key.
func failure(t *testing.T, c *openai.Client) *model.Error {
	t.Helper()
	_, err := stream(t, c, request(model.UserText("hi")))
	return asModel(t, err)
}

func asModel(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %#v, want a *model.Error", err)
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if strings.Contains(fmt.Sprintf("%v %+v", cause, cause), key) {
			t.Errorf("the key is in the error: %+v", cause)
		}
	}
	return e
}

var noCause = cmpopts.IgnoreFields(model.Error{}, "Err")

func items(chunks []model.Chunk) []*model.Item {
	var all []*model.Item
	for _, c := range chunks {
		if d, ok := c.(model.ItemDone); ok {
			all = append(all, d.Item)
		}
	}
	return all
}

func conversation() mt.Round {
	return mt.Answer(mt.Reasoning("Thinking it over."), mt.Message("I will look — und dann ändern."),
		mt.Call("read_file", mt.M{"file_path": "ä.txt"}), mt.Freeform("apply_patch", "*** Begin Patch\n*** End Patch\n"),
		script.Item{Call: "x", Style: "shell", Args: []byte(`{"command":["ls"]}`)})
}

func TestRoundTrip(t *testing.T) {
	s := mt.Start(t, conversation().With("X-RateLimit-Remaining-Requests", "9").With("X-Other", "1"),
		mt.Answer(mt.Message("Done.")))
	o := options(s.URL + "/?api-version=1")
	o.Headers = map[string]string{"X-Title": "kerf"}
	o.QueryParams = map[string]string{"extra": "a b"}
	c := openai.New(o)
	history := []*model.Item{model.UserText("hi")}
	chunks, err := stream(t, c, request(history...))
	if err != nil {
		t.Fatal(err)
	}
	want := []*model.Item{
		{Kind: model.Reasoning, ID: "item_1_1", Summary: []string{"Thinking it over."}, Encrypted: "sealed item_1_1"},
		{Kind: model.Message, ID: "item_1_2", Role: "assistant", Content: []model.Part{{Text: "I will look — und dann ändern."}}},
		{Kind: model.Call, ID: "item_1_3", CallID: "call_1_3", Name: "read_file", Style: model.Function, Input: `{"file_path":"ä.txt"}`},
		{Kind: model.Call, ID: "item_1_4", CallID: "call_1_4", Name: "apply_patch", Style: model.Freeform, Input: "*** Begin Patch\n*** End Patch\n"},
		{Kind: model.Call, ID: "item_1_5", CallID: "call_1_5", Name: "local_shell", Style: model.Shell, Input: `{"command":["ls"]}`},
	}
	got := items(chunks)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("items (-want +got):\n%s", d)
	}
	ends := []model.Chunk{chunks[0], chunks[1], chunks[len(chunks)-1]}
	wantEnds := []model.Chunk{model.Started{ResponseID: "resp_1"},
		model.Limits{Values: map[string]string{"x-ratelimit-remaining-requests": "9"}},
		model.Done{ResponseID: "resp_1", Usage: &model.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}}}
	if d := cmp.Diff(wantEnds, ends); d != "" {
		t.Errorf("first and last chunks (-want +got):\n%s", d)
	}
	history = append(history, got...)
	for _, i := range got[2:] {
		history = append(history, model.OutputText(i, "output of "+i.CallID))
	}
	if _, err := stream(t, c, request(history...)); err != nil {
		t.Fatal(err)
	}
	first, second := s.Request(t, 0), s.Request(t, 1)
	if first.Path != "/v1/responses" || first.Query.Get("api-version") != "1" || first.Query.Get("extra") != "a b" {
		t.Errorf("posted to %s?%s", first.Path, first.Query.Encode())
	}
	if first.Remote != second.Remote {
		t.Error("the connection was not used again")
	}
	wantHeader := map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json",
		"Accept":  "text/event-stream",
		"X-Title": "kerf", "Content-Encoding": "", "Accept-Encoding": "identity"}
	for name, value := range wantHeader {
		if got := first.Header.Get(name); got != value {
			t.Errorf("header %s = %q, want %q", name, got, value)
		}
	}
	if out, ok := second.Output("call_1_4"); !ok || out != "output of call_1_4" {
		t.Errorf("output of call_1_4: %q, %v", out, ok)
	}
	if len(second.Outputs()) != 3 || !strings.Contains(string(second.Body), `"encrypted_content":"sealed item_1_1"`) {
		t.Errorf("second request: %s", second.Body)
	}
	begin := inputOf(t, first.Body)
	if !strings.HasPrefix(inputOf(t, second.Body), begin) {
		t.Errorf("the second input does not begin with the first:\n%s\n%s", first.Body, second.Body)
	}
}

// inputOf is the text of the items of a body.
func inputOf(t *testing.T, body []byte) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(body), `"input":[`)
	input, _, ok2 := strings.Cut(rest, `],"tools":[`)
	if !ok || !ok2 {
		t.Fatalf("no input in %s", body)
	}
	return input
}

// SEC D1: a stream cut at any byte delivers items that are whole or none, ends
// in an error that says so, and delivers what the whole stream would.
func TestSEC_D1_CutAtEveryByte(t *testing.T) {
	round := mt.Answer(mt.Message("Ändern."), mt.Call("f", mt.M{"a": "b\\\"é"}))
	body := strings.Join(mt.Render(*round.Script, 1), "")
	var cuts []mt.Round
	for n := range len(body) {
		cuts = append(cuts, mt.Raw(body).Cut(n))
	}
	s := mt.Start(t, append(cuts, mt.Raw(body))...)
	c := openai.New(options(s.URL))
	var all [][]model.Chunk
	whole := strings.LastIndex(body, "\n\n")
	for n := range len(body) {
		chunks, err := stream(t, c, request())
		all = append(all, chunks)
		if err == nil {
			// Only the closing blank line may miss.
			if n < whole {
				t.Fatalf("cut at %d of %d: no error", n, len(body))
			}
			continue
		}
		e := asModel(t, err)
		if e.Kind != model.Broken || !strings.Contains(e.Message, "stream closed before response.completed") {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if e.Began != (len(chunks) > 0) {
			t.Fatalf("cut at %d: began %v after %d chunks", n, e.Began, len(chunks))
		}
	}
	want, err := stream(t, c, request())
	if err != nil {
		t.Fatal(err)
	}
	for n, chunks := range all {
		if len(chunks) > len(want) || !cmp.Equal(want[:len(chunks)], chunks, cmpopts.EquateEmpty()) {
			t.Fatalf("cut at %d: chunks are not the beginning of the whole:\n%s", n, cmp.Diff(want, chunks))
		}
	}
}

// The same when the end looks clean: the body simply stops.
func TestSEC_D1_CleanEndAtEveryByte(t *testing.T) {
	body := strings.Join(mt.Render(*mt.Answer(mt.Call("f", mt.M{"a": "b\\\"é"})).Script, 1), "")
	item := strings.Index(body, "response.output_item.done")
	itemEnd := item + strings.Index(body[item:], "\n\n")
	s := mt.Start(t)
	c := openai.New(options(s.URL))
	for n := range len(body) {
		s.Add(mt.Raw(body[:n]))
		chunks, err := stream(t, c, request())
		if got := len(items(chunks)); got != 0 && n <= itemEnd {
			t.Fatalf("body of %d bytes delivers %d items", n, got)
		}
		if err == nil && n < len(body)-1 {
			t.Fatalf("body of %d of %d bytes: no error", n, len(body))
		}
	}
}

// SEC D2, over the wire: every event twice, and two neighbours exchanged.
func TestSEC_D2_RepeatedAndExchanged(t *testing.T) {
	events := mt.Render(*conversation().Script, 1)
	var twice []string
	for _, e := range events {
		twice = append(twice, e, "event: odd.event\ndata: {\"type\":\"odd.event\"}\n\n", e)
	}
	rounds := []mt.Round{mt.Raw(twice...), mt.Raw(append(events, events...)...)}
	for i := range len(events) - 2 {
		swapped := append([]string(nil), events...)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		rounds = append(rounds, mt.Raw(swapped...))
	}
	for i := range len(events) - 1 {
		rounds = append(rounds, mt.Raw(append(append([]string(nil), events[:i]...), events[i+1:]...)...))
	}
	s := mt.Start(t, rounds...)
	c := openai.New(options(s.URL))
	for n := range rounds {
		chunks, err := stream(t, c, request())
		if err != nil {
			t.Fatalf("stream %d: %v", n, err)
		}
		seen := map[string]int{}
		for _, i := range items(chunks) {
			if i.Kind == model.Call {
				seen[i.CallID]++
			}
		}
		// The closing event lists all items, so that no lost event loses a call.
		if d := cmp.Diff(map[string]int{"call_1_3": 1, "call_1_4": 1, "call_1_5": 1}, seen); d != "" {
			t.Errorf("stream %d: calls (-want +got):\n%s", n, d)
		}
	}
}

// SEC D3: what servers answer instead of a stream.
func TestSEC_D3_Answers(t *testing.T) {
	words := `{"error":{"message":"no such thing","type":"invalid_request_error","code":"c"}}`
	login := "set TEST_API_KEY to a valid key, or run `kerf login`"
	tests := []struct {
		name  string
		round mt.Round
		want  model.Error
	}{
		{"401", mt.HTTP(401, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`),
			model.Error{Kind: model.Auth, Status: 401, Message: "Incorrect API key provided: [key]", Hint: login}},
		{"403 text", mt.HTTP(403, "go away\n"), model.Error{Kind: model.Auth, Status: 403, Message: "go away", Hint: login}},
		{"400", mt.HTTP(400, words), model.Error{Kind: model.BadCall, Status: 400, Message: "no such thing"}},
		{"404", mt.HTTP(404, words), model.Error{Kind: model.BadCall, Status: 404, Message: "no such thing", Hint: "check the model's name and base_url"}},
		{"422 empty", mt.HTTP(422, ""), model.Error{Kind: model.BadCall, Status: 422, Message: "unprocessable entity"}},
		{"context", mt.HTTP(400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`),
			model.Error{Kind: model.Context, Status: 400, Message: "too long", Hint: "compact the session or start a new one"}},
		{"429", mt.HTTP(429, words), model.Error{Kind: model.RateLimit, Status: 429, Message: "no such thing"}},
		{"429 seconds", mt.HTTP(429, words).With("Retry-After", "7"), model.Error{Kind: model.RateLimit, Status: 429, Message: "no such thing", RetryAfter: 7 * time.Second}},
		{"429 negative", mt.HTTP(429, words).With("Retry-After", "-7"), model.Error{Kind: model.RateLimit, Status: 429, Message: "no such thing"}},
		{"429 huge", mt.HTTP(429, words).With("Retry-After", "1e30"), model.Error{Kind: model.RateLimit, Status: 429, Message: "no such thing", RetryAfter: 365 * 24 * time.Hour}},
		{"429 date", mt.HTTP(429, words).With("Retry-After", "Sun, 01 Mar 2026 12:00:09 GMT").With("Date",
			"Sun, 01 Mar 2026 12:00:00 GMT"),
			model.Error{Kind: model.RateLimit, Status: 429, Message: "no such thing", RetryAfter: 9 * time.Second}},
		{"429 words", mt.HTTP(429, `{"error":{"message":"try again in 1.5s","code":"rate_limit_exceeded"}}`),
			model.Error{Kind: model.RateLimit, Status: 429, Message: "try again in 1.5s", RetryAfter: 1500 * time.Millisecond}},
		{"quota", mt.HTTP(429, `{"error":{"message":"no credit","code":"insufficient_quota"}}`),
			model.Error{Kind: model.Quota, Status: 429, Message: "no credit",
				Hint: "check the plan and billing of the account"}},
		{"500", mt.HTTP(500, "oops"), model.Error{Kind: model.Server, Status: 500, Message: "oops"}},
		{"503 page", mt.HTTP(503, "<html><title>Busy</title><p>x</html>").With("Retry-After-Ms", "40"),
			model.Error{Kind: model.Server, Status: 503, Message: "Busy", RetryAfter: 40 * time.Millisecond}},
		{"200 error", mt.Raw(`{"error":{"message":"hidden","code":"server_error"}}`), model.Error{Kind: model.Server, Status: 200, Message: "hidden"}},
		{"200 JSON", mt.Raw(`{"id":"r"}`), model.Error{Kind: model.BadCall, Status: 200,
			Message: "HOST answered with JSON instead of an event stream",
			Hint:    "check base_url: it may lack a path such as /v1"}},
		{"200 page", mt.Page("\n<!doctype html><title>Log in</title>"), model.Error{Kind: model.BadCall, Status: 200,
			Message: "HOST answered with a web page (Log in) instead of an event stream",
			Hint:    "check base_url: it may lack a path such as /v1"}},
		{"200 empty", mt.Raw(), model.Error{Kind: model.Broken, Message: "stream closed before response.completed: the answer is empty"}},
		{"comments only", mt.Raw(": hi\n\n"), model.Error{Kind: model.Broken, Message: "stream closed before response.completed"}},
		{"brotli", mt.Raw("\x1f\x8b").With("Content-Encoding", "br"), model.Error{Kind: model.BadCall, Status: 200,
			Message: "HOST answered in content encoding br, which was not asked for", Hint: "check base_url and proxies"}},
		{"half of gzip", mt.Raw("\x1f\x8b").With("Content-Encoding", "gzip"), model.Error{Kind: model.Broken,
			Message: "stream closed before response.completed"}},
		{"failed rate", mt.Raw(mt.Event("response.created", nil), mt.Event("response.failed",
			mt.M{"response": mt.M{"error": mt.M{"code": "rate_limit_exceeded", "message": "Please try again in 2s. " + key}}})),
			model.Error{Kind: model.RateLimit, Message: "Please try again in 2s. [key]", RetryAfter: 2 * time.Second,
				Began: true}},
		{"failed context", mt.Raw(mt.Event("response.failed",
			mt.M{"response": mt.M{"error": mt.M{"code": "context_length_exceeded", "message": "long"}}})),
			model.Error{Kind: model.Context, Message: "long", Began: true, Hint: "compact the session or start a new one"}},
		{"failed prompt", mt.Raw(mt.Event("response.failed",
			mt.M{"response": mt.M{"error": mt.M{"code": "invalid_prompt", "message": "no"}}})),
			model.Error{Kind: model.BadCall, Message: "no", Began: true}},
		{"error event", mt.Raw(mt.Event("error", mt.M{"code": "server_is_overloaded", "message": "busy"})),
			model.Error{Kind: model.Server, Message: "busy", Began: true}},
		{"redirect", mt.HTTP(302, "").With("Location", "http://elsewhere.invalid/x?y"),
			model.Error{Kind: model.BadCall, Status: 302,
				Message: "HOST redirects to http://elsewhere.invalid; not followed, because that would send the key there",
				Hint:    "set base_url to the address that answers"}},
	}
	var rounds []mt.Round
	for _, tt := range tests {
		rounds = append(rounds, tt.round)
	}
	s := mt.Start(t, rounds...)
	c := openai.New(options(s.URL))
	host := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/v1")
	for _, tt := range tests {
		got := failure(t, c)
		got.Message = strings.ReplaceAll(got.Message, host, "HOST")
		if d := cmp.Diff(&tt.want, got, noCause); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// SEC D3: the key goes to no other host, whatever the redirect, and a redirect
// at the same host repeats the request.
func TestSEC_D3_Redirects(t *testing.T) {
	other := mt.Start(t, mt.Answer(mt.Message("gotcha")))
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := mt.Start(t, mt.HTTP(status, "").With("Location", other.URL+"/responses"))
		if e := failure(t, openai.New(options(s.URL))); e.Kind != model.BadCall || e.Status != status {
			t.Errorf("%d: %v", status, e)
		}
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
	s := mt.Start(t, mt.HTTP(307, "").With("Location", "/v1/moved"), mt.Answer(mt.Message("here")))
	if _, err := stream(t, openai.New(options(s.URL)), request()); err != nil {
		t.Error(err)
	}
	if a, b := s.Request(t, 0), s.Request(t, 1); !bytes.Equal(a.Body, b.Body) || b.Path != "/v1/moved" {
		t.Errorf("%s: body %s, want %s", b.Path, b.Body, a.Body)
	}
	loop := mt.Start(t, mt.HTTP(307, "").With("Location", "/v1/responses"))
	loop.Repeat = true
	if e := failure(t, openai.New(options(loop.URL))); e.Kind != model.BadCall || len(loop.Requests()) > 5 {
		t.Errorf("loop: %v after %d requests", e, len(loop.Requests()))
	}
}

func TestLongErrorBodyIsCut(t *testing.T) {
	s := mt.Start(t, mt.HTTP(500, strings.Repeat("é", 5000)), mt.HTTP(500, strings.Repeat("x", 8<<20)))
	c := openai.New(options(s.URL))
	for range 2 {
		if e := failure(t, c); len(e.Message) > 4000 || len(e.Message) < 3900 {
			t.Errorf("message of %d bytes", len(e.Message))
		}
	}
}

// SEC D4: silence, before or after the headers and within a line, ends in time.
func TestSEC_D4_IdleTimeout(t *testing.T) {
	body := strings.Join(mt.Render(*conversation().Script, 1), "")
	tests := []struct {
		name  string
		round mt.Round
		kind  model.ErrorKind
		words string
	}{
		{"before the headers", mt.Raw(body).Late(time.Hour), model.Network, "no answer from "},
		{"after the headers", mt.Raw(body).Stall(0), model.Broken, "idle timeout"},
		{"within a line", mt.Raw(body).Stall(400), model.Broken, "idle timeout"},
		{"drip", mt.Raw(body).Drip(20 * time.Millisecond), model.Broken, "idle timeout"},
		{"error body", mt.HTTP(500, "half an answer").Stall(4), model.Server, "half"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mt.Start(t, tt.round)
			o := options(s.URL)
			o.IdleTimeout, o.FirstAnswer = 250*time.Millisecond, 250*time.Millisecond
			start := time.Now()
			e := failure(t, openai.New(o))
			if e.Kind != tt.kind || !strings.Contains(e.Message, tt.words) {
				t.Errorf("%v (%s), want %s %q", e, e.Kind, tt.kind, tt.words)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// Comments and whole lines keep a stream alive, and so does a slow consumer.
func TestSlowStreamsLive(t *testing.T) {
	events := mt.Render(*mt.Answer(mt.Message("one two three")).Script, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, e := range events {
			for n := 0; n < 25 && i == 4; n++ { // longer than the limit and the consumer together
				time.Sleep(60 * time.Millisecond)
				fmt.Fprint(w, ": still here\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			fmt.Fprint(w, e)
		}
	}))
	defer server.Close()
	o := options(server.URL)
	o.IdleTimeout = 500 * time.Millisecond
	err := openai.New(o).Stream(t.Context(), request(), func(c model.Chunk) error {
		if _, ok := c.(model.Started); ok {
			time.Sleep(600 * time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// SEC D4: a cancel is obeyed at once wherever the stream is: what it does not end lasts an hour.
func TestSEC_D4_CancelIsPrompt(t *testing.T) {
	body := strings.Join(mt.Render(*conversation().Script, 1), "")
	for name, round := range map[string]mt.Round{
		"before the headers": mt.Raw(body).Late(time.Hour),
		"after the headers":  mt.Raw(body).Stall(0),
		"in the stream":      mt.Raw(body).Stall(400),
		"in an error body":   mt.HTTP(500, "half").Stall(2),
	} {
		s := mt.Start(t, round)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		start := time.Now()
		err := openai.New(options(s.URL)).Stream(ctx, request(), func(model.Chunk) error { return nil })
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 10*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := openai.New(options("http://127.0.0.1:1")).Stream(ctx, request(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// SEC D4: a million tiny events, and a bomb, leave the memory as it was.
func TestSEC_D4_MemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 400,000 events")
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 100 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	delta := []byte("data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n")
	many := bytes.Repeat(delta, 1000)
	blocks := 400
	if race.Watched {
		blocks = 50 // the detector makes it twenty times slower
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/bomb/responses") {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return
		}
		for range blocks {
			if _, err := w.Write(many); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	err := openai.New(options(server.URL)).Stream(t.Context(), request(), func(c model.Chunk) error {
		if n++; n == 900*blocks {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
		return nil
	})
	if e := asModel(t, err); e.Kind != model.Broken || n != 1000*blocks+2 {
		t.Errorf("%v after %d chunks", e, n)
	}
	if after.HeapAlloc > before.HeapAlloc+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
	began := time.Now()
	_, err = stream(t, openai.New(options(server.URL+"/bomb")), request())
	if e := asModel(t, err); e.Kind != model.Server || len(e.Message) > 4000 || time.Since(began) > 30*time.Second {
		t.Errorf("bomb: %v after %v", err, time.Since(began))
	}
}

func TestKeys(t *testing.T) {
	s := mt.Start(t, mt.Answer(mt.Message("a")), mt.Answer(mt.Message("a")), mt.Answer(mt.Message("a")))
	o := options(s.URL)
	o.Key = nil
	if _, err := stream(t, openai.New(o), request()); err != nil {
		t.Error(err)
	}
	o.Key = wire.StaticKey(" " + key + "\n")
	if _, err := stream(t, openai.New(o), request()); err != nil {
		t.Error(err)
	}
	o.Headers = map[string]string{"authorization": "Other " + key}
	if _, err := stream(t, openai.New(o), request()); err != nil {
		t.Error(err)
	}
	var got []string
	for _, r := range s.Requests() {
		got = append(got, r.Header.Get("Authorization"))
	}
	if d := cmp.Diff([]string{"", "Bearer " + key, "Other " + key}, got); d != "" {
		t.Error(d)
	}
	o.Key = func(context.Context) (string, error) { return "", errors.New("key command: exit status 1") }
	e := failure(t, openai.New(o))
	if e.Kind != model.Auth || e.Message != "key command: exit status 1" || e.Hint == "" {
		t.Errorf("%v", e)
	}
	told := &model.Error{Kind: model.Auth, Message: "log in"}
	o.Key = func(context.Context) (string, error) { return "", told }
	if e := failure(t, openai.New(o)); e != told {
		t.Errorf("%v", e)
	}
}

func TestEmitErrorComesBack(t *testing.T) {
	s := mt.Start(t, conversation())
	stop := errors.New("stop")
	if err := openai.New(options(s.URL)).Stream(t.Context(), request(),
		func(model.Chunk) error { return stop }); err != stop {
		t.Errorf("err = %v", err)
	}
}

func TestClientForSeveralGoroutines(t *testing.T) {
	s := mt.Start(t, conversation())
	s.Repeat = true
	c := openai.New(options(s.URL))
	shared := []*model.Item{model.UserText("a"), model.UserText("b")}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			items := append([]*model.Item{}, shared...)
			for range 5 {
				items = append(items, model.UserText(fmt.Sprint(n)))
				if err := c.Stream(t.Context(), request(items...), func(model.Chunk) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, r := range s.Requests() {
		texts := r.Messages("user")
		for _, x := range texts[2:] {
			if x != texts[2] {
				t.Fatalf("conversations are mixed: %v", texts)
			}
		}
	}
}

// A server that keeps the connection open after the end does not delay the turn.
func TestEndIsPrompt(t *testing.T) {
	body := strings.Join(mt.Render(*conversation().Script, 1), "")
	s := mt.Start(t, mt.Raw(body).Stall(len(body)))
	start := time.Now()
	if _, err := stream(t, openai.New(options(s.URL)), request()); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("err %v after %v", err, time.Since(start))
	}
}

func TestCustomHTTPClient(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Join(mt.Render(*conversation().Script, 1), ""))
	}))
	defer s.Close()
	o := options(s.URL)
	o.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}}
	if _, err := stream(t, openai.New(o), request()); err != nil {
		t.Error(err)
	}
}

// A long line arrives whole.
func TestLongEvent(t *testing.T) {
	long := strings.Repeat("long ", 1<<20)
	call := mt.M{"type": "function_call", "call_id": "c", "name": "f", "arguments": `{"a":"` + long + `"}`}
	s := mt.Start(t, mt.Raw(mt.Event("response.output_item.done", mt.M{"item": call}),
		mt.Event("response.completed", mt.M{"response": mt.M{"output": []any{call}}})))
	chunks, err := stream(t, openai.New(options(s.URL)), request())
	if err != nil {
		t.Fatal(err)
	}
	if got := items(chunks)[0].Input; len(got) != len(long)+8 {
		t.Errorf("input of %d bytes", len(got))
	}
}
