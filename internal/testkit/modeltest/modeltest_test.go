package modeltest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model/script"
	mt "kerf/internal/testkit/modeltest"
)

// post sends body and returns status and answer; a broken body is returned as
// far as it came, with its error.
func post(t *testing.T, s *mt.Server, body string) (int, string, error) {
	t.Helper()
	resp, err := http.Post(s.URL+"/responses", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func TestRenderIsWellFormed(t *testing.T) {
	round := mt.Answer(mt.Reasoning("r"), mt.Message("a <b> c"), mt.Call("f", mt.M{"x": 1}), mt.Call("g", "not json"),
		mt.Freeform("p", "in\nput"))
	var types []string
	for _, e := range mt.Render(*round.Script, 1) {
		name, data, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(e, "event: "), "\n\n"), "\ndata: ")
		var m mt.M
		if err := json.Unmarshal([]byte(data), &m); err != nil || !ok || m["type"] != name {
			t.Fatalf("%q: %v", e, err)
		}
		types = append(types, strings.TrimPrefix(name, "response."))
	}
	want := "created in_progress output_item.added reasoning_summary_text.delta output_item.done " +
		"output_item.added output_text.delta output_text.delta output_text.delta output_item.done " +
		"output_item.added function_call_arguments.delta output_item.done " +
		"output_item.added function_call_arguments.delta function_call_arguments.delta output_item.done " +
		"output_item.added custom_tool_call_input.delta custom_tool_call_input.delta output_item.done completed"
	if d := cmp.Diff(want, strings.Join(types, " ")); d != "" {
		t.Error(d)
	}
}

func TestRoundsAndRequests(t *testing.T) {
	s := mt.Start(t, mt.Answer(mt.Message("one")), mt.HTTP(503, "busy").With("Retry-After", "3"), mt.Page("<p>"))
	s.Add(mt.Raw("data: x\n\n"))
	for _, want := range []struct {
		status int
		words  string
	}{{200, `"delta":"one"`}, {503, "busy"}, {200, "<p>"}, {200, "data: x"}, {400, "no round left: request 5 of 4"}} {
		status, answer, err := post(t, s, `{"input":[]}`)
		if status != want.status || !strings.Contains(answer, want.words) || err != nil {
			t.Errorf("%d %q %v, want %d %q", status, answer, err, want.status, want.words)
		}
	}
	if n := len(s.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	r := s.Request(t, 0)
	if r.Path != "/v1/responses" || string(r.Body) != `{"input":[]}` {
		t.Errorf("%s %s", r.Path, r.Body)
	}
}

func TestFaults(t *testing.T) {
	s := mt.Start(t, mt.Raw("0123456789").Cut(4), mt.Raw("0123456789").Cut(0), mt.Raw("abc").Drip(time.Millisecond),
		mt.Play(script.Round{Items: []script.Item{mt.Message("x")}, Cut: true}),
		mt.Play(script.Round{Error: &script.Failure{Kind: "network"}}))
	for i, want := range []struct {
		words string
		whole bool
	}{{"0123", false}, {"", false}, {"abc", true}, {"output_item.done", false}, {"response.created", false}} {
		_, answer, err := post(t, s, "{}")
		if !strings.Contains(answer, want.words) || (err == nil) != want.whole {
			t.Errorf("round %d: %q, %v", i, answer, err)
		}
	}
}

func TestExpectations(t *testing.T) {
	e := &script.Expect{InputContains: []string{"hello"}, ToolOutputContains: []string{"fine"}}
	round := mt.Play(script.Round{Expect: e, Items: []script.Item{mt.Message("x")}})
	s := mt.Start(t, round, round)
	body := `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},
		{"type":"function_call_output","call_id":"c","output":"OUT"}],"tools":[{"name":"a"},{"name":"b"}]}`
	if status, answer, _ := post(t, s, body); status != 400 ||
		!strings.Contains(answer, `round 1: no tool output contains \"fine\"; the last ends in \"OUT\"`) {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer, _ := post(t, s, strings.ReplaceAll(body, "OUT", "all fine")); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	r := s.Request(t, 1)
	got := []any{r.Messages("user"), r.Outputs(), r.Tools(), len(r.Input()), len(r.RawInput())}
	want := []any{[]string{"hello"}, []string{"all fine"}, []string{"a", "b"}, 2, 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if out, ok := r.Output("c"); out != "all fine" || !ok {
		t.Errorf("output %q, %v", out, ok)
	}
	if _, ok := r.Output("d"); ok {
		t.Error("an output that is not there")
	}
}

func TestScriptedErrors(t *testing.T) {
	s := mt.Start(t, mt.Scenario(&script.Scenario{Rounds: []script.Round{
		{Error: &script.Failure{Kind: "rate_limit", Message: "slow", RetryAfter: 1.5}},
		{Error: &script.Failure{Kind: "context_window_exceeded"}},
		{Items: []script.Item{mt.Message("x")}, Error: &script.Failure{Kind: "quota"}},
	}})...)
	for i, want := range []struct {
		status int
		words  string
	}{{429, `"code":"rate_limit_exceeded"`}, {400, "context_length_exceeded"}, {200, `"code":"insufficient_quota"`}} {
		status, answer, _ := post(t, s, "{}")
		if status != want.status || !strings.Contains(answer, want.words) {
			t.Errorf("round %d: %d %q", i, status, answer)
		}
	}
}
