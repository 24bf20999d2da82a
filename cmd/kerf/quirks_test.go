package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/testkit/quirks"
)

// TestQuirks holds the real program against the table of what servers and models do
// beside their protocols. With -v it ends with the counts for each protocol.
func TestQuirks(t *testing.T) {
	var mu sync.Mutex
	passed, all := map[quirks.API]int{}, map[quirks.API]int{}
	names := map[string]bool{}
	t.Cleanup(func() {
		total, good := 0, 0
		for _, api := range slices.Sorted(maps.Keys(all)) {
			t.Logf("%-10s %3d of %3d", api, passed[api], all[api])
			total, good = total+all[api], good+passed[api]
		}
		t.Logf("%-10s %3d of %3d", "all", good, total)
	})
	source := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	for _, q := range quirks.All() {
		if names[q.Name] || q.Source != quirks.Unreported && !source.MatchString(q.Source) || q.Control == nil && len(q.Bad) == 0 {
			t.Errorf("%s: the name is taken, or the source (%s) or the control is missing", q.Name, q.Source)
		}
		names[q.Name] = true
		t.Run(q.Name, func(t *testing.T) {
			t.Parallel()
			for _, body := range q.Bad {
				r := quirks.Read("/mock/v1/x", http.Header{}, []byte(body))
				if last := q.Steps; len(last) > 0 {
					r.Provider = cmp.Or(last[len(last)-1].Provider, "mock")
				}
				if q.Refuses == nil || q.Refuses(r) == "" {
					t.Errorf("control: the server takes what it must refuse: %s", body)
				}
			}
			for _, fault := range controlQuirk(t, q) {
				t.Errorf("control: %s", fault)
			}
			faults := playQuirk(t, q.API, &q.Case)
			for _, fault := range faults {
				t.Errorf("%s (%s)", fault, q.Source)
			}
			mu.Lock()
			defer mu.Unlock()
			all[q.API]++
			if !t.Failed() {
				passed[q.API]++
			}
		})
	}
}

// controls are the controls that several rows share, which are played once.
var controls sync.Map // of *sync.Once by *quirks.Case

// controlQuirk plays the control of a quirk.
func controlQuirk(t *testing.T, q quirks.Quirk) (faults []string) {
	t.Helper()
	if q.Control == nil {
		return nil
	}
	control := *q.Control
	if len(control.Steps) == 0 && len(q.Steps) == 1 && q.Gets == nil {
		control.Steps = q.Steps
		return playQuirk(t, q.API, &control)
	}
	once, _ := controls.LoadOrStore(q.Control, new(sync.Once))
	once.(*sync.Once).Do(func() { faults = playQuirk(t, q.API, &control) })
	return faults
}

// playQuirk plays a case with the real program and returns how it differs from what is
// expected.
func playQuirk(t *testing.T, api quirks.API, c *quirks.Case) []string {
	t.Helper()
	s, err := quirks.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	home, repo := filepath.Join(dir, "home"), filepath.Join(dir, "repo")
	writeQuirkFiles(t, home, repo, s, api, c.Steps)
	steps := c.Steps
	if len(steps) == 0 {
		steps = []quirks.Step{{}}
	}
	var faults []string
	var stdout, stderr string
	for n, step := range steps {
		var exit int
		if len(steps) == 1 {
			step.Flags = append([]string{"--ephemeral"}, step.Flags...)
		}
		exit, stdout, stderr = runQuirk(t, home, repo, api, step)
		want := step.Exit
		if n == len(steps)-1 {
			want = c.Want.Exit
		}
		if exit != want {
			faults = append(faults, fmt.Sprintf("run %d ends with %d, want %d", n+1, exit, want))
		}
	}
	requests, refused := s.Requests()
	faults = append(faults, c.Want.Differs(requests, stdout, stderr)...)
	for _, words := range refused {
		faults = append(faults, "refused: "+words)
	}
	if len(faults) > 0 {
		faults = append(faults, "stdout: "+stdout+"\nstderr: "+stderr)
	}
	return faults
}

func writeQuirkFiles(t *testing.T, home, repo string, s *quirks.Server, api quirks.API, steps []quirks.Step) {
	t.Helper()
	var config strings.Builder
	fmt.Fprintf(&config, "model_provider = \"mock\"\n")
	seen := map[string]bool{}
	for _, step := range append([]quirks.Step{{}}, steps...) {
		name := cmp.Or(step.Provider, "mock")
		if seen[name] && len(step.Config) == 0 {
			continue
		}
		if name == "mock" && len(steps) > 0 && !seen[name] && step.Config == nil && hasConfigOfMock(steps) {
			continue
		}
		seen[name] = true
		fmt.Fprintf(&config, "[model_providers.%s]\nname = %q\nbase_url = %q\nwire_api = %q\nexperimental_bearer_token = "+
			"\"test-key\"\n", name, name, s.URL+"/"+name+cmp.Or(step.Base, "/v1"), cmp.Or(step.API, api))
		if step.Config == nil {
			config.WriteString("request_max_retries = 2\nstream_max_retries = 2\n")
		}
		for _, line := range step.Config {
			config.WriteString(line + "\n")
		}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(home, ".kerf", "config.toml"): config.String(),
		filepath.Join(repo, "a.txt"): "alpha beta\n", filepath.Join(repo, "b.txt"): "gamma delta\n",
		filepath.Join(repo, "a.png"): picture.String()} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func hasConfigOfMock(steps []quirks.Step) bool {
	return slices.ContainsFunc(steps, func(s quirks.Step) bool { return s.Provider == "" && s.Config != nil })
}

// quirkModel is a model that suits a protocol.
func quirkModel(api quirks.API) string {
	return map[quirks.API]string{quirks.Anthropic: "claude-sonnet-4-6", quirks.Gemini: "gemini-2.5-pro",
		quirks.Responses: "gpt-5"}[api]
}

func runQuirk(t *testing.T, home, repo string, api quirks.API, step quirks.Step) (exit int, stdout, stderr string) {
	t.Helper()
	api = cmp.Or(step.API, api)
	args := []string{"exec"}
	if step.Resume {
		args = append(args, "resume", "--last")
	}
	args = append(args, "--skip-git-repo-check", "-s", "workspace-write", "-c", "model_provider="+cmp.Or(step.Provider, "mock"),
		"-m", cmp.Or(step.Model, quirkModel(api), "some-model"))
	args = append(append(args, step.Flags...), cmp.Or(step.Prompt, "go"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kerf", args...)
	cmd.Dir = repo
	cmd.Env = []string{"HOME=" + home, "KERF_HOME=" + filepath.Join(home, ".kerf"), "PATH=" + os.Getenv("PATH"),
		"SHELL=/bin/sh", "TMPDIR=" + filepath.Dir(home), "GIT_CONFIG_GLOBAL=" + os.DevNull}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Errorf("kerf does not end")
	case errors.As(err, &failed):
	case err != nil:
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
