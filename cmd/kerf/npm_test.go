package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/modeltest"
)

// npm runs a script of testdata/npm with the packages of a directory that
// KERF_NPM names, and returns what each of its checks reported.
func npm(t *testing.T, script, pkg string, env ...string) map[string]map[string]any {
	t.Helper()
	dir := os.Getenv("KERF_NPM")
	if dir == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", pkg)); err != nil {
		t.Skipf("%s is not installed: %v", pkg, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	source, err := os.ReadFile(filepath.Join("testdata", "npm", script))
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), script) // modules are found from where the script lies
	write(t, place, string(source))
	if err := os.Symlink(filepath.Join(dir, "node_modules"),
		filepath.Join(filepath.Dir(place), "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, place)
	cmd.Env = append(os.Environ(), env...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", script, err, out, errors.String())
	}
	checks := map[string]map[string]any{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var facts map[string]any
		if err := json.Unmarshal(lines.Bytes(), &facts); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		name, _ := facts["check"].(string)
		delete(facts, "check")
		checks[name] = facts
		t.Logf("%-12s %s", name, lines.Text())
	}
	return checks
}

const sdkRounds = `[
{"Script":{"items":[{"call":"write_file","args":{"file_path":"made.txt","content":"made\n"}}],"usage":{"input_tokens":10,"output_tokens":2}}},
{"Script":{"items":[{"message":"made"}],"usage":{"input_tokens":20,"cached_input_tokens":10,"output_tokens":3}}},
{"Script":{"items":[{"message":"again"}]}},
{"Script":{"items":[{"reasoning":"hm"},{"call":"exec_command","args":{"cmd":"echo hi"}}]}},
{"Script":{"items":[{"message":"streamed"}]}},
{"Script":{"items":[{"message":"{\"status\":\"ok\"}"}]}},
{"Script":{"items":[{"message":"seen"}]}},
{"Script":{"items":[{"message":"back"}]}},
{"Script":{"items":[{"call":"exec_command","args":{"cmd":"sleep 600"}}]}}]`

func TestCodexSDKDrivesKerf(t *testing.T) {
	if os.Getenv("KERF_NPM") == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	var rounds []modeltest.Round
	if err := json.Unmarshal([]byte(sdkRounds), &rounds); err != nil {
		t.Fatal(err)
	}
	model := modeltest.Start(t, rounds...)
	home, dir := t.TempDir(), t.TempDir()
	picture := filepath.Join(home, "dot.png")
	write(t, picture,
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82")
	checks := npm(t, "codex_sdk.mjs", "@openai/codex-sdk", "KERF="+builtProgram(t), "BASE_URL="+model.URL, "REPO="+dir,
		"IMAGE="+picture,
		"HOME="+home, "KERF_HOME="+filepath.Join(home, ".kerf"))
	want := map[string]map[string]any{
		"run": {"final": "made", "items": []any{"file_change", "agent_message"}, "id": "string", "usage": map[string]any{
			"input_tokens": 30.0, "cached_input_tokens": 10.0, "output_tokens": 5.0, "reasoning_output_tokens": 0.0,
			"cache_write_input_tokens": 0.0}},
		"same thread": {"final": "again"},
		"streamed": {"kinds": []any{"thread.started", "turn.started", "item.completed:reasoning",
			"item.started:command_execution",
			"item.completed:command_execution", "item.completed:agent_message", "turn.completed"}},
		"structured": {"status": "ok"}, "image": {"final": "seen"}, "resumed": {"final": "back"},
		"abort": {"aborted": true}, "git check": {"refused": true},
	}
	if d := cmp.Diff(want, checks); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
	requests := model.Requests()
	first := string(requests[0].Body)
	for _, part := range []string{`"model":"gpt-sdk"`, `"effort":"high"`} {
		if !strings.Contains(first, part) {
			t.Errorf("the first request lacks %s", part)
		}
	}
	if got := requests[0].Header.Get("Authorization"); got != "Bearer sdk-key" {
		t.Errorf("authorization is %q", got)
	}
	if body := string(requests[6].Body); !strings.Contains(body, "data:image/png;base64,") ||
		!strings.Contains(body, `look\n\nclosely`) {
		t.Error("the image or the joined text did not reach the model")
	}
}

const acpScenario = `{"version":1,"title":"judged","rounds":[
{"items":[{"call":"update_plan","args":{"plan":[{"step":"edit","status":"in_progress"}]},"id":"p"},{"call":"read_file","args":{"file_path":"f.txt"},"id":"r"}]},
{"items":[{"call":"edit_file","args":{"file_path":"f.txt","old_string":"b","new_string":"B"},"id":"e"}]},
{"items":[{"message":"edited"}]},
{"items":[{"call":"exec_command","args":{"cmd":"echo ran"},"id":"x"}]},
{"items":[{"message":"ran"}]},
{"items":[{"call":"exec_command","args":{"cmd":"sleep 600"},"id":"s"}]},
{"items":[{"message":"planned"}]}]}`

func TestACPSDKDrivesKerf(t *testing.T) {
	s := serving(t, acpScenario, map[string]string{"f.txt": "a\nb\n"})
	checks := npm(t, "acp.mjs", "@agentclientprotocol/sdk", "KERF="+builtProgram(t), "REPO="+s.dir,
		"HOME="+s.host.Config.Home,
		"KERF_HOME="+s.host.Config.Home)
	want := map[string]map[string]any{
		"initialize": {"name": "kerf", "load": true, "version": 1.0},
		"new":        {"modes": []any{"ask", "auto-edit", "plan", "full"}, "current": "ask"},
		"edit":       {"stop": "end_turn", "asked": 1.0, "diff": true, "wrote": true, "file": "a\nB\n", "plan": true},
		"terminal":   {"stop": "end_turn", "terminals": 1.0, "shown": true},
		"cancel":     {"stop": "cancelled"}, "undo": {"stop": "end_turn", "file": "a\nb\n"}, "plan mode": {"stop": "end_turn"},
		"list": {"found": true}, "load": {"users": true, "calls": true}, "leave": {"code": 0.0},
	}
	if d := cmp.Diff(want, checks); d != "" {
		t.Errorf("checks (-want +got):\n%s", d)
	}
}

// TestACPSDKHoldsTheModes is TestACPModesDecideWhatIsAsked with the official TypeScript
// SDK and the program: each mode, each kind of tool, each decision; stop ends the turn
// instead of answering the first question.
func TestACPSDKHoldsTheModes(t *testing.T) {
	if os.Getenv("KERF_NPM") == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	r, url := remote(t)
	offer(r, "x", "Does x.", "the tool ran", nil)
	outside := t.TempDir()
	for _, approval := range []string{"on-request", "untrusted", "never"} {
		t.Run(approval, func(t *testing.T) {
			s := servingWith(t, "sandbox_mode = \"workspace-write\"\napproval_policy = \""+approval+"\"\n",
				strings.ReplaceAll(everyWay, "OUTSIDE", outside), nil).configure(t, serverOfEveryWay(url))
			checks := npm(t, "acp_modes.mjs", "@agentclientprotocol/sdk", "KERF="+builtProgram(t), "REPO="+s.dir,
				"OUTSIDE="+outside, "HOME="+s.host.Config.Home, "KERF_HOME="+s.host.Config.Home)
			want := map[string]map[string]any{}
			for _, mode := range []string{"begun", "ask", "auto-edit", "plan", "full"} {
				for _, decision := range []string{"allow", "reject", "cancel", "stop"} {
					asked, done := expected("workspace-write", approval, mode, decision == "allow")
					stop := "end_turn"
					if decision == "stop" && asked != "" {
						stop, asked = "cancelled", asked[:1]
						done = strings.TrimRight(done, ways[strings.Index(ways, asked):])
					}
					shown := strings.Map(func(way rune) rune {
						if strings.ContainsRune("wep", way) {
							return way
						}
						return -1
					}, done)
					want[mode+" "+decision] = map[string]any{"stop": stop, "asked": asked, "done": done, "shown": shown}
				}
			}
			if d := cmp.Diff(want, checks); d != "" {
				t.Errorf("checks (-want +got):\n%s", d)
			}
		})
	}
}

// TestInspectorReachesTheTools has the official inspector call the file tools of kerf mcp-server.
func TestInspectorReachesTheTools(t *testing.T) {
	inspector := filepath.Join(os.Getenv("KERF_NPM"), "node_modules", ".bin", "mcp-inspector")
	if os.Getenv("KERF_NPM") == "" {
		t.Skip("KERF_NPM names no directory with node_modules")
	}
	if _, err := os.Stat(inspector); err != nil {
		t.Skipf("@modelcontextprotocol/inspector is not installed: %v", err)
	}
	node := os.Getenv("KERF_NODE") // newer releases want a newer one than others
	if node == "" {
		node = "node"
	}
	kerf, home, dir := builtProgram(t), t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "f.txt"), "a\nb\n")
	for _, tt := range []struct {
		args []string
		says string // without blanks
	}{
		{[]string{"tools/list"}, `"name":"apply_patch"`},
		{[]string{"tools/call", "--tool-name", "read_file", "--tool-arg", "file_path=f.txt"}, `"1|a\n2|b`},
		{[]string{"tools/call", "--tool-name", "write_file", "--tool-arg", "file_path=g.txt", "--tool-arg", "content=hello"},
			`"text":"Createdg.txt`},
		{[]string{"tools/call", "--tool-name", "edit_file", "--tool-arg", "file_path=f.txt", "--tool-arg", "old_string=b",
			"--tool-arg", "new_string=B"}, `"text":"Editedf.txt`},
		{[]string{"tools/call", "--tool-name", "blame", "--tool-arg", "file_path=f.txt"}, `edit_fileinspector-cli2)B`},
		{[]string{"tools/call", "--tool-name", "log"}, `modifiedf.txt`},
		{[]string{"resources/list"}, `"resources":[]`},
		{[]string{"prompts/list"}, `"prompts":[]`},
	} {
		cmd := exec.CommandContext(t.Context(), node, append([]string{inspector, "--cli", kerf, "mcp-server", "--method"},
			tt.args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "KERF_HOME="+filepath.Join(home, ".kerf"))
		out, err := cmd.CombinedOutput()
		plain := strings.NewReplacer(" ", "", "\n", "").Replace(string(out))
		if err != nil || !strings.Contains(plain, tt.says) {
			t.Errorf("%v: %v\n%s", tt.args, err, out)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "f.txt")); err != nil || string(b) != "a\nB\n" {
		t.Errorf("f.txt is %q, %v", b, err)
	}
}
