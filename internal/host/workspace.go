package host

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"kerf/internal/agent/executor"
	"kerf/internal/config"
	"kerf/internal/engine"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/visible"
	"kerf/internal/work/proc"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/sandbox/interactive"
	"kerf/internal/work/search"
	"kerf/internal/work/txn"
	"kerf/internal/work/workspace"
)

// WorkspaceOptions say which workspace is opened.
type WorkspaceOptions struct {
	Root    string               // the first root; the working directory if empty
	AddDirs []string             // further roots, beside the configured ones
	Sandbox protocol.SandboxMode // with full access the file tools reach everything
	Tmp     string               // see [workspace.Options]
}

// OpenWorkspace opens a workspace as it is configured.
func (h *Host) OpenWorkspace(o WorkspaceOptions) (*workspace.Workspace, error) {
	roots, err := h.roots(cmp.Or(o.Root, h.Config.Cwd), o.AddDirs)
	if err != nil {
		return nil, err
	}
	return workspace.Open(workspace.Options{Home: h.Config.Home, Roots: roots, Full: o.Sandbox == protocol.SandboxFull, Tmp: o.Tmp})
}

// roots are the writable roots: the working directory, then what was added.
func (h *Host) roots(cwd string, addDirs []string) ([]string, error) {
	return workspace.Roots(cwd, append(slices.Clone(addDirs), h.Config.WorkspaceWrite.WritableRoots...))
}

// Engine returns the file engine. addDirs are reached beside the roots of a client.
func (h *Host) Engine(addDirs []string) protocol.Engine {
	return engine.New(engine.Options{Home: h.Config.Home, Cwd: h.Config.Cwd, AddDirs: addDirs,
		Open: func(root string, more []string, tmp string) (*workspace.Workspace, error) {
			return h.OpenWorkspace(WorkspaceOptions{Root: root, AddDirs: more, Sandbox: protocol.SandboxWorkspace, Tmp: tmp})
		},
		Executor: func(ws *workspace.Workspace, set protocol.Settings, id protocol.SessionID, client string) executor.Options {
			return h.executorOptions(ws, set, protocol.OpenOptions{Source: client, Headless: true}, &log{Log: &sessions.Log{ID: id}})
		}})
}

// InGit reports whether the working directory is inside a git repository.
func (h *Host) InGit() bool {
	_, _, ok := repo.Find(h.Config.Cwd)
	return ok
}

// Visible makes control and direction characters harmless for one line of
// output.
func Visible(s string) string { return visible.Plain(s) }

// workspaceWarnings are what a session is told of its workspace and of the sandbox here.
func (h *Host) workspaceWarnings(ws *workspace.Workspace, mode protocol.SandboxMode) []string {
	var list []string
	if ws.Unscanned != "" {
		list = append(list, "what commands change is not tracked here: "+ws.Unscanned)
	}
	if mode != protocol.SandboxFull {
		if w := sandbox.Warning(context.Background(), filepath.Join(h.Config.Home, "locks"), ws.Roots...); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// executorOptions joins the configuration with what an Executor needs.
func (h *Host) executorOptions(ws *workspace.Workspace, set protocol.Settings, o protocol.OpenOptions, l *log) executor.Options {
	ho := executor.Options{
		Cwd: set.Cwd, Base: ws.Base(), Tree: ws.Tree, Work: ws.Txn, Images: ws.Store.Get,
		Scanner: ws.Scanner, Unscanned: ws.Unscanned, Search: search.New(search.Options{Roots: ws.Roots}),
		Sandbox: h.policy(ws.Roots, ws.Tmp),
		Env:     h.childEnv(l.ID),
		Origin:  txn.Origin{Session: string(l.ID), Client: orElse(o.Source, "kerf")},
		Client:  o.Client, Keep: ws.Store.Put, OutputTokens: h.Config.ToolOutputTokenLimit,
		Fleeting: o.Ephemeral,
	}
	if l.Writer != nil {
		ho.SaveDiff = l.Writer.SaveDiff
	}
	if l.State != nil {
		ho.Seen = l.State.Seen
	}
	return ho
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// policy makes the sandbox policy of a command.
func (h *Host) policy(roots []string, private string) func(protocol.SandboxMode) sandbox.Policy {
	c := h.Config
	profile := c.Permissions[c.DefaultPermissions]
	rules := append(sandbox.HideHomeSecrets(h.Getenv("HOME"), roots), rulesOf(profile)...) // the user's own come last and win
	return func(mode protocol.SandboxMode) sandbox.Policy {
		network := profile.Network.Enabled || c.WorkspaceWrite.NetworkAccess && mode == protocol.SandboxWorkspace
		return sandbox.Policy{Mode: string(mode), Roots: roots, Network: network, Domains: profile.Network.Domains, Limits: sandbox.DefaultLimits(),
			TmpDir: private, SharedTmp: c.WorkspaceWrite.SharedTmp, Rules: rules, DenyRead: []string{c.Home},
			LockDir: filepath.Join(c.Home, "locks")}
	}
}

func rulesOf(p config.Permission) []sandbox.Rule {
	var rules []sandbox.Rule
	for path, access := range p.Filesystem {
		rules = append(rules, sandbox.Rule{Path: path, Access: sandbox.Access(access)})
	}
	return rules
}

// childEnv makes the environment of commands.
func (h *Host) childEnv(id protocol.SessionID) func(bool) []string {
	se := h.Config.ShellEnvironment
	p := proc.EnvPolicy{Inherit: se.Inherit, IgnoreDefaultExcludes: se.IgnoreDefaultExcludes, Exclude: se.Exclude,
		IncludeOnly: se.IncludeOnly, Set: se.Set, TTY: false, Session: string(id)}
	return func(tty bool) []string {
		p := p
		p.TTY = tty
		return proc.Environment(h.Env, p)
	}
}

// Sandboxed is a command as `kerf sandbox` runs it, in the configured sandbox mode if
// none is given.
func (h *Host) Sandboxed(mode string, addDirs, argv []string) (interactive.Command, error) {
	set, err := h.settings(protocol.Settings{Sandbox: protocol.SandboxMode(mode)})
	if err != nil {
		return interactive.Command{}, err
	}
	switch set.Sandbox {
	case protocol.SandboxReadOnly, protocol.SandboxWorkspace, protocol.SandboxFull:
	default:
		return interactive.Command{}, fmt.Errorf("--sandbox %q: use read-only, workspace-write or danger-full-access", mode)
	}
	roots, err := h.roots(set.Cwd, addDirs)
	if err != nil {
		return interactive.Command{}, err
	}
	env := func(tty bool) []string {
		list := h.childEnv("")(tty)
		if term := h.Getenv("TERM"); tty && term != "" {
			list = append(list, "TERM="+term)
		}
		return list
	}
	return interactive.Command{Argv: argv, Dir: set.Cwd, Env: env, Policy: h.policy(roots, "")(set.Sandbox), Full: set.Sandbox == protocol.SandboxFull}, nil
}
