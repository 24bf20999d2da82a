// Package doctor looks at what Kerf needs on a machine.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/sandbox/render"
	"kerf/internal/work/sandbox/whole"
)

// The states of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// checkLimit bounds the time of each probe that runs a program.
const checkLimit = 5 * time.Second

// Options say what is looked at.
type Options struct {
	Home, Cwd string
	Getenv    func(string) string
	// Warnings are those of the configuration.
	Warnings []string
	// Model names the model that a session would ask, without asking it.
	Model func(context.Context) (string, error)
	// Files tells of files that people keep for agents; nil where nobody knows.
	Files func() []Files
}

// Files are files of one kind: which are used, and which are not and why. None is said
// where there are none.
type Files struct {
	Name         string
	Used, Unused []string
	// Lacking are used, but something that they need is not there.
	Lacking []string
	None    string
}

// checks are all, in the order in which they are shown.
var checks = [...]func(context.Context, Options) []protocol.Check{
	checkSandbox, checkPrograms, checkHome, checkConfig, checkFiles, checkModel, checkTerminal, checkSpaces,
}

// Run looks at what Kerf needs on this machine: by trying it, not by asking
// whether it is installed.
func Run(ctx context.Context, o Options) []protocol.Check {
	var all []protocol.Check
	for _, check := range checks {
		all = append(all, check(ctx, o)...)
	}
	return all
}

// checkSandbox runs something in every backend there is.
func checkSandbox(ctx context.Context, o Options) []protocol.Check {
	var all []protocol.Check
	first := ""
	for _, b := range sandbox.Backends(ctx, o.Cwd) {
		c := protocol.Check{Name: "sandbox " + b.Name, State: checkOK, Detail: "ran a command"}
		if b.Err != nil {
			c.State, c.Detail = checkWarn, oneLine(b.Err.Error())
			var unavailable *render.UnavailableError
			if errors.As(b.Err, &unavailable) {
				c.Detail, c.Hint = oneLine(unavailable.Reason), unavailable.Hint
			}
		} else if first == "" {
			first = b.Name
		}
		all = append(all, c)
	}
	sum := protocol.Check{Name: "sandbox", State: checkOK, Detail: "commands are confined by " + first}
	switch {
	case first == "":
		sum.State, sum.Detail = checkFail, "no sandbox works here: a command runs only if it may leave the sandbox"
		if runtime.GOOS != "linux" { // there is one backend, and it says what helps
			for _, c := range all {
				sum.Hint = cmp.Or(sum.Hint, c.Hint)
			}
			break
		}
		sum.Hint = "allow unprivileged user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 where " +
			"there is such a setting), or install bubblewrap"
	case first == boundary.Landlock:
		sum.State, sum.Detail = checkWarn, "only read-only commands can be confined, by Landlock"
		sum.Hint = "allow unprivileged user namespaces, or install bubblewrap"
	}
	if runtime.GOOS == "linux" {
		all = append(all, protocol.Check{Name: "limits of commands", State: checkOK, Detail: whole.Way()})
	}
	return append([]protocol.Check{sum}, all...)
}

// checkPrograms starts the programs that Kerf uses.
func checkPrograms(ctx context.Context, o Options) []protocol.Check {
	var all []protocol.Check
	for _, t := range []struct{ name, flag, missing, hint string }{
		{"git", "--version", checkWarn, "install git: branches, diffs of commands and undo across commits use it"},
		{"rg", "--version", checkWarn, "install ripgrep: searches are several times slower without it"},
		{"tmux", "-V", checkOK, "not needed; its sessions survive a lost connection"},
	} {
		all = append(all, checkProgram(ctx, o, t.name, t.flag, t.missing, t.hint))
	}
	return all
}

func checkProgram(ctx context.Context, o Options, name, flag, missing, hint string) protocol.Check {
	c := protocol.Check{Name: name, State: missing, Hint: hint}
	path, err := proc.Program(name, []string{o.Cwd})
	if err != nil {
		c.Detail = "not on PATH outside the workspace"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, flag)
	cmd.Dir = string(filepath.Separator)
	out, err := cmd.Output()
	if err != nil {
		c.Detail = fmt.Sprintf("%s does not work: %v", path, err)
		return c
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return protocol.Check{Name: name, State: checkOK, Detail: oneLine(first) + ", " + path}
}

// checkHome looks at who may read Kerf's own files, and whether they can be
// written.
func checkHome(_ context.Context, o Options) []protocol.Check {
	dir := o.Home
	c := protocol.Check{Name: "home", State: checkOK, Detail: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			c.State, c.Detail, c.Hint = checkFail, oneLine(err.Error()), "set KERF_HOME to a directory that can be written"
		}
		return []protocol.Check{c}
	case err != nil:
		c.State, c.Detail, c.Hint = checkFail, oneLine(err.Error()), "set KERF_HOME to a directory that can be read"
		return []protocol.Check{c}
	case !info.IsDir():
		c.State, c.Detail, c.Hint = checkFail, dir+" is not a directory", "move it away, or set KERF_HOME"
		return []protocol.Check{c}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		c.State, c.Detail, c.Hint = checkWarn,
			fmt.Sprintf("%s is open to others (%04o)", dir, info.Mode().Perm()), "chmod 700 "+dir
	}
	if f, err := os.CreateTemp(dir, ".doctor-"); err != nil {
		c.State, c.Detail, c.Hint = checkFail, oneLine(err.Error()),
			"sessions cannot be kept; make it writable or set KERF_HOME"
	} else {
		f.Close()
		os.Remove(f.Name())
	}
	all := []protocol.Check{c}
	for _, name := range []string{"auth.json", "config.toml"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			all = append(all, protocol.Check{Name: name, State: checkWarn,
				Detail: fmt.Sprintf("open to others (%04o)", info.Mode().Perm()), Hint: "chmod 600 " + path})
		}
	}
	return all
}

func checkConfig(_ context.Context, o Options) []protocol.Check {
	if len(o.Warnings) > 0 {
		return []protocol.Check{{Name: "configuration", State: checkWarn, Detail: oneLine(strings.Join(o.Warnings, "; ")),
			Hint: "kerf config shows each value and where it comes from"}}
	}
	return []protocol.Check{{Name: "configuration", State: checkOK, Detail: "no errors"}}
}

// maxUnused bounds the rows about files of one kind that are not used.
const maxUnused = 20

// checkFiles tells which files of other agents are used, and in a row each which are not.
// That one is not used is no fault.
func checkFiles(_ context.Context, o Options) (all []protocol.Check) {
	if o.Files == nil {
		return nil
	}
	for _, f := range o.Files() {
		c := protocol.Check{Name: f.Name, State: checkOK, Detail: f.None}
		if len(f.Used)+len(f.Unused)+len(f.Lacking) > 0 {
			c.Detail = cmp.Or(oneLine(strings.Join(f.Used, ", ")), "none is used")
		}
		if len(f.Used) > 0 || len(f.Lacking) == 0 {
			all = append(all, c)
		}
		for _, text := range f.Lacking {
			all = append(all, protocol.Check{Name: f.Name, State: checkWarn, Detail: oneLine(text)})
		}
		for i, text := range f.Unused {
			if i == maxUnused {
				text = fmt.Sprintf("%d more", len(f.Unused)-i)
			}
			c.Detail = "not used: " + oneLine(text)
			if all = append(all, c); i == maxUnused {
				break
			}
		}
	}
	return all
}

// checkModel looks whether the provider could be asked; it asks nothing. A key that nobody
// has given yet is no fault of the machine.
func checkModel(ctx context.Context, o Options) []protocol.Check {
	name, err := o.Model(ctx)
	if err != nil {
		detail, hint, _ := strings.Cut(oneLine(err.Error()), "; ")
		c := protocol.Check{Name: "model", State: checkFail, Detail: detail, Hint: hint}
		if missing := (*protocol.CredentialsError)(nil); errors.As(err, &missing) {
			c.State = checkWarn
		}
		return []protocol.Check{c}
	}
	return []protocol.Check{{Name: "model", State: checkOK, Detail: name + ", with a key where one is needed"}}
}

func checkTerminal(_ context.Context, o Options) []protocol.Check {
	c := protocol.Check{Name: "terminal", State: checkOK}
	switch name := o.Getenv("TERM"); {
	case !term.IsTerminal(int(os.Stdout.Fd())):
		c.Detail = "standard output is not a terminal"
	case name == "" || name == "dumb":
		c.State, c.Detail, c.Hint = checkWarn, "TERM is "+cmp.Or(name, "not set"),
			"the terminal UI needs one that moves the cursor, such as TERM=xterm-256color"
	default:
		cols, rows, _ := term.GetSize(int(os.Stdout.Fd())) // 0, 0 when it does not say
		c.Detail = fmt.Sprintf("%s, %d x %d", visible.Plain(name), cols, rows)
		if cols < 40 || rows < 10 {
			c.State, c.Hint = checkWarn, "make it at least 40 columns wide and 10 rows high"
		}
	}
	return []protocol.Check{c}
}

// The free space below which the user is told, and below which work would stop.
const (
	scarce = 1 << 30
	none   = 50 << 20
)

// checkSpaces looks at the disks of Kerf's home and of the workspace.
func checkSpaces(_ context.Context, o Options) []protocol.Check {
	return []protocol.Check{checkSpace("disk space", o.Home), checkSpace("workspace space", o.Cwd)}
}

func checkSpace(name, dir string) protocol.Check {
	free, err := freeSpace(dir)
	c := protocol.Check{Name: name, State: checkOK}
	switch {
	case err != nil:
		c.State, c.Detail = checkWarn, oneLine(err.Error())
	case free < none:
		c.State, c.Hint = checkFail, "free some; kerf gc removes what undo no longer needs"
	case free < scarce:
		c.State, c.Hint = checkWarn, "kerf gc removes what undo no longer needs"
	}
	if err == nil {
		c.Detail = fmt.Sprintf("%.1f GB free at %s", float64(free)/(1<<30), dir)
	}
	return c
}

func oneLine(s string) string { return visible.Plain(strings.Join(strings.Fields(s), " ")) }
