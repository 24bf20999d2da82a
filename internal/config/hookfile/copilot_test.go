package hookfile

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/config/peers"
)

// TestLongTimeoutsAreCut: other agents' files have milliseconds for seconds now and then; their hooks
// run all the same.
func TestLongTimeoutsAreCut(t *testing.T) {
	events := map[string]any{"Stop": []any{map[string]any{"hooks": []any{
		map[string]any{"type": "command", "command": "a", "timeout": 30000.0},
		map[string]any{"type": "command", "command": "b", "timeout": int64(4000)},
		map[string]any{"type": "command", "command": "c", "timeout": 5.0}}}}}
	list, warnings := OfPeer(peers.HookFile{File: "f", Events: events})
	if len(list) != 3 || list[0].Timeout != time.Hour || list[1].Timeout != time.Hour || list[2].Timeout != 5*time.Second {
		t.Errorf("%+v", list)
	}
	if d := cmp.Diff([]string{"f: hooks of Stop: timeout: an hour at most"}, warnings); d != "" {
		t.Error(d)
	}
}

// TestHooksOfCopilot reads what stands in such files, and a few things that do not belong there.
func TestHooksOfCopilot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands for bash are not used there")
	}
	var events map[string]any
	text := `{
 "preToolUse": [
  {"type": "command", "bash": "./guard.sh", "powershell": "./guard.ps1", "cwd": "scripts", "env": {"A": "b"}, "timeoutSec": 15, "comment": "c"},
  {"exec": "bin/guard", "args": ["it's", "$(x)"], "timeout": 5, "timeoutSec": 7, "matcher": "bash|edit"},
  {"type": "http", "url": "https://a.test/x", "headers": {"X": "y"}},
  {"powershell": "only"}, {"type": "agent"}, {"bash": "x", "env": {"A=B": "c"}}, {"bash": "x", "env": {"A": 1}}, 7, {}],
 "PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "after"}]}],
 "sessionStart": [{"type": "prompt", "prompt": "/plan"}],
 "userPromptTransformed": [{"bash": "x"}], "errorOccurred": {"bash": "x"}}`
	if err := json.Unmarshal([]byte(text), &events); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, warnings := OfPeer(peers.HookFile{File: "f", Events: events, Form: peers.Copilot, Dir: dir})
	want := []Hook{
		{Event: "PostToolUse", Matcher: "Bash", Command: "after", Timeout: 30 * time.Second, From: "f", Form: peers.Copilot, Dir: dir},
		{Event: "PreToolUse", Command: "./guard.sh", Timeout: 15 * time.Second, From: "f", Form: peers.Copilot, Told: "preToolUse",
			Required: true, Dir: filepath.Join(dir, "scripts"), Vars: map[string]string{"A": "b"}},
		{Event: "PreToolUse", Matcher: "bash|edit", Command: `'bin/guard' 'it'\''s' '$(x)'`, Timeout: 7 * time.Second, From: "f",
			Form: peers.Copilot, Told: "preToolUse", Required: true, Dir: dir},
		{Event: "PreToolUse", URL: "https://a.test/x", Headers: map[string]string{"X": "y"}, Timeout: 30 * time.Second, From: "f",
			Form: peers.Copilot, Told: "preToolUse", Dir: dir},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	told := strings.Join(warnings, "\n")
	for _, why := range []string{"its command is for powershell only", `found "agent"`, "env: expected a table of texts",
		"expected a table", "command: expected a command, found none", "type: a prompt is not sent in your place",
		"hooks of errorOccurred: expected a list of tables", "hooks of userPromptTransformed: no such event here"} {
		if !strings.Contains(told, why) {
			t.Errorf("nothing says %q:\n%s", why, told)
		}
	}
}
