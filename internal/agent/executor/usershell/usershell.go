// Package usershell takes over what the user's own shell has beyond the environment:
// aliases, functions and directories of programs.
package usershell

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/text/shell"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// Options say how commands get what the user's own shell has.
type Options struct {
	// Program is the user's shell; empty takes nothing from it.
	Program string
	// Files are those of the home that it reads when it starts. Without any there is
	// nothing to take.
	Files []string
	// Login lets the model run login shells.
	Login bool

	// Dir, Env and Sandbox are those of the session's commands; the sandbox only reads.
	Dir     string
	Env     func(tty bool) []string
	Sandbox func() boundary.Policy
}

// StartFiles are the names of the files of a home that a shell reads when it starts;
// none for a shell that Kerf does not know how to ask for its definitions.
func StartFiles(program string) []string {
	switch filepath.Base(program) {
	case "bash":
		return []string{".bash_profile", ".bash_login", ".profile", ".bashrc"}
	case "zsh":
		return []string{".zshenv", ".zprofile", ".zshrc", ".zlogin"}
	case "sh", "dash", "ksh", "ash":
		return []string{".profile"}
	}
	return nil
}

const (
	// snapshotLimit is how long the user's shell may take to start.
	snapshotLimit = 10 * time.Second
	// snapshotWait is how long a command waits for it, once in a session. Version managers of
	// languages make start files take one to three seconds.
	snapshotWait = 4 * time.Second
	// snapshotMost bounds the definitions, which commands get as a variable.
	snapshotMost = 48 << 10
	snapshotRead = 4 << 20
	snapshotName = "KERF_SHELL_SNAPSHOT"
	// piece behind the mark begins a function.
	piece = "-function"
)

// Shell is what the user's shell has. It is taken once, in the background.
//
// One goroutine takes it and ends with the shell it starts, which has a time limit.
type Shell struct {
	o      Options
	once   sync.Once
	ready  chan struct{}
	waited sync.Once
	usable bool // it was there in time; what is judged and what runs agree on it
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	// Written before ready is closed.
	script string            // defines aliases and functions
	stands map[string]string // what runs for each of their names
	path   []string
}

// New returns a shell of which nothing was taken yet.
func New(o Options) *Shell {
	s := &Shell{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Take begins to ask the shell, if it was not asked already. It never waits.
func (s *Shell) Take() {
	s.once.Do(func() {
		s.ready = make(chan struct{})
		if s.o.Program == "" || !slices.ContainsFunc(s.o.Files, present) {
			close(s.ready)
			return
		}
		s.tasks.Go(func() {
			defer close(s.ready)
			s.read(s.ask())
		})
	})
}

func present(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Size() > 0
}

// now is what was taken, or nil when there is nothing. The first to ask, and who
// asks meanwhile, waits a moment for it; what comes later than that is not used.
func (s *Shell) now() *Shell {
	s.Take()
	s.waited.Do(func() {
		t := time.NewTimer(snapshotWait)
		defer t.Stop()
		select {
		case <-s.ready:
			s.usable = true
		case <-t.C:
		case <-s.ctx.Done():
		}
	})
	if !s.usable {
		return nil
	}
	return s
}

// Close ends the shell if it still runs.
func (s *Shell) Close() {
	s.cancel()
	s.tasks.Wait()
}

// ask starts the user's shell as for a login, in a sandbox that only reads,
// and has it tell its definitions between two marks: start files print, too. It is
// ended, with all it started, when its time is up.
func (s *Shell) ask() (text, mark string) {
	mark = "kerf-" + rand.Text()
	var script string
	flags := "-lic"
	switch filepath.Base(s.o.Program) {
	case "bash":
		// What begins with _ is for completion: thousands of lines where bash-completion is installed.
		script = "builtin printf '\\n%s\\n' " + mark + "; builtin alias -p; builtin declare -F | " +
			"while builtin read -r a b name; do case $name in _*) ;; *) builtin printf '%s\\n' " + mark + piece +
			`; builtin declare -f -- "$name";; esac; done; builtin printf '%s\n%s\n' ` + mark + ` "$PATH"`
	case "zsh":
		script = "builtin print -r -- \"\n" + mark + "\"; builtin alias -L; builtin print -r -- " + mark +
			"; builtin print -r -- \"$PATH\""
	default:
		flags, script = "-lc", "printf '\\n%s\\n%s\\n%s\\n' "+mark+" "+mark+` "$PATH"`
	}
	p := s.o.Sandbox()
	p.Cwd, p.Network, p.Domains, p.Limited = s.o.Dir, false, nil, false
	ctx, cancel := context.WithTimeout(s.ctx, snapshotLimit)
	defer cancel()
	box, err := sandbox.Prepare(ctx, p, false, []string{s.o.Program, flags, script})
	if err != nil {
		return "", mark // no sandbox, no snapshot
	}
	defer box.Close()
	run, err := proc.Start(ctx, proc.Spec{Argv: box.Argv, ExtraFiles: box.Files, Dir: s.o.Dir, Env: s.o.Env(false),
		Cap: snapshotRead, Abrupt: true,
		Confined: box.Confined, Cgroup: box.Cgroup, Started: box.Started})
	if err != nil {
		return "", mark
	}
	ended := run.Within(ctx, snapshotLimit)
	run.Kill()
	if !ended {
		return "", mark
	}
	out, cut := run.Output()
	if cut > 0 {
		return "", mark
	}
	return string(bytes.ToValidUTF8(out, nil)), mark
}

// read reads what the shell said.
func (s *Shell) read(text, mark string) {
	parts := strings.Split(text, mark+"\n")
	if len(parts) < 3 {
		return
	}
	definitions, path := parts[len(parts)-2], parts[len(parts)-1]
	path, _, _ = strings.Cut(path, "\n")
	s.path = filepath.SplitList(path)
	s.stands = map[string]string{}
	var b strings.Builder
	for i, text := range strings.Split(definitions, mark+piece+"\n") {
		for _, d := range defined(text, i == 0) {
			if strings.HasPrefix(d.Name, "_") || b.Len()+len(d.Source) > snapshotMost {
				continue
			}
			b.WriteString(d.Source + "\n")
			s.stands[d.Name] = d.Stands
		}
	}
	s.script = b.String()
}

// defined are the definitions in a text: a function, or aliases. What cannot be read, as where it is
// too long, costs no other: of aliases each line then counts that can be read.
func defined(text string, aliases bool) (all []shell.Definition) {
	all, err := shell.Definitions(text)
	if err == nil || !aliases {
		return all
	}
	for line := range strings.Lines(text) {
		if one, err := shell.Definitions(line); err == nil {
			all = append(all, one...)
		}
	}
	return all
}

// Meanings are what the words that the user's shell defines stand for.
func (s *Shell) Meanings() map[string]string {
	if taken := s.now(); taken != nil {
		return taken.stands
	}
	return nil
}

// Env is the environment of commands with the directories of programs that the user's
// shell has.
func (s *Shell) Env() []string {
	env := s.o.Env(false)
	if s.now() == nil {
		return env
	}
	return withPath(env, s.path)
}

// Command is how a command is run: by bash with what the user's shell has, as a
// login shell, or as it is. What is known to only read runs as it is, so that no
// definition changes what it does.
func (s *Shell) Command(a tool.Command) (argv, env []string) {
	argv, env = a.Argv, s.o.Env(a.TTY)
	if policy.KnownSafe(a.Line) {
		env = reading(env)
	}
	if len(argv) != 3 || argv[0] != "bash" || argv[1] != "-c" || argv[2] != a.Line {
		return argv, env
	}
	if a.Login {
		return []string{"bash", "-lc", a.Line}, env
	}
	if s.now() == nil {
		return argv, env
	}
	env = withPath(env, s.path)
	if s.script == "" || policy.KnownSafe(a.Line) {
		return argv, env
	}
	// An alias counts from the line after the one that defines it.
	argv = []string{"bash", "-c", `shopt -s expand_aliases; eval "$` + snapshotName + `" 2>/dev/null; unset ` +
		snapshotName + "\n" + a.Line}
	return argv, append(env, snapshotName+"="+s.script)
}

// withPath adds to the PATH of env the directories that it lacks.
func withPath(env, dirs []string) []string {
	for i, kv := range env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		all := filepath.SplitList(path)
		for _, d := range dirs {
			if filepath.IsAbs(d) && !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
		env = slices.Clone(env)
		env[i] = "PATH=" + strings.Join(all, string(filepath.ListSeparator))
	}
	return env
}
