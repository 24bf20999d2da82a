package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestDirtyRunsNoFilter(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("a.txt", "a\n")
	run("add", ".")
	run("-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "first")
	if dirty, err := Dirty(t.Context(), dir); dirty || err != nil {
		t.Fatalf("clean: Dirty = %v, %v", dirty, err)
	}
	write("a.txt", "b\n")
	if dirty, err := Dirty(t.Context(), dir); !dirty || err != nil {
		t.Fatalf("changed: Dirty = %v, %v", dirty, err)
	}
	mark := filepath.Join(t.TempDir(), "ran")
	run("config", "filter.evil.clean", "touch "+mark+"; cat")
	write(".gitattributes", "*.txt filter=evil\n")
	write("a.txt", "c\n")
	if dirty, err := Dirty(t.Context(), dir); !dirty || err != nil {
		t.Fatalf("with a filter: Dirty = %v, %v", dirty, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's filter was run")
	}
	write("a.txt", "d\n")
	run("add", "a.txt") // the control: plain git does run it
	if _, err := os.Stat(mark); err != nil {
		t.Error("the filter does not run even for plain git: this test shows nothing")
	}
}

func TestBlobFindsByPrefix(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "hash-object", "-w", "a")
	cmd.Dir = dir
	id, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := Blob(t.Context(), dir, string(id[:8])); !ok || string(got) != "hello\n" {
		t.Errorf("Blob(%s) = %q, %v", id[:8], got, ok)
	}
	for _, bad := range []string{"", "abc", "HEAD", "--help", "0123456789"} {
		if got, ok := Blob(t.Context(), dir, bad); ok {
			t.Errorf("Blob(%q) = %q, want none", bad, got)
		}
	}
}
