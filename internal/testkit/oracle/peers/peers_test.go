package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"
)

// step is what the model asks for, in no protocol's words.
type step struct {
	read, shell  string
	old, changed string // an edit of a.go
}

// agent is a program that works for a model, with the tools that it offers.
type agent struct {
	name string
	run  func(dir, url string) (argv, env []string)
	// config is written below the home directory.
	config map[string]string
}

// model is a server that plays steps, over Responses and Chat Completions. Which step is
// next follows from the results that the request has, so that one asked twice does no harm.
type model struct {
	steps []step

	mu      sync.Mutex
	last    []string // the results of the largest request
	before  string   // its instructions and tools
	unknown string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt-5.2","object":"model"}]}`)
		return
	}
	var q struct {
		Instructions string
		Tools        []json.RawMessage
		Input        []struct {
			Type, Role      string
			Output, Content json.RawMessage
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var results []string
	before := q.Instructions
	for _, i := range q.Input {
		if strings.HasSuffix(i.Type, "_output") {
			results = append(results, plain(i.Output))
		}
		if i.Role == "developer" || i.Role == "system" {
			before += plain(i.Content)
		}
	}
	for _, i := range q.Messages {
		switch i.Role {
		case "tool":
			results = append(results, plain(i.Content))
		case "system", "developer":
			before += plain(i.Content)
		}
	}
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	if len(q.Tools) == 0 || len(results) >= len(m.steps) {
		say(w, chat, "a title")
	} else {
		name, args := m.ask(q.Tools, m.steps[len(results)])
		call(w, chat, len(results), name, args)
	}
	tools, _ := json.Marshal(q.Tools) // came as JSON
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(q.Tools) > 0 && len(results) >= len(m.last) {
		m.last, m.before = results, before+string(tools)
	}
}

// plain is the text of a result, whole or in parts.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// ask makes a call of a step, of the tools that there are.
func (m *model) ask(tools []json.RawMessage, s step) (name string, args any) {
	all := map[string]string{}
	for _, t := range tools {
		var is struct {
			Name     string
			Function struct{ Name string }
		}
		if json.Unmarshal(t, &is) == nil {
			all[is.Name+is.Function.Name] = string(t)
		}
	}
	patch := fmt.Sprintf("*** Begin Patch\n*** Update File: a.go\n@@\n-%s\n+%s\n*** End Patch\n", s.old, s.changed)
	has := func(name, word string) bool { return strings.Contains(all[name], `"`+word+`"`) }
	switch {
	case s.read != "" && has("read_file", "file_path"):
		return "read_file", map[string]any{"file_path": s.read}
	case s.read != "" && has("read", "filePath"):
		return "read", map[string]any{"filePath": s.read}
	case s.read != "" && has("view", "file_path"):
		return "view", map[string]any{"file_path": s.read}
	case s.read != "":
		s.shell = "cat " + s.read
	case s.old != "" && all["apply_patch"] != "" && strings.Contains(all["apply_patch"], "grammar"):
		return "apply_patch", patch
	case s.old != "" && has("apply_patch", "patchText"):
		return "apply_patch", map[string]any{"patchText": patch}
	case s.old != "" && has("edit", "oldString"):
		return "edit", map[string]any{"filePath": "a.go", "oldString": s.old, "newString": s.changed}
	case s.old != "" && has("edit", "old_string"):
		return "edit", map[string]any{"file_path": "a.go", "old_string": s.old, "new_string": s.changed}
	case s.old != "":
		s.shell = "apply_patch <<'EOF'\n" + patch + "EOF"
	}
	switch {
	case all["exec_command"] != "":
		return "exec_command", map[string]any{"cmd": s.shell}
	case all["bash"] != "":
		return "bash", map[string]any{"command": s.shell, "description": "runs it"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unknown = fmt.Sprint(tools)
	return "none", map[string]any{}
}

func say(w http.ResponseWriter, chat bool, text string) {
	if chat {
		chunk(w, map[string]any{"content": text}, nil)
		chunk(w, map[string]any{}, "stop")
		fmt.Fprint(w, "data: [DONE]\n\n")
		return
	}
	respond(w, map[string]any{"type": "message", "id": "m", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}})
}

func call(w http.ResponseWriter, chat bool, n int, name string, args any) {
	item := map[string]any{"id": fmt.Sprint("i", n), "call_id": fmt.Sprint("c", n), "name": name, "status": "completed"}
	if text, ok := args.(string); ok {
		item["type"], item["input"] = "custom_tool_call", text
		respond(w, item)
		return
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // plain strings
	}
	if chat {
		chunk(w, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprint("c", n),
			"type": "function", "function": map[string]any{"name": name, "arguments": string(b)}}}}, nil)
		chunk(w, map[string]any{}, "tool_calls")
		fmt.Fprint(w, "data: [DONE]\n\n")
		return
	}
	item["type"], item["arguments"] = "function_call", string(b)
	respond(w, item)
}

func chunk(w io.Writer, delta map[string]any, end any) {
	event(w, map[string]any{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.2",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": end}},
		"usage":   map[string]int{"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
}

func respond(w io.Writer, item map[string]any) {
	event(w, map[string]any{"type": "response.created", "response": map[string]any{"id": "r", "status": "in_progress"}})
	event(w, map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, map[string]any{"type": "response.completed", "response": map[string]any{"id": "r", "status": "completed",
		"output": []any{}, "usage": map[string]int{"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}})
}

func event(w io.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of maps and strings
	}
	if f, ok := w.(http.ResponseWriter); ok {
		f.Header().Set("Content-Type", "text/event-stream")
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
}

// agents are Kerf and those of KERF_PEERS, a list of NAME=PROGRAM.
func agents(kerf string) []agent {
	programs := map[string]string{}
	for _, p := range strings.Fields(os.Getenv("KERF_PEERS")) {
		name, program, _ := strings.Cut(p, "=")
		programs[name] = program
	}
	all := []agent{
		{name: "kerf", run: func(_, url string) (argv, env []string) {
			return []string{kerf, "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-m", "gpt-5.2",
				"-c", "model_provider=m", "-c", "model_providers.m.base_url=" + url, "-c",
				"model_providers.m.experimental_bearer_token=test-key", "go"}, nil
		}},
		{name: "codex", run: func(_, url string) (argv, env []string) {
			set := func(k, v string) []string { return []string{"-c", k + `="` + v + `"`} }
			return slices.Concat([]string{programs["codex"], "exec", "--skip-git-repo-check",
				"--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.2"}, set("model_provider", "m"),
				set("model_providers.m.name", "m"), set("model_providers.m.base_url", url),
				set("model_providers.m.wire_api", "responses"), set("model_providers.m.env_key", "TEST_KEY"), []string{"go"}), nil
		}},
		{name: "opencode", run: func(_, url string) (argv, env []string) {
			return []string{programs["opencode"], "run", "-m", "m/gpt-5.2", "go"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1",
				"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_CONFIG_CONTENT=" + `{"permission":"allow","provider":{"m":{"npm":` +
					`"@ai-sdk/openai-compatible","options":{"baseURL":"` + url + `","apiKey":"k"},"models":{"gpt-5.2":{"name":"g",` +
					`"limit":{"context":400000,"output":30000}}}}}}`}
		}},
		{name: "crush", run: func(dir, url string) (argv, env []string) {
			return []string{programs["crush"], "run", "-q", "go"}, []string{"CRUSH_DISABLE_PROVIDER_AUTO_UPDATE=1",
				"CRUSH_DISABLE_METRICS=1", "DO_NOT_TRACK=1"}
		}, config: map[string]string{".config/crush/crush.json": `{"permissions":{"allowed_tools":["bash","edit","view"]},` +
			`"providers":{"m":{"name":"m","type":"openai-compat","base_url":"URL","api_key":"k","models":[{"id":"gpt-5.2","name":"g",` +
			`"context_window":400000,"default_max_tokens":30000}]}},"models":{"large":{"provider":"m","model":"gpt-5.2"},` +
			`"small":{"provider":"m","model":"gpt-5.2"}}}`}},
	}
	return slices.DeleteFunc(all, func(a agent) bool { return a.name != "kerf" && programs[a.name] == "" })
}

// play has an agent work for a model that plays steps.
func play(t *testing.T, a agent, steps []step, files map[string]string) *model {
	m := &model{steps: steps}
	s := httptest.NewServer(m)
	defer s.Close()
	home := t.TempDir()
	dir := filepath.Join(home, "repo")
	for path, text := range files {
		write(t, filepath.Join(dir, path), text)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for path, text := range a.config {
		write(t, filepath.Join(home, path), strings.ReplaceAll(text, "URL", s.URL+"/v1"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	argv, env := a.run(dir, s.URL+"/v1")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "TEST_KEY=k", "PWD=" + dir,
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}, env...) // nothing but this machine is reached
	out, err := cmd.CombinedOutput()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || len(m.last) != len(steps) || m.unknown != "" {
		t.Errorf("%s: %v, %d results of %d %s: %.3000s", a.name, err, len(m.last), len(steps), m.unknown, out)
	}
	return m
}

func write(t *testing.T, path, text string) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(text), 0o644) != nil {
		t.Fatalf("cannot write %s", path)
	}
}

// What results cost beside other agents that are here, each with the same conversation: run
// with KERF_PEERS="codex=/path/to/codex opencode=/path/to/opencode crush=/path/to/crush" and
// -v for the table in o200k tokens.
func TestPeers(t *testing.T) {
	if os.Getenv("KERF_PEERS") == "" {
		t.Skip("other agents are compared with where KERF_PEERS names them")
	}
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	tokens := func(s string) int {
		ids, _, err := codec.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		return len(ids)
	}
	kerf := filepath.Join(t.TempDir(), "kerf")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", kerf, "./cmd/kerf")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var lines strings.Builder
	line := func(i int) string { return fmt.Sprintf("line %d of the file a.go, which is long enough", i) }
	for i := range 60 {
		lines.WriteString(line(i) + "\n")
	}
	files := map[string]string{"a.go": lines.String()}
	real := map[string]string{"internal/model/sse/sse.go": "", "internal/model/provider/choice.go": "", "README.md": ""}
	names := []string{"internal/model/sse/sse.go", "internal/model/provider/choice.go", "README.md"}
	text := 0
	for name := range real {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		real[name] = string(b)
		text += tokens(string(b))
	}
	edit := func(i int) step { return step{old: line(i), changed: fmt.Sprintf("%s, changed", line(i))} }
	conversations := map[string][]step{"edit20": {{read: "a.go"}}, "mixed50": {{read: "a.go"}}}
	for i := range 20 {
		conversations["edit20"] = append(conversations["edit20"], edit(3*i))
		conversations["shell20"] = append(conversations["shell20"], step{shell: fmt.Sprint("echo hello ", i)}) // agents stop models that repeat themselves
	}
	for i := range 50 {
		s := step{shell: fmt.Sprint("echo round ", i)}
		switch i % 5 {
		case 0:
			s = step{shell: "sed -n 1,30p a.go"}
		case 1, 3:
			s = edit(i)
		}
		conversations["mixed50"] = append(conversations["mixed50"], s)
	}
	for _, name := range names {
		conversations["reads"] = append(conversations["reads"], step{read: name})
	}
	for _, a := range agents(kerf) {
		for _, name := range []string{"edit20", "shell20", "mixed50", "reads"} {
			t.Run(a.name+"/"+name, func(t *testing.T) {
				here := files
				if name == "reads" {
					here = real
				}
				m := play(t, a, conversations[name], here)
				results := m.last
				if name == "edit20" || name == "mixed50" {
					results = results[min(1, len(results)):] // the first read is none of them
				}
				all := strings.Join(results, "")
				t.Logf("%d tokens, %d bytes of results; before the first word %d tokens", tokens(all), len(all), tokens(m.before))
				if len(results) > 1 {
					t.Logf("for example: %.200q", results[1])
				}
			})
		}
	}
	t.Logf("the three files: %d tokens", text)
}
