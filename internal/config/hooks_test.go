package config

import (
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/config/trust"
)

// TestSEC_C2_HooksOfAProjectNeedTrustInTheirBytes has a project name programs.
func TestSEC_C2_HooksOfAProjectNeedTrustInTheirBytes(t *testing.T) {
	w := newWorld(t)
	hooks := filepath.Join(w.project, ".kerf/hooks.json")
	w.write(hooks, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "id", "timeout": 5}]}]}}`)
	count := func() (int, string) {
		t.Helper()
		c := w.must(nil)
		list, warnings, err := c.HookList()
		if err != nil {
			t.Fatal(err)
		}
		return len(list), strings.Join(warnings, "\n")
	}
	if n, warned := count(); n != 0 || !strings.Contains(warned, "hooks.json: ignored") {
		t.Errorf("untrusted: %d hooks, %q", n, warned)
	}
	c := w.must(nil)
	hash, err := trust.Hash(c.Root, c.Cwd, c.Home)
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Accept(c.Home, c.Root, hash); err != nil {
		t.Fatal(err)
	}
	if n, warned := count(); n != 1 || warned != "" { // control
		t.Errorf("trusted: %d hooks, %q", n, warned)
	}
	w.write(hooks, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "id; id"}]}]}}`)
	if n, warned := count(); n != 0 || warned == "" {
		t.Errorf("changed since: %d hooks, %q", n, warned)
	}
}

// TestSEC_C2_WhatIsUsedIsWhatWasCompared has a file change between the moment at which it is read
// and the one at which it is compared with what the user trusts.
func TestSEC_C2_WhatIsUsedIsWhatWasCompared(t *testing.T) {
	w := newWorld(t)
	good, bad := `{"hooks": {"preToolUse": [{"bash": "good"}]}}`, `{"hooks": {"preToolUse": [{"bash": "evil"}]}}`
	own := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "good"}]}]}}`
	for name, texts := range map[string][2]string{".github/hooks/a.json": {good, bad},
		".mcp.json":        {`{"mcpServers":{"a":{"command":"good"}}}`, `{"mcpServers":{"a":{"command":"evil"}}}`},
		".kerf/hooks.json": {own, strings.ReplaceAll(own, "good", "evil")}} {
		file := filepath.Join(w.project, filepath.FromSlash(name))
		w.write(file, texts[0])
		c := w.must(nil)
		hash, err := trust.Hash(c.Root, c.Cwd, c.Home)
		if err != nil {
			t.Fatal(err)
		}
		if err := trust.Accept(c.Home, c.Root, hash); err != nil {
			t.Fatal(err)
		}
		c = w.must(nil)
		files := trust.Once()
		w.write(file, texts[1]) // somebody changes it
		data, err := files.Read(w.project, name)
		if err != nil || !strings.Contains(string(data), "evil") {
			t.Fatalf("%s: %q, %v", name, data, err)
		}
		w.write(file, texts[0]) // and back
		if c.bound(files) {
			t.Errorf("%s: what was read is not what the user trusts, and it counts", name)
		}
		if !c.bound(trust.Once()) { // control
			t.Errorf("%s: what is there is what the user trusts, and it does not count", name)
		}
	}
}

func TestRulesAreAddedOnceAndRemoved(t *testing.T) {
	home := t.TempDir()
	for _, line := range []string{"a -> allow", "b -> forbid", "a -> allow"} {
		if err := AddRule(home, line); err != nil {
			t.Fatal(err)
		}
	}
	if err := AddRule(home, "a\nb -> allow"); err == nil {
		t.Error("a rule of two lines was added")
	}
	c := &Config{Home: home, Root: home, Cwd: home}
	files, err := c.RulesFiles(true)
	if err != nil || len(files) != 1 || string(files[0].Data) != "a -> allow\nb -> forbid\n" || files[0].Layer != "user" {
		t.Fatalf("%+v, %v", files, err)
	}
	if err := RemoveRule(files[0].Path, 2, "a -> allow"); err == nil {
		t.Error("removed a line that is another one")
	}
	if err := RemoveRule(files[0].Path, 1, "a -> allow"); err != nil {
		t.Fatal(err)
	}
	if files, _ = c.RulesFiles(false); string(files[0].Data) != "b -> forbid\n" {
		t.Errorf("left: %q", files[0].Data)
	}
}
