package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/modeltest"
	"kerf/sdk"
)

// program is where the tests find kerf; TestMain builds it.
var program string

func TestMain(m *testing.M) { os.Exit(tests(m)) }

func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kerf-sdk-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "kerf")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "kerf/cmd/kerf").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// rounds reads what a model says, a scenario's rounds separated by commas.
func rounds(text string) []modeltest.Round {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte("["+text+"]"), &list); err != nil {
		panic(err)
	}
	all := make([]modeltest.Round, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(fmt.Appendf(nil, `{"Script":%s}`, raw), &all[i]); err != nil {
			panic(err)
		}
	}
	return all
}

// scripted is a client whose model plays rounds, and a working directory. Its
// homes are temporary.
func scripted(text ...string) (client *sdk.Client, dir string, done func()) {
	client, _, dir, done = served(rounds(strings.Join(text, ","))...)
	return client, dir, done
}

func served(list ...modeltest.Round) (client *sdk.Client, model *modeltest.Server, dir string, done func()) {
	base, err := os.MkdirTemp("", "kerf-sdk-test-")
	if err != nil {
		panic(err)
	}
	dir, home := filepath.Join(base, "work"), filepath.Join(base, "home")
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			panic(err)
		}
	}
	if model, err = modeltest.Serve("127.0.0.1:0", list...); err != nil {
		panic(err)
	}
	client = &sdk.Client{Program: program, APIKey: "test-key", BaseURL: model.URL, Config: []string{`model="test-model"`},
		Env: []string{"HOME=" + home, "KERF_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "SHELL=/bin/bash"}}
	return client, model, dir, func() {
		model.Close()
		_ = os.RemoveAll(base)
	}
}

func within(t *testing.T, list ...modeltest.Round) (*sdk.Client, *modeltest.Server, string) {
	t.Helper()
	client, model, dir, done := served(list...)
	t.Cleanup(done)
	return client, model, dir
}

func TestThreadOptionsReachTheProgram(t *testing.T) {
	client, model, dir := within(t, rounds(`{"items":[{"message":"first"}],"usage":{"input_tokens":7,"cached_input_tokens":3,"output_tokens":2,"reasoning_output_tokens":1}},
		{"items":[{"message":"second"}]}`)...)
	picture := filepath.Join(dir, "a,\"b.png")
	const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
	if err := os.WriteFile(picture, []byte(dot), 0o600); err != nil {
		t.Fatal(err)
	}
	thread := client.Start(sdk.ThreadOptions{Dir: dir, Model: "other-model", Effort: "high", Sandbox: "read-only",
		Approval: "never", SkipGitCheck: true})
	turn, err := thread.Run(t.Context(), sdk.Input{Text: "--help", Images: []string{picture}})
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Turn{Text: "first", Items: []sdk.Item{sdk.Message{ID: "item_0", Text: "first"}},
		Usage: sdk.Usage{Input: 7, Cached: 3, Output: 2, Reasoning: 1}}
	if d := cmp.Diff(want, turn); d != "" {
		t.Errorf("turn (-want +got):\n%s", d)
	}
	id := thread.ID()
	if _, err := thread.Run(t.Context(), sdk.Input{Text: "again"}); err != nil || thread.ID() != id || id == "" {
		t.Errorf("the second turn gave %v and moved the thread from %q to %q", err, id, thread.ID())
	}
	first, second := model.Request(t, 0), model.Request(t, 1)
	if got := first.Header.Get("Authorization"); got != "Bearer test-key" {
		t.Errorf("authorization is %q", got)
	}
	for _, part := range []string{`"model":"other-model"`, `"effort":"high"`, `--help`, `data:image/png;base64,`} {
		if !strings.Contains(string(first.Body), part) {
			t.Errorf("the first request lacks %s", part)
		}
	}
	if !strings.Contains(string(second.Body), "--help") {
		t.Error("the second turn does not know the first")
	}
}

func TestFailuresAreTyped(t *testing.T) {
	refused := modeltest.HTTP(http.StatusUnauthorized, `{"error":{"message":"bad key"}}`)
	client, _, dir := within(t, refused)
	_, err := client.Start(sdk.ThreadOptions{Dir: dir, SkipGitCheck: true}).Run(t.Context(), sdk.Input{Text: "x"})
	var failed *sdk.TurnError
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "bad key") {
		t.Errorf("a refused key gave %v", err)
	}
	var exit *sdk.ExitError
	_, err = client.Start(sdk.ThreadOptions{Dir: dir}).Run(t.Context(), sdk.Input{Text: "x"})
	if !errors.As(err, &exit) || exit.Code != 1 || !strings.Contains(exit.Stderr, "git") {
		t.Errorf("a directory without git gave %v", err)
	}
	_, err = client.Start(sdk.ThreadOptions{Dir: dir, Sandbox: "none", SkipGitCheck: true}).Run(t.Context(),
		sdk.Input{Text: "x"})
	if !errors.As(err, &exit) || exit.Code != 2 {
		t.Errorf("a wrong sandbox gave %v", err)
	}
	_, err = client.Resume("--last", sdk.ThreadOptions{Dir: dir, SkipGitCheck: true}).Run(t.Context(),
		sdk.Input{Text: "x"})
	if !errors.As(err, &exit) || !strings.Contains(exit.Stderr, "--last") {
		t.Errorf("an unknown session gave %v", err)
	}
	missing := &sdk.Client{Program: filepath.Join(dir, "none")}
	if _, err := missing.Start(sdk.ThreadOptions{}).Run(t.Context(), sdk.Input{Text: "x"}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("a missing program gave %v", err)
	}
}

func TestACancelledTurnEndsWithItsCommands(t *testing.T) {
	for _, way := range []string{"cancelled", "left"} {
		t.Run(way, func(t *testing.T) {
			client, _, dir := within(t, rounds(`{"items":[{"call":"exec_command","args":{"cmd":"sleep 600"}}]}, {"items":[{"message":"after"}]}`)...)
			thread := client.Start(sdk.ThreadOptions{Dir: dir, Sandbox: "danger-full-access", SkipGitCheck: true})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for e, err := range thread.Stream(ctx, sdk.Input{Text: "sleep"}) {
				last = err
				if s, ok := e.(sdk.ItemStarted); !ok {
					continue
				} else if _, ok := s.Item.(sdk.Command); !ok {
					t.Fatalf("started %T", s.Item)
				}
				if way == "left" {
					break
				}
				cancel()
			}
			if way == "cancelled" && !errors.Is(last, context.Canceled) {
				t.Errorf("the stream ended with %v", last)
			}
			turn, err := thread.Run(t.Context(), sdk.Input{Text: "go on"})
			if err != nil || turn.Text != "after" {
				t.Errorf("the next turn gave %+v, %v", turn, err)
			}
		})
	}
}

func TestADialogueIsCancelledAndResumed(t *testing.T) {
	client, _, dir := within(t, rounds(`{"items":[{"call":"exec_command","args":{"cmd":"echo begun; sleep 600"}}]},
		{"expect":{"input_contains":["the word is plum"]},"items":[{"message":"Plum."}]}`)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := sdk.DialogueOptions{Dir: dir, Mode: "full", Hear: func(u sdk.Update) {
		if c, ok := u.(sdk.Called); ok && strings.Contains(c.Text, "begun") {
			cancel()
		}
	}}
	d, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Say(ctx, "the word is plum"); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled turn gave %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Say(t.Context(), "more"); err == nil {
		t.Error("a closed dialogue answered")
	}
	o.Resume, o.Hear = d.ID(), nil
	if d, err = client.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if reply, err := d.Say(t.Context(), "which word?"); err != nil || reply.Text != "Plum." || d.ID() != o.Resume {
		t.Errorf("the resumed dialogue %s said %+v, %v", d.ID(), reply, err)
	}
}

func TestADialogueThatCannotOpenSaysWhy(t *testing.T) {
	client, _, dir := within(t)
	client.APIKey = ""
	_, err := client.Open(t.Context(), sdk.DialogueOptions{Dir: dir})
	var refused *sdk.RPCError
	if !errors.As(err, &refused) || refused.Code != -32000 || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	client.Config = append(client.Config, "nonsense=1")
	_, err = client.Open(t.Context(), sdk.DialogueOptions{Dir: dir})
	var exit *sdk.ExitError
	if !errors.As(err, &exit) || exit.Code != 2 || !strings.Contains(exit.Stderr, "nonsense") {
		t.Errorf("with a wrong setting: %v", err)
	}
}

func TestUnknownEventsArePassedOn(t *testing.T) {
	for line, want := range map[string]sdk.Event{
		`{"type":"later.kind","x":1}`:                                                                  sdk.Other{Type: "later.kind", JSON: json.RawMessage(`{"type":"later.kind","x":1}`)},
		`{"type":"item.completed","item":{"id":"item_0","type":"hologram"}}`:                           sdk.ItemCompleted{Item: sdk.OtherItem{Type: "hologram", JSON: json.RawMessage(`{"id":"item_0","type":"hologram"}`)}},
		`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"x","later":1}}`: sdk.ItemCompleted{Item: sdk.Message{ID: "item_0", Text: "x"}},
	} {
		got, err := sdk.ParseEvent([]byte(line))
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
	for _, line := range []string{"", "{", "[]", `{"type":"item.started"}`, `{"type":"item.started","item":[]}`} {
		if e, err := sdk.ParseEvent([]byte(line)); err == nil {
			t.Errorf("%q gave %#v", line, e)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","arguments":{},"result":{"content":[]}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, err := sdk.ParseEvent(line); (e == nil) == (err == nil) {
			t.Errorf("%q gave %#v and %v", line, e, err)
		}
	})
}
