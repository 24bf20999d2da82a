package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/protocol"
)

// TestAMovedHEADIsToldAndAsks: what somebody else checks out between two turns is told, and asked
// about before files are changed; commits are told only, and what the session's own commands do
// is neither.
func TestAMovedHEADIsToldAndAsks(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	run := func(name, line string) string {
		return `{"items":[{"call":"exec_command","args":{"cmd":"` + line + `"},"id":"` + name + `"}]},{"items":[{"message":"done"}]}`
	}
	own := "git checkout -q -b own && git -c user.name=A -c user.email=a@l commit -q --allow-empty -m own"
	s := servingWith(t, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n", `{"version":1,"rounds":[`+strings.Join([]string{run("c1", own), run("c2", "echo 2 > two"),
		run("c3", "echo 3 > three"), run("c4", "echo 4 > four"), run("c5", "echo 5 > five"), run("c6", "echo 6 > six"),
		run("c7", "echo 7 > seven")}, ",")+
		`]}`, nil)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", s.dir, "-c", "user.name=T", "-c", "user.email=t@l"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	s = configured(t, s) // now there is a repository
	answers := map[string]protocol.Decision{}
	a := s.ask(t, protocol.OpenOptions{}, func(q protocol.Approval) protocol.Answer {
		for line, d := range answers {
			if q.Command != nil && strings.Contains(q.Command.Command, line) {
				if line == "five" {
					git("checkout", "-q", "own") // while the question stands
				}
				return protocol.Answer{Decision: d}
			}
		}
		t.Errorf("asked: %+v", q)
		return protocol.Answer{Decision: protocol.Abort}
	})
	exists := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
	told := func(n int, words ...string) {
		t.Helper()
		if len(a.warnings) != n {
			t.Fatalf("told %d times, want %d: %q", len(a.warnings), n, a.warnings)
		}
		for _, w := range words {
			if !strings.Contains(a.warnings[n-1], w) {
				t.Errorf("told %q, want %q", a.warnings[n-1], w)
			}
		}
	}
	a.say(t, "branch off") // the session's own move
	a.say(t, "two")
	exists("two", true)
	told(0)

	git("commit", "-q", "--allow-empty", "-m", "by hand")
	a.say(t, "three")
	exists("three", true)
	told(1, "HEAD moved, and not by this session: it was own at ", "commit: by hand")

	git("checkout", "-q", "main")
	answers["four"] = protocol.Deny
	a.say(t, "four")
	exists("four", false)
	told(2, "and is main at ", "checkout: moving from own to main")
	answers["five"] = protocol.Once // the question stands until it is answered with yes
	a.say(t, "five")
	exists("five", true)
	answers["six"] = protocol.Once
	a.say(t, "six")
	exists("six", true)
	told(3, "and is own at ")
	a.say(t, "seven")
	exists("seven", true)
	told(3)
	if len(a.approvals) != 3 || !strings.Contains(a.approvals[0].Reason, "checkout: moving from own to main") {
		t.Errorf("the questions are %+v", a.approvals)
	}
}
