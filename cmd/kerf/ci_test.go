package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kerf/internal/testkit/modeltest"
)

// pipeline is a machine as a CI job finds it: a clean home, a checkout with two
// commits, the key in the environment, and kerf on PATH.
type pipeline struct {
	dir  string
	env  []string
	base string
}

func newPipeline(t *testing.T, model *modeltest.Server) pipeline {
	t.Helper()
	for _, tool := range []string{"sh", "git", "mktemp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	home, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "kerf")); err != nil { // by this name the tests are the program
		t.Skip(err)
	}
	p := pipeline{dir: t.TempDir(), env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" +
		t.TempDir(),
		"KERF_HOME=" + filepath.Join(home, "kerf"), "OPENAI_API_KEY=ci-key", "GIT_CONFIG_GLOBAL=" + os.DevNull}}
	if err := os.Mkdir(filepath.Join(home, "kerf"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "kerf", "config.toml"), fmt.Sprintf("model = \"m\"\nopenai_base_url = %q\n", model.URL))
	write(t, filepath.Join(p.dir, "f.txt"), "one\n")
	git := func(args ...string) {
		p.must(t, 0, "git", append([]string{"-c", "user.name=T", "-c", "user.email=t@localhost"}, args...)...)
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	write(t, filepath.Join(p.dir, "f.txt"), "one\nsecond line of the change\n")
	git("commit", "-q", "-a", "-m", "second")
	p.base = "HEAD~1"
	return p
}

func (p pipeline) must(t *testing.T, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s %q: %v, want exit code %d\n%s\n%s", name, args, err, code, out, errors.String())
	}
	return string(out) + errors.String()
}

func (p pipeline) left(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "kerf-out", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func recipe(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCIReviewChangesNothing(t *testing.T) {
	model := modeltest.Start(t, saying(t, "f.txt:2: no full stop")...)
	p := newPipeline(t, model)
	p.must(t, 0, "sh", recipe(t, "review.sh"), p.base)
	if got := p.left(t, "review.md"); strings.TrimSpace(got) != "f.txt:2: no full stop" {
		t.Errorf("the review is %q", got)
	}
	if kinds := obeyed(t, published(t, "events"), p.left(t, "events.jsonl")); kinds["turn.completed"] != 1 {
		t.Errorf("the events are %v", kinds)
	}
	if body := string(model.Request(t, 0).Body); !strings.Contains(body, "second line of the change") ||
		strings.Contains(body, "ci-key") {
		t.Error("the change did not reach the model, or the key did")
	}
	if got := p.must(t, 0, "git", "status", "--porcelain"); strings.TrimSpace(got) != "?? kerf-out/" {
		t.Errorf("git tells %q", got)
	}
	if got := p.must(t, 0, "sh", recipe(t, "review.sh"), "HEAD"); !strings.Contains(got, "nothing changed") {
		t.Errorf("without a change it says %q", got)
	}
	p.must(t, 2, "sh", recipe(t, "review.sh"))
}

func TestCIFixLeavesAPatchThatApplies(t *testing.T) {
	model := modeltest.Start(t, rounds(t, `{"items":[{"call":"read_file","args":{"file_path":"f.txt"}}]}`,
		`{"items":[{"call":"edit_file","args":{"file_path":"f.txt","old_string":"one","new_string":"ONE"}}]}`,
		`{"items":[{"message":"fixed"}]}`)...)
	p := newPipeline(t, model)
	p.must(t, 0, "sh", recipe(t, "fix.sh"), "shout")
	if got := p.left(t, "summary.md"); strings.TrimSpace(got) != "fixed" {
		t.Errorf("the summary is %q", got)
	}
	p.must(t, 0, "git", "apply", "--reverse", "--check", "kerf-out/change.patch")
	if got := p.left(t, "change.patch"); !strings.Contains(got, "+ONE") {
		t.Errorf("the patch is %q", got)
	}
}

// TestCIFailuresFailTheJob: a refused key ends with 1, and leaves the events.
func TestCIFailuresFailTheJob(t *testing.T) {
	p := newPipeline(t, modeltest.Start(t, modeltest.HTTP(401, `{"error":{"message":"no"}}`)))
	p.must(t, 1, "sh", recipe(t, "review.sh"), p.base)
	if !strings.Contains(p.left(t, "events.jsonl"), "turn.failed") {
		t.Error("the events do not tell of the failure")
	}
}

// TestCIRecipesNameWhatIsThere: every script that a recipe runs is beside it.
func TestCIRecipesNameWhatIsThere(t *testing.T) {
	for _, name := range []string{"github.yml", "gitlab.yml"} {
		b, err := os.ReadFile(recipe(t, name))
		if err != nil {
			t.Fatal(err)
		}
		scripts := regexp.MustCompile(`\.ci/kerf/([a-z]+\.sh)`).FindAllStringSubmatch(string(b), -1)
		if len(scripts) < 2 {
			t.Errorf("%s runs %q", name, scripts)
		}
		for _, s := range scripts {
			if _, err := os.Stat(recipe(t, s[1])); err != nil {
				t.Error(err)
			}
		}
	}
}
