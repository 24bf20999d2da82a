//go:build unix

package statusline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/config"
)

func TestTheFirstLineOfTheCommandIsShown(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "cat"), []byte("#!/bin/sh\necho of the repository\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &config.Config{Home: home, Root: root, Cwd: root}
	env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	told := Told{Session: "s1", Cwd: root}
	told.Model.ID = "m1"
	for command, want := range map[string]string{
		"echo one; echo two":                    "one",
		`cat | grep -o '"id":"m1"'`:             `"id":"m1"`, // not the cat that the repository brings
		`cat | grep -o '"session_id":"s1"'`:     `"session_id":"s1"`,
		"exit 3":                                "",
		"echo shown; exit 3":                    "",
		"true":                                  "",
		`printf '\033[31mred\007\n'`:            "",
		"head -c 100000 /dev/zero | tr '\\0' x": "",
	} {
		got := run(t.Context(), c, env, command, told)
		switch {
		case strings.Contains(command, "printf"):
			if strings.ContainsAny(got, "\x1b\a") || !strings.Contains(got, "red") {
				t.Errorf("%s: %q", command, got)
			}
		case strings.Contains(command, "zero"):
			if len(got) < 100 || len(got) > maxShown+10 {
				t.Errorf("%s: %d bytes", command, len(got))
			}
		case got != want:
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// A command that goes on is ended.
func TestACommandHasATime(t *testing.T) {
	c := &config.Config{Home: t.TempDir(), Root: t.TempDir()}
	if got := Run(c, []string{"PATH=" + os.Getenv("PATH")}, "echo shown; sleep 1000", Told{Cwd: c.Root}); got != "" {
		t.Errorf("%q", got)
	}
}
