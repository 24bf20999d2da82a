package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/work/proc"
)

// timeLimit is how long git may take for one question.
const timeLimit = 2 * time.Second

// ErrNoRepository says that a directory is in no working tree.
var ErrNoRepository = errors.New("not in a git repository")

// filtersOff returns the arguments that switch off the filters of the repository.
// Reading its configuration runs nothing. Filters have names of the repository's
// choosing, so they can only be switched off by name.
func filtersOff(ctx context.Context, root string) ([]string, error) {
	out, err := git(ctx, root, "config", "--includes", "-z", "--get-regexp", `^filter\..*$`)
	var exit *exitError
	if errors.As(err, &exit) && exit.code == 1 {
		return nil, nil // there are none
	}
	if err != nil {
		return nil, err
	}
	var off []string
	seen := make(map[string]bool)
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		key, _, _ := strings.Cut(string(entry), "\n")
		name, ok := filterName(key)
		if !ok || seen[name] {
			continue
		}
		// An = would end the name in `-c name=value`: there is no safe way.
		if strings.ContainsAny(name, "=\n\x00") || len(seen) == 256 {
			return off, fmt.Errorf("git status: the filter %q of this repository cannot be switched off", name)
		}
		seen[name] = true
		for _, part := range []string{"clean", "smudge", "process"} {
			off = append(off, "-c", "filter."+name+"."+part+"=")
		}
		off = append(off, "-c", "filter."+name+".required=false")
	}
	return off, nil
}

// Dirty reports whether the working tree that holds cwd differs from HEAD or has
// untracked files. Where the repository's own configuration is plain it asks git
// once only.
func Dirty(ctx context.Context, cwd string) (bool, error) {
	root, gitDir, ok := Find(cwd)
	if !ok {
		return false, ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	var off []string
	if !plainConfig(gitDir) {
		var err error
		if off, err = filtersOff(ctx, root); err != nil {
			return false, err
		}
	}
	args := append(off, "status", "--porcelain=v2", "--untracked-files=normal", "--ignore-submodules=all", "-z")
	out, err := git(ctx, root, args...)
	return len(out) > 0, err
}

// Reflog is what HEAD came to in the repository of dir, newest first, 200 lines at most of the
// given format. No signature is checked, for that runs a program.
func Reflog(ctx context.Context, dir, format string) ([]byte, error) {
	return git(ctx, dir, "log", "--no-show-signature", "-g", "-n", "200", "--date=unix", "--format="+format, "HEAD", "--")
}

// plainConfig reports whether the files that may configure the repository name no
// filter and include nothing, so that there is nothing to switch off.
func plainConfig(gitDir string) bool {
	for _, name := range []string{filepath.Join(CommonDir(gitDir), "config"), filepath.Join(gitDir, "config.worktree")} {
		text, err := readSmall(name, 1<<20)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		text = strings.ToLower(text)
		if err != nil || strings.Contains(text, "filter") || strings.Contains(text, "include") {
			return false
		}
	}
	return true
}

// filterName takes NAME out of filter.NAME.what.
func filterName(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "filter.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot <= 0 {
		return "", false
	}
	return rest[:dot], true
}

// hardening switches off whatever a configuration can run.
var hardening = []string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat", "-c", "core.editor=false",
	"-c", "core.sshCommand=false", "-c", "core.askPass=", "-c", "core.alternateRefsCommand=", "-c", "credential.helper=",
	"-c", "diff.external=", "-c", "diff.trustExitCode=false", "-c", "gpg.program=false", "-c", "protocol.allow=never",
	"-c", "submodule.recurse=false", "-c", "status.submoduleSummary=false", "-c", "safe.bareRepository=explicit", "-c",
	"core.untrackedCache=false",
}

// environment keeps what git needs to find the user's own configuration, whose
// safe.directory counts; GIT_* variables of our caller are not passed on.
func environment() []string {
	env := []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "LC_ALL=C",
	}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SystemRoot", "USERPROFILE"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// exitError is an end of git with a code other than 0.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d: %s", e.code, e.text) }

// git runs git in root and returns its output, of which 1 MiB is enough here.
func git(ctx context.Context, root string, args ...string) ([]byte, error) {
	return gitWith(ctx, root, nil, args...)
}

// gitWith is git with further variables in its environment.
func gitWith(ctx context.Context, root string, env []string, args ...string) ([]byte, error) {
	return gitTold(ctx, root, env, nil, args...)
}

// gitTold is gitWith with something on standard input.
func gitTold(ctx context.Context, root string, env []string, input io.Reader, args ...string) ([]byte, error) {
	verb := args[slices.IndexFunc(args, func(a string) bool {
		return !strings.HasPrefix(a, "-") &&
			!strings.Contains(a, "=")
	})]
	program, err := proc.Program("git", []string{root})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(hardening), args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = root, append(environment(), env...), outputGrace
	out := &bounded{limit: maxOutput}
	errs := &bounded{limit: 300}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, out, errs
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", verb, ctx.Err())
	case errors.As(err, &exit):
		text, _, _ := strings.Cut(errs.String(), "\n")
		return nil, fmt.Errorf("git %s: %w", verb, &exitError{exit.ExitCode(), text})
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", verb, err)
	case out.cut:
		return nil, fmt.Errorf("git %s: more than %d bytes of output", verb, maxOutput)
	}
	return out.Bytes(), nil
}

// outputGrace is how long the end of git's output is waited for once git has ended: what it started
// may hold the pipe open, and on a busy machine the last of it is read late.
const outputGrace = 5 * time.Second

// maxOutput bounds what git may print.
const maxOutput = 64 << 20

// bounded keeps the first bytes written to it and throws the rest away.
type bounded struct {
	bytes.Buffer
	limit int
	cut   bool
}

// Write never fails, so that git is not stopped half way.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.Len()
	if len(p) > room {
		b.cut = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
