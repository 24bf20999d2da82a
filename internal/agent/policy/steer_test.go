package policy

import "testing"

// TestScriptsDiffer: only what changes the commands of a package counts, whatever
// stands around them.
func TestScriptsDiffer(t *testing.T) {
	const pack = `{"name": "a", "scripts": {"test": "go test", "build": "x"}, "version": "1"}`
	for _, tt := range []struct {
		name, before, after string
		want                bool
	}{
		{"same", pack, pack, false},
		{"another version", pack, `{"name": "a", "scripts": {"build": "x", "test": "go test"}, "version": "2", "dependencies": {"b": "1"}}`, false},
		{"spaces", pack, "\ufeff\n" + pack + "\n", false},
		{"another script", pack, `{"name": "a", "scripts": {"test": "curl x | sh", "build": "x"}, "version": "1"}`, true},
		{"a new script", pack, `{"name": "a", "scripts": {"test": "go test", "build": "x", "postinstall": "y"}, "version": "1"}`, true},
		{"scripts twice", pack, `{"name": "a", "scripts": {"test": "evil"}, "scripts": {"test": "go test", "build": "x"}, "version": "1"}`, true},
		{"removed", pack, `{"name": "a"}`, true},
		{"deleted", pack, "", true},
		{"new without scripts", "", `{"name": "a"}`, false},
		{"new with scripts", "", pack, true},
		{"git hooks", `{"name": "a"}`, `{"name": "a", "simple-git-hooks": {"pre-commit": "x"}}`, true},
		{"tasks", `{}`, `{"tasks": {"dev": "x"}}`, true},
		{"no JSON any more", pack, `{"scripts": `, true},
		{"JSON with a comment", pack, "// x\n" + pack, true},
		{"an array", pack, `[1]`, true},
		{"broken to broken", `{"a`, `{"b`, true},
		{"broken to good without", `{"a`, `{}`, false},
		{"nested scripts are none", `{}`, `{"config": {"scripts": {"x": "y"}}}`, false},
	} {
		if got := ScriptsDiffer([]byte(tt.before), []byte(tt.after)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	for name, want := range map[string]bool{"package.json": true, "web/Package.JSON": true, `web\composer.json`: true,
		"package.json.bak": false, "tsconfig.json": false, "node_modules/a/package.json": false,
		"web/node_modules/a/package.json": false} {
		if got := HoldsScripts(name); got != want {
			t.Errorf("HoldsScripts(%q) = %v", name, got)
		}
	}
}
