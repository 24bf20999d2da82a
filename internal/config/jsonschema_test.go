package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"kerf/internal/config/document"
)

func resolved(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	r, err := JSONSchema().Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// obeys reports what the schema says against a text in TOML.
func obeys(t testing.TB, r *jsonschema.Resolved, text string) error {
	t.Helper()
	var v any
	if err := toml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return r.Validate(v)
}

// loads reports what Load says against a text.
func loads(t testing.TB, text string) error {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(Options{Home: home, Cwd: home, Env: func(string) string { return "" }})
	return err
}

// everyKey writes each key of a table once, with a value that fits.
func everyKey(b *strings.Builder, t reflect.Type, path []string) {
	var tables []func()
	fmt.Fprintf(b, "[%s]\n", document.Key(path...))
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("key")
		if key == "" || slices.Contains([]string{"hooks", "keymap", "profile", "url"}, key) {
			continue
		}
		here := append(path[:len(path):len(path)], key)
		if text := valueOf(f.Type, f.Tag); text != "" {
			fmt.Fprintf(b, "%s = %s\n", key, text)
			continue
		}
		elem := f.Type
		if f.Type.Kind() == reflect.Map {
			elem, here = f.Type.Elem(), append(here, "x")
		}
		tables = append(tables, func() { everyKey(b, elem, here) })
	}
	for _, table := range tables {
		table()
	}
}

// valueOf is a value for a field, empty for tables.
func valueOf(t reflect.Type, tag reflect.StructTag) string {
	word := strings.Split(tag.Get("enum"), " ")[0]
	switch t.Kind() {
	case reflect.Pointer:
		return valueOf(t.Elem(), tag)
	case reflect.Struct:
		return ""
	case reflect.Map:
		if t.Elem().Kind() == reflect.String {
			return fmt.Sprintf("{ a = %q }", word)
		}
		return ""
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[LanguageServer]() {
			return `[{ name = "x", command = "x", args = ["a"], globs = ["*.x"], markers = ["a"], language = "x", env = { A = "b" }, ` +
				`options = { a = 1, b = { c = [true] } }, settings = { a = "b" }, diagnostics = "pull", off = true, memory_mib = 2, timeout = 2 }]`
		}
		if t.Elem().Kind() == reflect.Struct {
			return `[{ name = "x", command = "x", paths = ["a"], when = ["edit"], timeout = 2, gate = "tell", writes = true }]`
		}
		return `["/a"]`
	case reflect.Bool:
		return "true"
	case reflect.Int, reflect.Int64:
		return "2"
	case reflect.Float64:
		return "2.5"
	}
	switch tag.Get("key") {
	case "model_provider", "default_permissions", "command":
		return `"x"`
	case "openai_base_url", "base_url":
		return `"https://model.test/v1"`
	}
	return fmt.Sprintf("%q", word)
}

func whole() string {
	var b strings.Builder
	everyKey(&b, reflect.TypeFor[Config](), nil)
	_, text, _ := strings.Cut(b.String(), "\n") // the root has no header
	return text
}

func TestSchemaTakesEveryKey(t *testing.T) {
	text := whole()
	if err := loads(t, text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := obeys(t, resolved(t), text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if err := obeys(t, resolved(t), string(builtIn(t))); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

func builtIn(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("defaults.toml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSchemaAndLoadAgree(t *testing.T) {
	r := resolved(t)
	for text, good := range map[string]bool{
		"modle = 'x'": false, "model = 5": false, "model = ''": true,
		"sandbox_mode = 'none'": false, "sandbox_mode = 'read-only'": true,
		"[agents]\nmax_threads = 65": false, "[agents]\nmax_threads = -1": false, "[agents.role]\ndescription = 'x'": true,
		"[tools]\nweb_search = true\nview_image = {enabled = false}": true, "web_search = 'live'": true,
		"web_search = 'dead'":         false,
		"[tools]\nview_image = 'yes'": false,
		"[model_providers.x]\nbase_url = 'https://a.test'\nwire_api = 'smoke'":                                    false,
		"[model_providers.x]\nbase_url = 'https://a.test'\nwibble = 1":                                            false,
		"[mcp_servers.s]\ncommand = 'x'\nstartup_timeout_sec = 1.5":                                               true,
		"[mcp_servers.s]\ncommand = 'x'\nstartup_timeout_sec = 0":                                                 false,
		"[mcp_servers.s]\ncommand = 'x'\ntransport = 'stdio'\n[mcp_servers.s.tools.t]\napproval_mode = 'approve'": true,
		"[mcp_servers.s]\ncommand = 'x'\ndefault_tools_approval_mode = 'always'":                                  false,
		"[permissions.p.filesystem]\n'/a' = 'write'\nglob_scan_max_depth = 3\n[permissions.p.filesystem.':root']\n" +
			"'.' = 'read'": true,
		"[permissions.p.filesystem]\n'/a' = 'execute'":              false,
		"[permissions.p.network.domains]\n'a.test' = 'maybe'":       false,
		"[models.m]\nparallel_tool_calls = true\nprice_input = 0.5": true, "[models.m]\nprice_input = -1": false,
		"[analytics]\nenabled = false": true, "notify = ['x']": true, "[projects.'/a']\ntrusted_hash = 'x'": true,
		"[profiles.p]\nmodel = 'x'\n[profiles.p.tools]\nupdate_plan = false": true, "[profiles.p]\nmodel = 1": false,
		"[[language_servers]]\nname = 'x'\ncommand = 'x'\nglobs = ['*.x']": true, "[[language_servers]]\ncommand = 7": false,
		"[[language_servers]]\nname = 'x'\nwhatever = 1": false,
		"[tui]\nanything = 1":                            true, "[budget]\nmax_cost = 1.25": true, "[budget]\nmax_cost = '1'": false,
	} {
		if err := loads(t, text); (err == nil) != good {
			t.Errorf("Load says %v of\n%s", err, text)
		}
		if err := obeys(t, r, text); (err == nil) != good {
			t.Errorf("the schema says %v of\n%s", err, text)
		}
	}
}

// TestSchemaTakesWhatLoadTakes breaks and bends a whole configuration: whatever
// Load still takes obeys the schema.
func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	r := resolved(t)
	var tree map[string]any
	if err := toml.Unmarshal([]byte(whole()), &tree); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for rounds := 0; taken < 5 && !t.Failed(); rounds++ { // a few of a hundred are
		rapid.Check(t, func(rt *rapid.T) {
			text := bent(rt, tree)
			if loads(t, text) != nil {
				return
			}
			taken++
			if err := obeys(t, r, text); err != nil {
				rt.Fatalf("%v\n%s", err, text)
			}
		})
		if rounds == 20 {
			t.Fatalf("only %d of the configurations were taken", taken)
		}
	}
}

// bent is tree with one value replaced.
func bent(t *rapid.T, tree map[string]any) string {
	b, err := toml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := toml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	for at := c; ; {
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(at))).Draw(t, "key")
		if table, ok := at[key].(map[string]any); ok && len(table) > 0 && rapid.IntRange(0, 9).Draw(t, "deeper") > 0 {
			at = table
			continue
		}
		at[key] = rapid.SampledFrom([]any{true, false, int64(0), int64(1), int64(-3), 0.5, 2.0, "", "x", "live", "none",
			"read", "allow",
			[]any{}, []any{"a"}, []any{int64(1)}, map[string]any{}, map[string]any{"enabled": true},
			map[string]any{"a": "read"}}).Draw(t, "value")
		break
	}
	if b, err = toml.Marshal(c); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
