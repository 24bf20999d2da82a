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
