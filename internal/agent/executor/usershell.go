package executor

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
	"kerf/internal/protocol"
	"kerf/internal/text/shell"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
)

// UserShell says how commands get what the user's own shell has.
type UserShell struct {
	// Program is the user's shell; empty takes nothing from it.
	Program string
	// Files are those of the home that it reads when it starts. Without any there is
	// nothing to take.
	Files []string
	// Login lets the model run login shells.
	Login bool
}

const (
	// snapshotLimit is how long the user's shell may take to start.
	snapshotLimit = 10 * time.Second
	// snapshotWait is how long a command waits for it, once in a session.
	snapshotWait = time.Second
	// snapshotMost bounds the definitions, which commands get as a variable.
	snapshotMost = 48 << 10
	snapshotRead = 4 << 20
	snapshotName = "KERF_SHELL_SNAPSHOT"
)

// snapshot is what the user's shell has beyond the environment: aliases, functions
// and directories of programs. It is taken once, in the background.
//
// One goroutine takes it and ends with the shell it starts, which has a time limit.
type snapshot struct {
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

// takeSnapshot begins to take the snapshot, if it is not taken already. It never
// waits.
func (h *Executor) takeSnapshot() {
	h.shell.once.Do(func() {
		h.shell.ready = make(chan struct{})
		if h.o.Shell.Program == "" || !slices.ContainsFunc(h.o.Shell.Files, present) {
			close(h.shell.ready)
			return
		}
		h.shell.tasks.Go(func() {
			defer close(h.shell.ready)
			h.shell.take(h.shellSays())
		})
	})
}

func present(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Size() > 0
}

// snapshotNow is the snapshot, or nil when there is none. The first to ask, and who
// asks meanwhile, waits a moment for it; what comes later than that is not used.
func (h *Executor) snapshotNow() *snapshot {
	h.takeSnapshot()
	h.shell.waited.Do(func() {
		t := time.NewTimer(snapshotWait)
		defer t.Stop()
		select {
		case <-h.shell.ready:
			h.shell.usable = true
		case <-t.C:
		case <-h.shell.ctx.Done():
		}
	})
	if !h.shell.usable {
		return nil
	}
	return &h.shell
}

// end ends the shell if it still runs.
func (s *snapshot) end() {
	s.cancel()
	s.tasks.Wait()
}

// shellSays starts the user's shell as for a login, in a sandbox that only reads,
// and has it tell its definitions between two marks: start files print, too. It is
// ended, with all it started, when its time is up.
func (h *Executor) shellSays() (text, mark string) {
	mark = "kerf-" + rand.Text()
	var script string
	flags := "-lic"
	switch filepath.Base(h.o.Shell.Program) {
	case "bash":
		script = "builtin printf '\\n%s\\n' " + mark + "; builtin alias -p; builtin declare -f; builtin printf '%s\\n%s\\n' " + mark + ` "$PATH"`
	case "zsh":
		script = "builtin print -r -- \"\n" + mark + "\"; builtin alias -L; builtin print -r -- " + mark + "; builtin print -r -- \"$PATH\""
	default:
		flags, script = "-lc", "printf '\\n%s\\n%s\\n%s\\n' "+mark+" "+mark+` "$PATH"`
	}
	p := h.o.Sandbox(protocol.SandboxReadOnly)
	p.Cwd, p.Network, p.Domains = h.o.Cwd, false, nil
	ctx, cancel := context.WithTimeout(h.shell.ctx, snapshotLimit)
	defer cancel()
	box, err := sandbox.Prepare(ctx, p, false, []string{h.o.Shell.Program, flags, script})
	if err != nil {
		return "", mark // no sandbox, no snapshot
	}
	defer box.Close()
	run, err := proc.Start(ctx, proc.Spec{Argv: box.Argv, ExtraFiles: box.Files, Dir: h.o.Cwd, Env: h.o.Env(false), Cap: snapshotRead, Abrupt: true,
		Confined: box.Confined, Started: box.Started})
	if err != nil {
		return "", mark
	}
	ended := wait(ctx, run, snapshotLimit)
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

// take reads what the shell said.
func (s *snapshot) take(text, mark string) {
	parts := strings.Split(text, mark+"\n")
	if len(parts) < 3 {
		return
	}
	definitions, path := parts[len(parts)-2], parts[len(parts)-1]
	path, _, _ = strings.Cut(path, "\n")
	s.path = filepath.SplitList(path)
	all, err := shell.Definitions(definitions)
	if err != nil {
		return
	}
	s.stands = map[string]string{}
	var b strings.Builder
	for _, d := range all {
		if strings.HasPrefix(d.Name, "_") || b.Len()+len(d.Source) > snapshotMost { // completions, mostly
			continue
		}
		b.WriteString(d.Source + "\n")
		s.stands[d.Name] = d.Stands
	}
	s.script = b.String()
}

// meanings are what the words that the user's shell defines stand for.
func (h *Executor) meanings() map[string]string {
	if s := h.snapshotNow(); s != nil {
		return s.stands
	}
	return nil
}

// dressed is how a command is run: by bash with what the user's shell has, as a
// login shell, or as it is. What is known to only read runs as it is, so that no
// definition changes what it does.
func (h *Executor) dressed(a tool.Command) (argv, env []string) {
	argv, env = a.Argv, h.o.Env(a.TTY)
	if len(argv) != 3 || argv[0] != "bash" || argv[1] != "-c" || argv[2] != a.Line {
		return argv, env
	}
	if a.Login {
		return []string{"bash", "-lc", a.Line}, env
	}
	s := h.snapshotNow()
	if s == nil {
		return argv, env
	}
	env = withPath(env, s.path)
	if s.script == "" || policy.KnownSafe(a.Line) {
		return argv, env
	}
	// An alias counts from the line after the one that defines it.
	argv = []string{"bash", "-c", `shopt -s expand_aliases; eval "$` + snapshotName + `" 2>/dev/null; unset ` + snapshotName + "\n" + a.Line}
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
