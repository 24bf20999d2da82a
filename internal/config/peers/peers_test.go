package peers

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inMemory are files by their names below any directory.
type inMemory map[string]string

func (m inMemory) Read(dir, name string) ([]byte, error) {
	if text, ok := m[filepath.ToSlash(filepath.Join(dir, name))]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (m inMemory) Names(dir, name string) (names []string) {
	for path := range m {
		if rest, ok := strings.CutPrefix(path, filepath.ToSlash(filepath.Join(dir, name))+"/"); ok && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

// linked are files that cannot be read, for a link is in the way.
type linked struct{}

func (linked) Read(string, string) ([]byte, error) { return nil, errors.New("a link") }
func (linked) Names(string, string) []string       { return []string{"a.json"} }

func TestServersAsAgentsSpellThem(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{
		{"claude", `{"type":"stdio","command":"npx","args":["-y","a@1"],"env":{"K":"v","N":1,"B":true}}`,
			`{"Command":"npx","Args":["-y","a@1"],"Env":{"B":"true","K":"v","N":"1"}}`},
		{"gemini", `{"httpUrl":"https://a.test/mcp","headers":{"X":"y"},"timeout":5000,"includeTools":["a"]}`,
			`{"URL":"https://a.test/mcp","Headers":{"X":"y"},"Timeout":5,"EnabledTools":["a"]}`},
		{"opencode", `{"type":"local","command":["bun","x","a"],"environment":{"K":"v"},"enabled":true}`,
			`{"Command":"bun","Args":["x","a"],"Env":{"K":"v"}}`},
		{"codex", `{"url":"https://a.test","bearer_token_env_var":"T","startup_timeout_sec":2.5,"env_vars":["A"]}`,
			`{"URL":"https://a.test","BearerVar":"T","Startup":2.5,"EnvVars":["A"]}`},
	} {
		var said any
		if err := json.Unmarshal([]byte(tt.said), &said); err != nil {
			t.Fatal(err)
		}
		got := Parse(said)
		var want Given
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Given); d != "" || got.Why != "" || got.Left != nil {
			t.Errorf("%s: %q, left %q (-want +got)\n%s", tt.name, got.Why, got.Left, d)
		}
	}
	for said, want := range map[string]string{
		`{}`:                                     "it has neither a command nor a URL",
		`{"command":"a","url":"https://a"}`:      "it has both a command and a URL",
		`{"command":{}}`:                         "command: expected a text",
		`{"command":"a","args":"b"}`:             "args: expected a list of texts",
		`{"command":"a","env":{"A=B":"c"}}`:      "env: a name in it is not one",
		`{"command":"a","type":"ws"}`:            "type: Kerf does not speak ws",
		`{"command":"a","enabled":false}`:        "turned off there",
		`{"command":"a","tool_timeout_sec":1e9}`: "tool_timeout_sec: expected a time of more than nothing and at most an hour",
		`[]`:                                     "expected a table",
	} {
		var x any
		if err := json.Unmarshal([]byte(said), &x); err != nil {
			t.Fatal(err)
		}
		if got := Parse(x).Why; got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
	if s := Parse(map[string]any{"command": "a", "autoApprove": []any{"*"}, "trust": true}); s.Why != "" ||
		!reflect.DeepEqual(s.Left, []string{"autoApprove", "trust"}) {
		t.Errorf("what a project may not decide is not told: %+v", s)
	}
}

func TestPlaceholders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"SET": "value", "HOME": "/h"}[name] }
	for _, tt := range []struct{ arg, want, why, cwd string }{
		{arg: "${SET} and ${env:SET}", want: "value and value"},
		{arg: "${NOT:-other}", want: "other"},
		{arg: "${SET:-other}", want: "value"},
		{arg: "${NOT}", why: "the variable NOT is not set"},
		{arg: "${workspaceFolder}/x", want: dir + "/x", cwd: dir},
		{arg: "server.js", want: "server.js", cwd: dir},
		{arg: "absent.js", want: "absent.js"},
		{arg: "@scope/absent@1.0", want: "@scope/absent@1.0"},
		{arg: "./absent", want: "./absent", cwd: dir},
		{arg: "${input:key}", why: "it asks for the input key, which Kerf does not do; add it with: kerf mcp add"},
		{arg: "${command:x.y}", why: "Kerf does not know ${command:x.y}"},
		{arg: "${A B}", why: "Kerf does not know ${A B}"},
		{arg: "$SET $", want: "$SET $"},
	} {
		s := Server{Dir: dir, Given: Given{Command: "run", Args: []string{tt.arg}}}
		g, _, why := s.Expanded(env)
		if why != tt.why || why == "" && (g.Args[0] != tt.want || g.Cwd != tt.cwd) {
			t.Errorf("%s: %q in %q, %q; want %q in %q, %q", tt.arg, g.Args[0], g.Cwd, why, tt.want, tt.cwd, tt.why)
		}
		if s.Given.Args[0] != tt.arg {
			t.Errorf("%s: what the file says was changed", tt.arg)
		}
	}
	s := Server{Dir: dir, Given: Given{URL: "ftp://a"}}
	if _, _, why := s.Expanded(env); why == "" {
		t.Error("an address that is none of HTTP is taken")
	}
}

func TestToldChangesWithWhatWouldRun(t *testing.T) {
	base := map[string]string{"d/.mcp.json": `{"mcpServers":{"a":{"command":"x"}}}`,
		"d/.claude/settings.json": `{"theme":"dark","mcpServers":{"b":{"command":"y"}}}`, "d/.codex/config.toml": `model="m"`}
	told := func(more map[string]string) map[string]string {
		files := maps.Clone(base)
		maps.Copy(files, more)
		return Told("d", inMemory(files))
	}
	before := told(nil)
	if len(before) != 2 {
		t.Fatalf("told of %v", before)
	}
	if d := cmp.Diff(before, told(map[string]string{"d/.claude/settings.json": `{"mcpServers":{"b":{"command":"y"}}}`})); d != "" {
		t.Errorf("a theme counts: %s", d)
	}
	for file, text := range map[string]string{
		"d/.mcp.json":                     `{"mcpServers":{"a":{"command":"z"}}}`,
		"d/.claude/settings.json":         `{"mcpServers":{"b":{"command":"y"}},"disabledMcpjsonServers":["a"]}`,
		"d/.codex/config.toml":            "[mcp_servers.c]\ncommand='z'",
		"d/.vscode/mcp.json":              `{`,
		"d/.github/hooks/a.json":          `{"hooks":{"preToolUse":[{"bash":"x"}]}}`,
		"d/.github/mcp.json":              `{"mcpServers":{"g":{"command":"x"}}}`,
		"d/.github/copilot/settings.json": `{"hooks":{"preToolUse":[{"bash":"x"}]}}`,
	} {
		if cmp.Equal(before, told(map[string]string{file: text})) {
			t.Errorf("%s: another content is told as the same", file)
		}
	}
	if len(Told("d", linked{})) != len(files) {
		t.Error("files that cannot be read are not told")
	}
}

func TestTheNearestServerCounts(t *testing.T) {
	list, faults := Servers([]string{"r", "r/sub"}, inMemory(map[string]string{
		"r/.mcp.json":             `{"mcpServers":{"a":{"command":"far"},"b":{"command":"b"}}}`,
		"r/sub/.vscode/mcp.json":  "\xef\xbb\xbf{\"servers\":{\"a\":{\"command\":\"near\"}, // c\n},}",
		"r/.gemini/settings.json": `{"mcpServers":[]}`, "r/.cursor/mcp.json": "\x00", "r/sub/.mcp.json": " "}))
	var got []string
	for _, s := range list {
		got = append(got, s.Name+" "+s.Given.Command+" "+s.Why)
	}
	want := []string{"a near ", "a far sub/.vscode/mcp.json has a server of this name", "b b "}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(faults) != 2 {
		t.Errorf("faults: %v", faults)
	}
	many := `{"mcpServers":{` + strings.Repeat(`"x":{},`, 3)
	for i := range maxServers + 1 {
		many += `"` + strings.Repeat("n", i+1) + `":{"command":"c"},`
	}
	list, faults = Servers([]string{"r"}, inMemory(map[string]string{"r/.mcp.json": many + "}}"}))
	if len(list) != maxServers || len(faults) != 1 {
		t.Errorf("%d servers, %v", len(list), faults)
	}
}

// FuzzUncommented: what is JSON stays the same JSON.
func FuzzUncommented(f *testing.F) {
	for _, s := range []string{`{"a": "b // c", "d": ["/* e */", 1]}`, `{"a": "\\\"", }`, `"`, `/*`, `//`, `{"a":1,/*x*/}`, `[,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := uncommented(data)
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			_, _ = Table("x.json", data)
			return
		}
		if err := json.Unmarshal(out, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q: %v", data, out, err)
		}
	})
}
