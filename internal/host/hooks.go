package host

import (
	"cmp"
	"context"
	"path/filepath"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/hookrun"
	"kerf/internal/agent/executor/usershell"
	"kerf/internal/agent/hooks"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
)

// applyPolicy gives a session the rules, and the hooks, that hold here. It returns
// warnings for the user.
func (c configured) applyPolicy(o *executor.Options, id protocol.SessionID, transcript string,
	ask func(ctx context.Context, model, question string) (string, error)) ([]string, error) {
	list, err := c.rules()
	if err != nil {
		return nil, err
	}
	c.noteSecrets(o.Cwd)
	o.Rules, o.AddRule, o.Redact = list, func(line string) error { return config.AddRule(c.Home, line) }, c.redact
	o.Shell = c.userShell(o.Cwd)
	found, warnings, err := c.HookList()
	if err != nil || len(found) == 0 {
		return warnings, err
	}
	handlers := make([]hooks.Handler, len(found))
	for i, f := range found {
		handlers[i] = hooks.Handler{Event: hooks.Event(f.Event), Matcher: f.Matcher, Command: f.Command, Timeout: f.Timeout,
			URL: f.URL, Headers: f.Headers, Env: f.Env, Prompt: f.Prompt, Model: f.Model, Told: f.Told, Vars: f.Vars,
			Form: hooks.Form(f.Form), Dir: f.Dir, From: cmp.Or(f.From, "config.toml"), Required: f.Required}
	}
	env := proc.OwnEnv(c.childEnv(id)(false), c.Workspaces(o.Cwd))
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"} { // by which hooks find their parts
		env = append(env, name+"="+c.Root)
	}
	run := hookrun.Runner(hookrun.Options{Getenv: c.getenv, Ask: ask,
		Command: executor.RunHook(c.hookShell(), c.HookDir(o.Cwd), env)})
	if o.Hooks, err = hooks.New(handlers, run); err != nil {
		return warnings, misconfigured{err}
	}
	o.Hooks.Origin = hooks.Origin{Session: string(id), Transcript: transcript, Cwd: o.Cwd}
	return warnings, nil
}

// misconfigured is a fault of the configuration that is found late.
type misconfigured struct{ error }

// ExitCode is that of usage and configuration.
func (misconfigured) ExitCode() int { return 2 }

func (m misconfigured) Unwrap() error { return m.error }

// userShell is what the user logs in with, if Kerf knows how to ask it for its
// definitions and it does not come from the workspace.
func (c configured) userShell(cwd string) usershell.Options {
	u := usershell.Options{Login: c.AllowLoginShell}
	program, home := c.getenv("SHELL"), c.getenv("HOME")
	brought := append(c.Workspaces(cwd), cwd)
	if !c.ShellSnapshot || !filepath.IsAbs(program) || !filepath.IsAbs(home) ||
		proc.Within(program, brought) {
		return u
	}
	for _, n := range usershell.StartFiles(program) {
		u.Program = program
		if path := filepath.Join(home, n); !proc.Within(path, brought) { // what a repository brings is not the user's
			u.Files = append(u.Files, path)
		}
	}
	return u
}

// hookShell is the shell that understands what hooks are written in.
func (c configured) hookShell() string {
	switch s := c.getenv("SHELL"); s {
	case "/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh", "/usr/local/bin/bash", "/opt/homebrew/bin/bash":
		return s
	}
	return "/bin/sh"
}
