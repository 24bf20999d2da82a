package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDemoOverEveryProtocol runs the demonstration against the scripted server.
// One protocol stands for all unless KERF_LONG is set: the runs of the Go tests
// within take most of the time.
func TestDemoOverEveryProtocol(t *testing.T) {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the demo needs " + tool)
		}
	}
	apis := []string{"anthropic"}
	if os.Getenv("KERF_LONG") != "" {
		apis = []string{"responses", "chat", "anthropic", "gemini"}
	}
	for _, api := range apis {
		t.Run(api, func(t *testing.T) {
			t.Setenv("KERF_HOME", t.TempDir())
			t.Setenv("TMPDIR", t.TempDir())
			var out, words strings.Builder
			if code := run([]string{"kerf", "demo", "--api", api}, nil, &out, &words); code != 0 {
				t.Fatalf("exit %d\n%s\n%s", code, out.String(), words.String())
			}
			for _, want := range []string{"SCRIPTED", "asked over HTTP (" + api + ")", "2 files"} {
				if !strings.Contains(words.String(), want) {
					t.Errorf("no %q in\n%s", want, words.String())
				}
			}
			if !strings.Contains(out.String(), "The crash is mended") {
				t.Errorf("said %s", out.String())
			}
		})
	}
}
