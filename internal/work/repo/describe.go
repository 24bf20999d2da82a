package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/work/proc"
)

// timeLimit is how long git may take for one Describe.
const timeLimit = 2 * time.Second

// ErrNoRepository says that a directory is in no working tree.
var ErrNoRepository = errors.New("not in a git repository")

// Info is the state of a working tree. Its strings come from the repository.
type Info struct {
	Root   string
	Branch string // empty when detached
	Commit string // object name of HEAD, empty when unborn
	// Detached: HEAD is a commit. Unborn: the branch has no commit yet. Dirty:
	// tracked files differ from HEAD, or there are untracked ones.
	Detached, Unborn, Dirty bool
	// Remote is the URL of origin, or else of the first remote, without user,
	// password, query and fragment.
	Remote string
}

// Describe asks git about the working tree that holds cwd. Outside of one the
// error is [ErrNoRepository]. When git is missing, slow or unwell, the Info
// still has what the files say, with the error.
func Describe(ctx context.Context, cwd string) (Info, error) {
	root, gitDir, ok := Find(cwd)
	if !ok {
		return Info{}, ErrNoRepository
	}
	info := Info{Root: root}
	info.Branch, info.Detached, info.Unborn = Branch(gitDir)
	if info.Detached {
		info.Commit, info.Branch = info.Branch, ""
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	config, err := settings(ctx, root)
	if err != nil {
		return info, err
	}
	info.Remote = config.remote
	args := append(config.off, "status", "--porcelain=v2", "--branch", "--untracked-files=normal",
		"--ignore-submodules=all", "-z")
	out, err := git(ctx, root, args...)
	if err != nil {
		return info, err
	}
	info.status(out)
	return info, nil
}

func (i *Info) status(out []byte) {
	for line := range bytes.SplitSeq(out, []byte{0}) {
		text := string(line)
		switch {
		case text == "":
		case strings.HasPrefix(text, "# branch.oid "):
			oid := strings.TrimPrefix(text, "# branch.oid ")
			i.Unborn = oid == "(initial)"
			if !i.Unborn {
				i.Commit = oid
			}
		case strings.HasPrefix(text, "# branch.head "):
			head := strings.TrimPrefix(text, "# branch.head ")
			i.Detached = head == "(detached)"
			if !i.Detached && validRef("refs/heads/"+head) {
				i.Branch = head
			}
		case !strings.HasPrefix(text, "# "):
			i.Dirty = true
			return
		}
	}
}

// config is what the repository's configuration says that matters here.
type config struct {
	remote string
	off    []string // arguments that switch its filters off
}

// settings reads the configuration; reading runs nothing. Filters have names of
// the repository's choosing, so they can only be switched off by name.
func settings(ctx context.Context, root string) (config, error) {
	out, err := git(ctx, root, "config", "--includes", "-z", "--get-regexp", `^(filter\..*|remote\..*\.url)$`)
	var exit *exitError
	if errors.As(err, &exit) && exit.code == 1 {
		return config{}, nil // there are none
	}
	if err != nil {
		return config{}, err
	}
	var c config
	seen := make(map[string]bool)
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		if strings.HasPrefix(key, "remote.") {
			if c.remote == "" || key == "remote.origin.url" {
				c.remote = Publish(value)
			}
			continue
		}
		name, ok := filterName(key)
		if !ok || seen[name] {
			continue
		}
		// An = would end the name in `-c name=value`: there is no safe way.
		if strings.ContainsAny(name, "=\n\x00") || len(seen) == 256 {
			return c, fmt.Errorf("git status: the filter %q of this repository cannot be switched off", name)
		}
		seen[name] = true
		for _, part := range []string{"clean", "smudge", "process"} {
			c.off = append(c.off, "-c", "filter."+name+"."+part+"=")
		}
		c.off = append(c.off, "-c", "filter."+name+".required=false")
	}
	return c, nil
}

// Dirty reports whether the working tree that holds cwd differs from HEAD or has
// untracked files. It is Describe's quick sister: where the repository's own
// configuration is plain it asks git once only.
func Dirty(ctx context.Context, cwd string) (bool, error) {
	root, gitDir, ok := Find(cwd)
	if !ok {
		return false, ErrNoRepository
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	var c config
	if !plainConfig(gitDir) {
		var err error
		if c, err = settings(ctx, root); err != nil {
			return false, err
		}
	}
	args := append(c.off, "status", "--porcelain=v2", "--untracked-files=normal", "--ignore-submodules=all", "-z")
	out, err := git(ctx, root, args...)
	return len(out) > 0, err
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

var scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`) })

// Publish returns a remote's URL fit to be shown and kept: without user,
// password, query and fragment, or empty when it has control characters.
func Publish(remote string) string {
	if strings.ContainsFunc(remote, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return ""
	}
	prefix := scheme().FindString(remote)
	if prefix == "" {
		// user@host:path; a path that merely has an @ begins with a slash or dot
		host, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(host, "/") {
			return remote
		}
		if at := strings.LastIndexByte(remote, '@'); at >= 0 && !strings.Contains(remote[:at], "/") {
			return remote[at+1:]
		}
		return host + ":" + path
	}
	if u, err := url.Parse(remote); err == nil {
		u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
		return u.String()
	}
	rest, path, _ := strings.Cut(remote[len(prefix):], "/")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	path, _, _ = strings.Cut(path, "?")
	if strings.ContainsRune(path, '@') {
		return prefix + rest
	}
	return prefix + rest + "/" + path
}

// hardening switches off whatever a configuration can run.
var hardening = []string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat", "-c", "core.editor=false",
	"-c", "core.sshCommand=false", "-c", "core.askPass=", "-c", "core.alternateRefsCommand=", "-c", "credential.helper=",
	"-c", "diff.external=", "-c", "diff.trustExitCode=false", "-c", "gpg.program=false", "-c", "protocol.allow=never",
	"-c", "submodule.recurse=false", "-c", "status.submoduleSummary=false", "-c", "safe.bareRepository=explicit", "-c", "core.untrackedCache=false",
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
	verb := args[slices.IndexFunc(args, func(a string) bool {
		return !strings.HasPrefix(a, "-") &&
			!strings.Contains(a, "=")
	})]
	program, err := proc.Program("git", []string{root})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(hardening), args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = root, append(environment(), env...), 100*time.Millisecond
	out := &bounded{limit: maxOutput}
	errs := &bounded{limit: 300}
	cmd.Stdout, cmd.Stderr = out, errs
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
