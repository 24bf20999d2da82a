package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherModulePath gives a clone another path in the one step that doc/install.md tells,
// compiles all of it, and installs it from there as `go install PATH@latest` does: from a
// repository, which here lies on this machine.
func TestAnotherModulePath(t *testing.T) {
	if os.Getenv("KERF_LONG") == "" {
		t.Skip("compiles everything under another path; KERF_LONG=1 runs it")
	}
	const path = "example.org/of/kerf.git"
	root := filepath.Join(scratch, "moved")
	must(t, ".", nil, "git", "clone", "-q", "..", root)
	must(t, root, nil, "make", "module", "PATH_OF="+path)
	for _, word := range []string{`"kerf/`, "kerf v0", "module kerf"} {
		if out, err := exec.Command("git", "-C", root, "grep", "-nF", word, "--", "*.go", "*go.mod").Output(); err == nil {
			t.Errorf("the old path is still there:\n%s", out)
		}
	}
	must(t, root, nil, "go", "vet", "./...")
	must(t, root, nil, "go", "test", "./internal/layers", "./internal/text/...", "./sdk/...")
	must(t, filepath.Join(root, "release"), nil, "go", "vet", ".")
	must(t, root, nil, "git", "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-qam", "another path")
	must(t, root, nil, "git", "tag", "v0.9.0")

	settings := filepath.Join(scratch, "gitconfig")
	text := "[url \"" + root + "\"]\n\tinsteadOf = https://example.org/of/kerf.git\n[safe]\n\tdirectory = *\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(scratch, "bin")
	must(t, scratch, []string{"GIT_CONFIG_GLOBAL=" + settings, "GOPRIVATE=example.org", "GOFLAGS=-modcacherw", "GOBIN=" + bin},
		"go", "install", path+"/cmd/kerf@latest")
	out := must(t, scratch, nil, filepath.Join(bin, "kerf"), "version")
	if !strings.HasPrefix(out, "kerf ") {
		t.Errorf("kerf version: %s", out)
	}
	t.Logf("%s", out)
}

// must runs a command with env over this process's, and returns what it wrote to its output.
func must(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	var out, all bytes.Buffer
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &all
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, out.Bytes(), all.Bytes())
	}
	return out.String()
}
