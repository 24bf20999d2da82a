// Package git runs git with settings that no repository, and nobody's home, can change: what
// a tree holds decides nothing here.
package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Repo is a repository, and how it is looked at.
type Repo struct {
	Dir   string // GIT_DIR; empty for commands that need none
	Work  string // the work tree; may be empty
	Index string // empty for the repository's own
}

// steady are the settings. Contents pass as they are.
var steady = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false",
	"-c", "core.untrackedCache=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
	"-c", "core.protectNTFS=false", "-c", "core.quotePath=false", "-c", "protocol.ext.allow=never",
	"-c", "core.preloadIndex=false", "-c", "core.excludesFile=/dev/null"}

// Exact are attributes that make git take and give the bytes of files as they are.
const Exact = "* -text -filter -ident -working-tree-encoding -eol\n"

// Command is git with args.
func (g Repo) Command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{}, steady...)
	if g.Dir != "" {
		all = append(all, "--git-dir", g.Dir)
	}
	if g.Work != "" {
		all = append(all, "--work-tree", g.Work)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir = g.Work
	cmd.Env = append(Env(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	if g.Index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+g.Index)
	}
	return cmd
}

// Env is the environment without what would point git elsewhere.
func Env() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_SSH") || strings.HasPrefix(v, "GIT_ASKPASS") {
			env = append(env, v)
		}
	}
	return env
}

// Run returns what git prints. in is its input.
func (g Repo) Run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	return Output(g.Command(ctx, args...), in)
}

// Line is what git prints on its first line.
func (g Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := g.Run(ctx, nil, args...)
	first, _, _ := strings.Cut(string(out), "\n")
	return first, err
}

// Output runs cmd. An error has the end of what git said.
func Output(cmd *exec.Cmd, in []byte) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	err := cmd.Run()
	if err != nil {
		words := strings.TrimSpace(said.String())
		if len(words) > 500 {
			words = words[len(words)-500:]
		}
		verb := ""
		for _, a := range cmd.Args[1+len(steady):] {
			if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "/") {
				verb = a
				break
			}
		}
		err = fmt.Errorf("git %s: %w: %s", verb, err, strings.ReplaceAll(words, "\n", "; "))
	}
	return out.Bytes(), err
}
