package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// published returns a schema as the program prints it.
func published(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	var out, errors bytes.Buffer
	if code := run([]string{"kerf", "schema", name}, os.Stdin, &out, &errors); code != 0 {
		t.Fatalf("kerf schema %s: exit %d: %s", name, code, errors.String())
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// obeyed checks that every line is an object that obeys r, and returns how many
// there are of each type.
func obeyed(t *testing.T, r *jsonschema.Resolved, text string) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	for line := range strings.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		kind, _ := v["type"].(string)
		kinds[kind]++
		if item, ok := v["item"].(map[string]any); ok {
			kinds[item["type"].(string)]++
		}
	}
	return kinds
}

func TestTheDemoObeysTheSchemas(t *testing.T) {
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the demo needs %s", tool)
		}
	}
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "KERF_HOME": filepath.Join(home, ".kerf"),
		"TMPDIR":  t.TempDir(),
		"GOCACHE": goEnv(t, "GOCACHE"), "GOMODCACHE": goEnv(t, "GOMODCACHE")} {
		t.Setenv(name, value)
	}
	var out, errors bytes.Buffer
	if code := run([]string{"kerf", "demo", "--json"}, os.Stdin, &out, &errors); code != 0 {
		t.Fatalf("kerf demo: exit %d: %s", code, errors.String())
	}
	kinds := obeyed(t, published(t, "events"), out.String())
	for _, kind := range []string{"thread.started", "turn.started", "item.started", "turn.completed", "command_execution",
		"file_change", "agent_message"} {
		if kinds[kind] == 0 {
			t.Errorf("the demo tells no %s", kind)
		}
	}
	files, err := filepath.Glob(filepath.Join(home, ".kerf", "sessions", "*", "rollout.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the demo left %q, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	kinds = obeyed(t, published(t, "rollout"), string(b))
	for _, kind := range []string{"session_meta", "turn_context", "user_input", "assistant_message", "tool_call",
		"file_change", "token_usage", "event"} {
		if kinds[kind] == 0 {
			t.Errorf("the session has no %s", kind)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestSchemasCanFail(t *testing.T) {
	for name, bad := range map[string][]string{
		"events": {`{"type":"turn.completed"}`, `{"type":"nothing"}`,
			`{"type":"item.completed","item":{"id":"item_0","type":"agent_message"}}`,
			`{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"x","aggregated_output":"","exit_code":"0","status":"completed"}}`},
		"rollout": {`{"seq":0,"timestamp":"x","type":"user_input","prev":"","turn_id":"t","text":"x"}`,
			`{"seq":1,"timestamp":"x","type":"user_input","prev":"zz","turn_id":"t","text":"x"}`},
		"config": {`{"modle":"x"}`, `{"sandbox_mode":"none"}`},
	} {
		r := published(t, name)
		for _, line := range bad {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			if r.Validate(v) == nil {
				t.Errorf("%s obeys the schema of %s", line, name)
			}
		}
	}
}

func TestSchemaPrintsAllOrOne(t *testing.T) {
	var out, errors bytes.Buffer
	if code := run([]string{"kerf", "schema"}, os.Stdin, &out, &errors); code != 0 {
		t.Fatalf("exit %d: %s", code, errors.String())
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 5 || all["tools"]["read_file"] == nil {
		t.Errorf("%v: %.200s", err, out.String())
	}
	if code := run([]string{"kerf", "schema", "event"}, os.Stdin, &out, &errors); code != 2 ||
		!strings.Contains(errors.String(), "events, config, rollout, tools and serve") {
		t.Errorf("exit %d: %s", code, errors.String())
	}
}
