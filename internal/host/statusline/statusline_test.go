//go:build unix

package statusline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

// A command that goes on is ended, with what it started.
func TestACommandHasATime(t *testing.T) {
	c := &config.Config{Home: t.TempDir(), Root: t.TempDir()}
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	shown := make(chan string)
	go func() {
		shown <- run(ctx, c, []string{"PATH=" + os.Getenv("PATH"), "FILE=" + file},
			"echo shown; sleep 1000 & echo $! >$FILE.new; mv $FILE.new $FILE; sleep 1000", Told{Cwd: c.Root})
	}()
	var pid int
	within(t, "the command does not start", func() bool {
		text, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	cancel()
	if got := <-shown; got != "" {
		t.Errorf("%q", got)
	}
	within(t, "what the command started goes on", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // one that only waits to be told of has ended
		return syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
	})
}

// within waits until something is so.
func within(t *testing.T, why string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why)
		}
	}
}
