//go:build unix

package config

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestAPlaceholderIsNoConfiguration: a socket stands for .kerf while a command runs, so
// that the command cannot make it. Whoever loads the configuration meanwhile finds none.
func TestAPlaceholderIsNoConfiguration(t *testing.T) {
	dir, err := os.MkdirTemp("", "k") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, ".kerf"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, warnings, err := Load(Options{Home: filepath.Join(dir, "home"), Cwd: dir, Trusted: true,
		Env: func(string) string { return "" }})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	if files, err := c.RulesFiles(true); err != nil || len(files) > 0 {
		t.Errorf("rules: %v, %v", files, err)
	}
	if hooks, warnings, err := c.HookList(); err != nil || len(hooks)+len(warnings) > 0 {
		t.Errorf("hooks: %v, %v, %v", hooks, warnings, err)
	}
}
