package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// asksFor is a call of the model, in the protocol's form.
type asksFor struct{ name, input string }

func commandOf(cmd string) asksFor {
	b, err := json.Marshal(map[string]string{"cmd": cmd})
	if err != nil {
		panic(err) // a string always has JSON
	}
	return asksFor{"exec_command", string(b)}
}

func patchOf(line, round int) asksFor {
	return asksFor{"apply_patch", fmt.Sprintf("*** Begin Patch\n*** Update File: a.go\n@@\n-line %d of the file a.go, which is "+
		"long enough\n+line %d of the file a.go, changed in round %d\n*** End Patch\n", line, line, round)}
}

// held is what a conversation came to.
type held struct {
	results    []string
	before     string // instructions and tools
	appendOnly bool
}

// converse has the real program do what the calls ask for.
func converse(t *testing.T, kerf string, calls []asksFor, config string) held {
	var bodies [][]byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		bodies = append(bodies, b)
		item := map[string]any{"type": "message", "id": "m", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": "done", "annotations": []any{}}}}
		if n := len(bodies) - 1; n < len(calls) {
			item = map[string]any{"type": "function_call", "id": fmt.Sprint("i", n), "call_id": fmt.Sprint("c", n),
				"status": "completed", "name": calls[n].name, "arguments": calls[n].input}
			if calls[n].name == "apply_patch" {
				item["type"], item["input"] = "custom_tool_call", calls[n].input
				delete(item, "arguments")
			}
		}
		for _, ev := range []map[string]any{{"type": "response.created", "response": map[string]any{"id": "r", "status": "in_progress"}},
			{"type": "response.output_item.done", "output_index": 0, "item": item},
			{"type": "response.completed", "response": map[string]any{"id": "r", "status": "completed", "output": []any{},
				"usage": map[string]int{"input_tokens": 9, "output_tokens": 2}}}} {
			b, err := json.Marshal(ev)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "line %d of the file a.go, which is long enough\n", i)
	}
	for path, text := range map[string]string{"repo/a.go": lines.String(), "home/.kerf/config.toml": "model_provider = \"m\"\n" +
		"[model_providers.m]\nbase_url = \"" + s.URL + "/v1\"\nexperimental_bearer_token = \"test-key\"\n" + config} {
		path = filepath.Join(dir, path)
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(text), 0o600) != nil {
			t.Fatalf("cannot write %s", path)
		}
	}
	cmd := exec.CommandContext(t.Context(), kerf, "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-m", "gpt-5.2", "go")
	cmd.Dir = filepath.Join(dir, "repo")
	cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "KERF_HOME=" + filepath.Join(dir, "home", ".kerf"),
		"PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh"}
	if out, err := cmd.CombinedOutput(); err != nil || len(bodies) != len(calls)+1 {
		t.Fatalf("%v, %d requests: %s", err, len(bodies), out)
	}
	got := held{appendOnly: true}
	var before []json.RawMessage
	for _, b := range bodies {
		var sent struct {
			Instructions string            `json:"instructions"`
			Tools        json.RawMessage   `json:"tools"`
			Input        []json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(b, &sent); err != nil {
			t.Fatal(err)
		}
		for i, item := range before {
			got.appendOnly = got.appendOnly && i < len(sent.Input) && bytes.Equal(item, sent.Input[i])
		}
		before, got.before = sent.Input, sent.Instructions+string(sent.Tools)
	}
	for _, item := range before {
		var output struct{ Type, Output string }
		if json.Unmarshal(item, &output) == nil && strings.HasSuffix(output.Type, "_output") {
			got.results = append(got.results, output.Output)
		}
	}
	return got
}

// peers are the results of other agents, as they write them, with the same output.
var peers = map[string]func(c asksFor, output string) string{
	"codex": func(c asksFor, output string) string {
		if c.name == "apply_patch" {
			return "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM a.go\n"
		}
		return fmt.Sprintf("Chunk ID: 1a2b3c\nWall time: 0.0512 seconds\nProcess exited with code 0\nOriginal token count: %d\n"+
			"Output:\n%s", len(output)/4, output)
	},
	"opencode": func(c asksFor, output string) string {
		if c.name == "apply_patch" {
			return "Edit applied successfully."
		}
		return output
	},
	"crush": func(c asksFor, output string) string {
		if c.name == "apply_patch" {
			return "<result>\nContent replaced in file: /home/me/repo/a.go\n</result>\n"
		}
		return strings.TrimSpace(output) + "\n\n<cwd>/home/me/repo</cwd>"
	},
}

// What a model reads is no more than what Codex writes: conversations of edits, commands and
// both. With -v the tokens of all, in o200k.
func TestTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	tokens := func(texts ...string) (n int) {
		for _, s := range texts {
			ids, _, err := codec.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			n += len(ids)
		}
		return n
	}
	kerf := filepath.Join(t.TempDir(), "kerf")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", kerf, "./cmd/kerf")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conversations := map[string][]asksFor{}
	for i := range 20 {
		conversations["edit20"] = append(conversations["edit20"], patchOf(3*i, i))
		conversations["shell20"] = append(conversations["shell20"], commandOf("echo hello world"))
	}
	for i := range 50 {
		c := commandOf(fmt.Sprint("echo round ", i))
		switch i % 5 {
		case 0:
			c = commandOf("sed -n 1,30p a.go")
		case 1, 3:
			c = patchOf(i, i)
		}
		conversations["mixed50"] = append(conversations["mixed50"], c)
	}
	for name, calls := range conversations {
		got := converse(t, kerf, calls, "")
		if len(got.results) != len(calls) || !got.appendOnly {
			t.Fatalf("%s: %d results, only grows: %v", name, len(got.results), got.appendOnly)
		}
		var inputs []string
		theirs := map[string][]string{}
		for i, c := range calls {
			inputs = append(inputs, c.input)
			_, output, _ := strings.Cut(got.results[i], "output:\n")
			for peer, write := range peers {
				theirs[peer] = append(theirs[peer], write(c, output))
			}
		}
		asked := len(strings.Join(inputs, ""))
		ours, codex := asked+len(strings.Join(got.results, "")), asked+len(strings.Join(theirs["codex"], ""))
		t.Logf("%s: %d bytes, %.2f of Codex's; tokens of results: kerf %d, codex %d, opencode %d, crush %d", name, ours,
			float64(ours)/float64(codex), tokens(got.results...), tokens(theirs["codex"]...), tokens(theirs["opencode"]...),
			tokens(theirs["crush"]...))
		if float64(ours) > map[string]float64{"edit20": 1.2, "shell20": 1, "mixed50": 1}[name]*float64(codex) {
			t.Errorf("%s: %d bytes, Codex %d", name, ours, codex)
		}
	}
	for config, most := range map[string]int{"": 4000, "[models.\"gpt-5.2\"]\ncontext_window = 16000\n": 1800} {
		n := tokens(converse(t, kerf, nil, config).before)
		t.Logf("instructions and tools: %d tokens of %d", n, most)
		if n > most {
			t.Errorf("instructions and tools: %d tokens, at most %d", n, most)
		}
	}
}
