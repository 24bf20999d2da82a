package repo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Steps are the files of an operation under way in a git directory that name programs
// which git runs when the operation goes on.
func Steps(git string) map[string]string {
	found := make(map[string]string)
	for _, name := range []string{"rebase-merge/git-rebase-todo", "sequencer/todo"} {
		path := filepath.Join(git, filepath.FromSlash(name))
		text, err := readSmall(path, 1<<20)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word == "exec" || word == "x" {
				found[path] = fmt.Sprintf("git runs %q when the operation goes on that is under way", strings.TrimSpace(rest))
				break
			}
		}
	}
	for _, name := range []string{"rebase-merge/strategy", "rebase-apply/strategy", "sequencer/opts"} {
		path := filepath.Join(git, filepath.FromSlash(name))
		text, err := readSmall(path, 1<<20)
		strategy := strings.TrimSpace(text)
		if name == "sequencer/opts" {
			_, rest, _ := strings.Cut(text, "strategy = ")
			strategy, _, _ = strings.Cut(rest, "\n")
		}
		if err == nil && strategy != "" && !slices.Contains(strategies, strategy) {
			found[path] = fmt.Sprintf("git runs the program git-merge-%s when the operation goes on that is under way", strategy)
		}
	}
	return found
}

// strategies are the ways to merge that git has itself; any other one is a program.
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}
