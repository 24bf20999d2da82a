package host

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"kerf/internal/agent/executor"
	"kerf/internal/host/confining"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox"
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
	// Unrecorded keeps nothing of what is done there, see [workspace.Options].
	Unrecorded bool
	Reading    bool // see [workspace.Options]
	// Check is asked about each root, see [workspace.Options].
	Check func(dir string) error
}

// workspace opens a workspace as it is configured.
func (c configured) workspace(o WorkspaceOptions) (*workspace.Workspace, error) {
	roots, err := c.roots(cmp.Or(o.Root, c.Cwd), o.AddDirs)
	if err != nil {
		return nil, err
	}
	var ws *workspace.Workspace
	bound := boundary.NewSession(boundary.Disk{Layers: c.layers}, string(o.Sandbox), func(mode string) boundary.Policy {
		return confining.Beside(ws.Scratch(), c.policy(roots, ws.OwnTmp())(protocol.SandboxMode(mode)))
	})
	ws, err = workspace.Open(workspace.Options{Home: c.Home, Roots: roots, Full: o.Sandbox == protocol.SandboxFull,
		Outlive: c.Config.Witness, Boundary: bound, Tmp: o.Tmp, Unrecorded: o.Unrecorded, Reading: o.Reading,
		Check: o.Check})
	return ws, err
}

// roots are the writable roots: the working directory, then what was added.
func (c configured) roots(cwd string, addDirs []string) ([]string, error) {
	return workspace.Roots(cwd, append(slices.Clone(addDirs), c.WorkspaceWrite.WritableRoots...))
}

// workspaceWarnings are what a session is told of its workspace and of the sandbox here.
func (c configured) workspaceWarnings(ws *workspace.Workspace, mode protocol.SandboxMode) []string {
	var list []string
	if n := ws.Notice(); n != "" {
		list = append(list, n)
	}
	if ws.Unscanned != "" {
		list = append(list, "changes by commands are not tracked here: "+ws.Unscanned)
	}
	left := proc.LeftOut(c.env, c.envPolicy("", false))
	if told := proc.TellLeftOut(slices.DeleteFunc(left, func(l proc.Left) bool { return c.OwnKey(l.Name) })); told != "" {
		list = append(list, told)
	}
	if mode != protocol.SandboxFull {
		if w := sandbox.Warning(context.Background(), filepath.Join(c.Home, "locks"), ws.Roots...); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// executorOptions joins the configuration with what an Executor needs.
func (c configured) executorOptions(ws *workspace.Workspace, set protocol.Settings, o protocol.OpenOptions,
	l *sessions.Log) executor.Options {
	ho := executor.Options{
		Cwd: set.Cwd, Base: ws.Base(), Tree: ws.Tree, Work: ws.Txn, Images: ws.Store.Get,
		Witness: ws.Witness, WitnessAll: c.Config.Witness, Scanner: ws.Scanner, Unscanned: ws.Unscanned,
		Search:   search.New(search.Options{Roots: ws.Tree.Roots(), Boundary: ws.Boundary}),
		Boundary: ws.Boundary,
		Env:      c.childEnv(l.ID),
		Origin:   txn.Origin{Session: string(l.ID), Client: cmp.Or(o.Source, "kerf")},
		Client:   o.Client, Keep: ws.Store.Put, OutputTokens: c.ToolOutputTokenLimit,
		Fleeting: o.Ephemeral, Confined: o.Bounds.Confines(),
	}
	if l.Writer != nil {
		ho.SaveDiff = l.Writer.SaveDiff
	}
	if l.State != nil {
		ho.Seen = l.State.Seen
	}
	return ho
}

// policy makes the sandbox policy of a command.
func (c configured) policy(roots []string, private string) func(protocol.SandboxMode) boundary.Policy {
	return confining.Policy[protocol.SandboxMode](c.Config, confining.Place{Getenv: c.getenv, Roots: roots, Private: private})
}

// Hidden tells which paths the plan of the directories that the user named hides, and why.
func Hidden(h *Host, addDirs []string) func(path string) (why string) {
	c := h.configured()
	return c.hidden(c.Cwd, addDirs)
}

func (c configured) hidden(cwd string, addDirs []string) func(path string) (why string) {
	roots, err := c.roots(cwd, addDirs)
	if err != nil {
		return func(string) string { return err.Error() }
	}
	return confining.Hides(c.Config, confining.Place{Getenv: c.getenv, Roots: roots})
}

// childEnv makes the environment of commands, the same until there are more secrets.
func (c configured) childEnv(id protocol.SessionID) func(bool) []string {
	return proc.Kept(c.redactor, func(tty bool) []string { return proc.Environment(c.env, c.envPolicy(id, tty)) })
}

func (c configured) envPolicy(id protocol.SessionID, tty bool) proc.EnvPolicy {
	se := c.ShellEnvironment
	return proc.EnvPolicy{Inherit: se.Inherit, IgnoreDefaultExcludes: se.IgnoreDefaultExcludes, Exclude: se.Exclude,
		IncludeOnly: se.IncludeOnly, Set: se.Set, TTY: tty, Session: string(id), Secret: c.redactor().Has}
}
