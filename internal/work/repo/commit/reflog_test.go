package commit

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStepsAreThoseBetweenTwoCommits: what was done before and after is not told.
func TestStepsAreThoseBetweenTwoCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@l"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	at := []string{""}
	commit := func(subject string) {
		git("commit", "-q", "--allow-empty", "-m", subject)
		at = append(at, git("rev-parse", "HEAD"))
	}
	commit("one")
	commit("two")
	git("commit", "-q", "--amend", "--allow-empty", "-m", "two: again")
	at = append(at, git("rev-parse", "HEAD"))
	git("checkout", "-q", "-b", "other")
	commit("three")
	git("reset", "-q", "--hard", at[1])
	for name, c := range map[string]struct{ from, to, want string }{
		"nothing":       {at[2], at[2], ""},
		"first":         {"", at[1], "one"},
		"all commits":   {"", at[2], "two|one"},
		"an amend":      {at[2], at[3], "two: again"},
		"a branch":      {at[3], at[4], "three"},
		"a reset":       {at[4], at[1], "(reset: moving to " + at[1] + ")"},
		"the other way": {at[2], at[1], "(reset: moving to " + at[1] + ")|three|(checkout: moving from main to other)|two: again"},
		"unknown":       {strings.Repeat("1", 40), at[4], ""},
		"unknown end":   {at[1], strings.Repeat("1", 40), ""},
	} {
		var told []string
		for _, s := range Steps(context.Background(), dir, c.from, c.to) {
			subject, made := s.Commit()
			if !made {
				subject = "(" + s.How + ")"
			}
			told = append(told, subject)
		}
		if got := strings.Join(told, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
