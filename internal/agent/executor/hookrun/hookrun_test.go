package hookrun

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/hooks"
)

func TestAnEventIsSentToAnAddress(t *testing.T) {
	elsewhere := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	t.Cleanup(other.Close)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/deny":
			if r.Header.Get("X-Key") != "value" || !strings.Contains(string(body), `"tool_name":"Bash"`) {
				t.Errorf("header %q, body %s", r.Header.Get("X-Key"), body)
			}
			_, _ = io.WriteString(w, `{"decision":"block","reason":"not here"}`)
		case "/moved":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/slow":
			<-release
		case "/broken":
			http.Error(w, "x", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(release) })
	for path, want := range map[string]hooks.Result{
		"/deny":   {Decision: "deny", Reason: "not here"},
		"/none":   {},
		"/moved":  {Warnings: []string{"hook PreToolUse (" + srv.URL + "/moved): exit code 1: it answered with status 307 Temporary Redirect"}},
		"/broken": {Warnings: []string{"hook PreToolUse (" + srv.URL + "/broken): exit code 1: it answered with status 500 Internal Server Error"}},
		"/slow":   {Warnings: []string{"hook PreToolUse (" + srv.URL + "/slow): ended after its time limit of 200ms"}},
	} {
		limit := 20 * time.Second
		if path == "/slow" {
			limit = 200 * time.Millisecond
		}
		got := fire(t, hooks.Handler{URL: srv.URL + path, Headers: map[string]string{"X-Key": "$GIVEN $OTHER"},
			Env: []string{"GIVEN"}, Timeout: limit}, nil)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	if elsewhere {
		t.Error("the event went to another address")
	}
}

func TestAModelIsAskedAboutAnEvent(t *testing.T) {
	for answer, want := range map[string]hooks.Result{
		`{"ok": true}`: {},
		"```json\n{\"ok\": false, \"reason\": \"too much\"}\n```": {Decision: "deny", Reason: "too much"},
		`yes`: {Warnings: []string{"hook PreToolUse (is $ARGUMENTS fine?): the model did not answer with the JSON that was asked for"}},
		`{}`:  {Warnings: []string{"hook PreToolUse (is $ARGUMENTS fine?): the model did not answer with the JSON that was asked for"}},
		``:    {Warnings: []string{"hook PreToolUse (is $ARGUMENTS fine?): no model"}},
	} {
		got := fire(t, hooks.Handler{Prompt: "is $ARGUMENTS fine?", Model: "small", Timeout: time.Minute},
			func(_ context.Context, model, question string) (string, error) {
				if model != "small" || !strings.HasPrefix(question, `is {`) {
					t.Errorf("%s was asked %q", model, question)
				}
				if answer == "" {
					return "", errors.New("no model")
				}
				return answer, nil
			})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", answer, d)
		}
	}
}

func fire(t *testing.T, h hooks.Handler, ask func(context.Context, string, string) (string, error)) hooks.Result {
	t.Helper()
	h.Event = hooks.PreToolUse
	run := Runner(Options{Ask: ask, Getenv: func(name string) string { return map[string]string{"GIVEN": "value", "OTHER": "secret"}[name] },
		Command: func(context.Context, hooks.Handler, []byte) (hooks.Output, error) { panic("a program was started") }})
	s, err := hooks.New([]hooks.Handler{h}, run)
	if err != nil {
		t.Fatal(err)
	}
	return s.Fire(t.Context(), hooks.Call{Event: hooks.PreToolUse, Tool: "Bash"})
}
