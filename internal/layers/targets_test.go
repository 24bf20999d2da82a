package layers

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alone are the targets of the Makefile that no workflow names, and why.
var alone = map[string]string{
	"help":        "a list",
	"build":       "make release-snapshot builds as it does",
	"demo":        "for people; a test runs the same",
	"check":       "what the jobs do one by one",
	"staticcheck": "in lint",
	"race-rooms":  "in race",
	"bench":       "figures for people",
	"cost":        "figures for people",
	"pictures":    "changes the source",
	"mutate":      "figures for people",
	"module":      "changes the source; release-check runs it",
	"arm64":       "the job test runs on arm64 itself",
	"wine":        "the job windows runs on Windows itself",
}

// aside are the commands of workflows that are no target, and why.
var aside = map[string]string{
	"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0": "the machine's, not Kerf's",
	"go run ./cmd/kerf doctor --full":                               "the same on each system",
	"go mod download":                                               "for make fleet and make oracle, which fetch nothing",
	"go install golang.org/x/vuln/cmd/govulncheck@latest":           "for make lint, which installs nothing",
	`gh release create "$TAG" --verify-tag --generate-notes dist/*`: "only there",
}

// workflow is what a file of CI runs.
type workflow struct {
	path    string
	targets []string // of the Makefile
	fleet   []string // of fleet/Makefile
	others  []string // commands that are no target
	faults  []string
}

// readWorkflow reads the steps of a workflow, each of one line.
func readWorkflow(path, text string) workflow {
	w := workflow{path: path}
	matrix := regexp.MustCompile(`(?m)^ +target: \[(.*)\]`).FindStringSubmatch(text)
	for _, m := range regexp.MustCompile(`(?m)^ +(?:- )?run: (.*)$`).FindAllStringSubmatch(text, -1) {
		command, _, _ := strings.Cut(m[1], " # ")
		if strings.HasPrefix(command, "|") || strings.HasPrefix(command, ">") {
			w.faults = append(w.faults, path+": a step of several lines; make it a target of the Makefile")
			continue
		}
		commands := []string{command}
		if strings.Contains(command, "${{ matrix.target }}") && matrix != nil {
			commands = nil
			for _, t := range strings.Split(matrix[1], ",") {
				commands = append(commands, strings.ReplaceAll(command, "${{ matrix.target }}", strings.TrimSpace(t)))
			}
		}
		for _, c := range commands {
			w.add(c)
		}
	}
	return w
}

// add takes a command in.
func (w *workflow) add(command string) {
	before, named, ok := strings.Cut(" "+command, " make ")
	before = strings.TrimSpace(before)
	if !ok || before != "" && !strings.HasPrefix(before, "sudo ") {
		w.others = append(w.others, command)
		return
	}
	to := &w.targets
	if rest, ok := strings.CutPrefix(named, "-C fleet "); ok {
		to, named = &w.fleet, rest
	}
	for _, word := range strings.Fields(named) {
		if !strings.Contains(word, "=") {
			*to = append(*to, word)
		}
	}
}

// targetsOf are the names of the targets of a Makefile.
func targetsOf(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// disagreements are where workflows and Makefiles do not fit each other.
func disagreements(workflows []workflow, targets, fleet map[string]bool) []string {
	var faults []string
	run := map[string]bool{}
	for _, w := range workflows {
		faults = append(faults, w.faults...)
		for _, name := range w.targets {
			run[name] = true
			if !targets[name] {
				faults = append(faults, fmt.Sprintf("%s: make %s: the Makefile has no such target", w.path, name))
			}
		}
		for _, name := range w.fleet {
			if !fleet[name] {
				faults = append(faults, fmt.Sprintf("%s: make -C fleet %s: there is no such target", w.path, name))
			}
		}
		for _, command := range w.others {
			if aside[command] == "" {
				faults = append(faults, fmt.Sprintf("%s: %s: is no target of the Makefile", w.path, command))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if run[name] == (alone[name] != "") {
			faults = append(faults, fmt.Sprintf("make %s: let a workflow run it, or say in the table why none does", name))
		}
	}
	return faults
}

// TestWorkflowsRunTheTargets: what CI does is what `make` does, and nothing that make does is forgotten.
func TestWorkflowsRunTheTargets(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%v: %v", paths, err)
	}
	var workflows []workflow
	for _, path := range paths {
		workflows = append(workflows, readWorkflow(filepath.Base(path), text(t, path)))
	}
	for _, fault := range disagreements(workflows, targetsOf(text(t, filepath.Join(root, "Makefile"))),
		targetsOf(text(t, filepath.Join(root, "fleet", "Makefile")))) {
		t.Error(fault)
	}
}

// TestWorkflowsCanDisagree seeds each fault.
func TestWorkflowsCanDisagree(t *testing.T) {
	w := readWorkflow("a.yml", `
        target: [one two, three]
      - run: make ${{ matrix.target }} N=4
      - run: sudo env "PATH=$PATH" make four # as root
      - name: x
        run: make -C fleet five six
      - run: go test ./...
      - run: echo make one
      - run: |
`)
	got := disagreements([]workflow{w}, map[string]bool{"one": true, "two": true, "four": true, "demo": true, "seven": true},
		map[string]bool{"five": true})
	want := []string{
		"a.yml: a step of several lines; make it a target of the Makefile",
		"a.yml: make three: the Makefile has no such target",
		"a.yml: make -C fleet six: there is no such target",
		"a.yml: go test ./...: is no target of the Makefile",
		"a.yml: echo make one: is no target of the Makefile",
		"make seven: let a workflow run it, or say in the table why none does",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTargetsThatAreNamedExist: in pages, scripts and the development container.
func TestTargetsThatAreNamedExist(t *testing.T) {
	targets := targetsOf(text(t, filepath.Join(root, "Makefile")))
	maps.Copy(targets, targetsOf(text(t, filepath.Join(root, "fleet", "Makefile"))))
	named := regexp.MustCompile("(?m)(?:[`(]|&& )make ([a-z][a-z0-9-]*)|^make ([a-z][a-z0-9-]*)(?:$|  | [A-Z])")
	seen := 0
	for _, pattern := range []string{"*.md", "doc/*.md", "fleet/*.md", "clients/*/*.md", ".ci/*", ".devcontainer/*", ".github/*/*"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			for _, m := range named.FindAllStringSubmatch(text(t, path), -1) {
				seen++
				if name := m[1] + m[2]; !targets[name] {
					t.Errorf("%s: make %s: there is no such target", path, name)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d targets are named", seen)
	}
}

// text is what a file holds.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
