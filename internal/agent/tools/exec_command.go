package tools

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/patchcommand"
)

//go:embed exec_command.md
var execCommandWords string

// How long a call waits for its command.
const (
	yieldDefault = 10 * time.Second
	yieldMin     = 250 * time.Millisecond
	yieldMax     = 30 * time.Second
	// Aliases promise to wait until the command is done or out of time.
	runDefault = 2 * time.Minute
	runMax     = 10 * time.Minute
)

type execArgs struct {
	Cmd             string `json:"cmd" also:"command" brief:"plain" doc:"The command line, for bash."`
	Workdir         string `json:"workdir,omitempty" also:"cwd,working_directory,directory" brief:"plain" doc:"The directory to run in (default: the working directory)."`
	TTY             bool   `json:"tty,omitempty" brief:"plain" doc:"Run in a terminal."`
	Login           bool   `json:"login,omitempty" doc:"Run in a login shell, which reads the user's profile (default false)."`
	YieldTimeMS     *int   `json:"yield_time_ms,omitempty" min:"0" doc:"Wait so long, 250 to 30000 (default 10000)."`
	TimeoutMS       *int   `json:"timeout_ms,omitempty" min:"0" doc:"End the command after so many milliseconds (default: never)."`
	MaxOutputTokens *int   `json:"max_output_tokens,omitempty" min:"1" brief:"plain" doc:"How much output to return; the middle of more is left out."`
	Permissions     string `json:"sandbox_permissions,omitempty" enum:"use_default,require_escalated" brief:"plain" doc:"require_escalated asks to run outside the sandbox."`
	Justification   string `json:"justification,omitempty" brief:"plain" doc:"Why the command has to run outside the sandbox, for the user."`
	// Other harnesses have these. The shell is bash here; another one is started by it.
	Shell      string   `json:"shell,omitempty" offer:"no"`
	PrefixRule []string `json:"prefix_rule,omitempty" offer:"no"`

	argv []string // the words of the command, where it was given as words
	wait bool     // wait until the command is done or out of time
}

// argvArgs is how models call a shell with words.
type argvArgs struct {
	Cmd              []string `json:"cmd,omitempty"`
	Command          []string `json:"command,omitempty"`
	Workdir          string   `json:"workdir,omitempty"`
	WorkingDirectory string   `json:"working_directory,omitempty"`
	TimeoutMS        *int     `json:"timeout_ms,omitempty" min:"0"`
	Timeout          *int     `json:"timeout,omitempty" min:"0"`
	Permissions      string   `json:"sandbox_permissions,omitempty" enum:"use_default,require_escalated"`
	Escalated        bool     `json:"with_escalated_permissions,omitempty"`
	Justification    string   `json:"justification,omitempty"`
	// What the shells of other machines take and this one has no use for.
	Type string            `json:"type,omitempty"`
	User string            `json:"user,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

func execCommand() entry { return execDefinition().Entry() }

func execDefinition() define.Tool[execArgs] {
	return define.Tool[execArgs]{
		Name: "exec_command", Text: execCommandWords, Plan: prepareExec,
		Aliases: []define.Alias[execArgs]{
			define.As("Bash", func(a struct {
				Command     string `json:"command" also:"cmd"`
				Timeout     *int   `json:"timeout,omitempty" min:"0"`
				Description string `json:"description,omitempty"`
				Background  bool   `json:"run_in_background,omitempty"`
			}) (execArgs, error) {
				if a.Background {
					soon := int(yieldMin.Milliseconds())
					return execArgs{Cmd: a.Command, YieldTimeMS: &soon}, nil
				}
				return execArgs{Cmd: a.Command, TimeoutMS: a.Timeout, wait: true}, nil
			}),
			define.As("run_shell_command", func(a struct {
				Command     string `json:"command" also:"cmd"`
				Directory   string `json:"directory,omitempty"`
				Description string `json:"description,omitempty"`
			}) (execArgs, error) {
				return execArgs{Cmd: a.Command, Workdir: a.Directory, wait: true}, nil
			}),
			define.As("container.exec", argvOf("container.exec")),
			define.As("shell", argvOf("shell")),
			define.As("local_shell", argvOf("local_shell")),
		},
	}
}

// argvOf takes a command that is given as words.
func argvOf(name string) func(argvArgs) (execArgs, error) {
	return func(a argvArgs) (execArgs, error) {
		words := a.Command
		if words == nil {
			words = a.Cmd
		}
		if len(words) == 0 || words[0] == "" {
			return execArgs{}, tool.Refuse(tool.InvalidArguments,
				"%s: missing field command (an array): the program and its arguments", name)
		}
		out := execArgs{argv: words, Workdir: a.Workdir, TimeoutMS: a.TimeoutMS, Permissions: a.Permissions,
			Justification: a.Justification, wait: true}
		if out.Workdir == "" {
			out.Workdir = a.WorkingDirectory
		}
		if out.TimeoutMS == nil {
			out.TimeoutMS = a.Timeout
		}
		if a.Escalated {
			out.Permissions = "require_escalated"
		}
		out.Cmd = patchcommand.Line(words)
		return out, nil
	}
}

// CommandLine is the shell line that a call of exec_command, by any of its names,
// would run; empty if its arguments are not understood.
func CommandLine(c tool.Call) string {
	d := execDefinition()
	if !d.Entry().Answers(c.Name) {
		return ""
	}
	a, err := d.Args(c)
	if err != nil {
		return ""
	}
	return a.Cmd
}

func prepareExec(_ context.Context, env tool.Env, c tool.Call, a execArgs) (tool.Action, error) {
	if strings.TrimSpace(a.Cmd) == "" {
		return nil, tool.Refuse(tool.InvalidArguments, "%s: field cmd: expected a command, found an empty string", c.Name)
	}
	for _, s := range append([]string{a.Cmd, a.Workdir}, a.argv...) {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, tool.Refuse(tool.InvalidArguments, "%s: expected no NUL characters in a command or directory, found one",
				c.Name)
		}
	}
	if len(a.argv) == 2 && patchcommand.IsPatcher(a.argv[0]) {
		return proposePatch(env, c.Manner, a.argv[1], a.Workdir, false)
	}
	if text, dir, ok := patchcommand.Find(a.Cmd); ok {
		return proposePatch(env, c.Manner, text, joinDir(a.Workdir, dir), false)
	}
	if sh := filepath.Base(a.Shell); a.argv == nil && a.Shell != "" && sh != "bash" && sh != "sh" {
		a.argv = []string{a.Shell, "-c", a.Cmd}
		a.Cmd = patchcommand.Line(a.argv)
	}
	cmd := tool.Command{
		Line: a.Cmd, Argv: a.argv, Dir: directory(env, a.Workdir), TTY: a.TTY, Login: a.Login,
		Timeout:  milliseconds(a.TimeoutMS, 0),
		Escalate: a.Permissions == "require_escalated", Reason: a.Justification,
	}
	if cmd.Argv == nil {
		cmd.Argv = []string{"bash", "-c", a.Cmd}
	}
	if a.MaxOutputTokens != nil {
		cmd.MaxTokens = *a.MaxOutputTokens
	}
	cmd.Yield = clamp(milliseconds(a.YieldTimeMS, yieldDefault), yieldMin, yieldMax)
	if a.wait {
		if cmd.Timeout == 0 {
			cmd.Timeout = runDefault
		}
		cmd.Timeout = clamp(cmd.Timeout, time.Millisecond, runMax)
		cmd.Yield = cmd.Timeout + time.Second // the end by time-out is still told by this call
	}
	return cmd, nil
}

// directory is where a command runs. Policy decides whether it may.
func directory(env tool.Env, dir string) string {
	switch {
	case dir == "":
		return env.Cwd()
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	}
	return filepath.Join(env.Cwd(), dir)
}

// joinDir is inner as seen from outer; either may be empty.
func joinDir(outer, inner string) string {
	switch {
	case inner == "":
		return outer
	case outer == "" || filepath.IsAbs(inner):
		return inner
	}
	return filepath.Join(outer, inner)
}

func milliseconds(n *int, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	return time.Duration(min(*n, int(24*time.Hour/time.Millisecond))) * time.Millisecond
}

func clamp(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }
