// Package engine serves the file tools of sessions to programs that bring a model of
// their own, with undo, diff, log and blame beside them.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/protocol"
	"kerf/internal/work/workspace"
)

// engineTools are the tools of sessions that are offered to other programs too.
func engineTools() []protocol.EngineTool {
	var list []protocol.EngineTool
	for _, name := range []string{"read_file", "write_file", "edit_file", "apply_patch", "read_code", "edit_code"} {
		t, ok := tools.Lookup(name)
		schema, known := tools.Schema(name)
		if ok && known {
			reads := t.Spec().Parallel
			list = append(list, protocol.EngineTool{Name: name, Description: t.Spec().Description, Input: schema,
				ReadOnly: reads, Destructive: !reads})
		}
	}
	return list
}

// Options join the engine with the configuration.
type Options struct {
	// Home is KERF_HOME.
	Home string
	// Cwd is the root of clients that name none; AddDirs are reached beside the roots
	// of every client.
	Cwd     string
	AddDirs []string
	// Open opens the workspace of a root and further directories. Tmp and check are as in
	// [workspace.Options].
	Open func(root string, more []string, tmp string, check func(string) error) (*workspace.Workspace, error)
	// Executor makes the options of the executor of a client.
	Executor func(ws *workspace.Workspace, set protocol.Settings, id protocol.SessionID, client string) executor.Options
}

// New returns the file engine.
func New(o Options) protocol.Engine { return engine{o} }

type engine struct{ Options }

// Tools lists the tools with their schemas.
func (e engine) Tools() []protocol.EngineTool {
	list := engineTools()
	for _, t := range historyTools() {
		list = append(list, t.EngineTool)
	}
	return list
}

// Connect opens the workspace of a client's roots.
func (e engine) Connect(_ context.Context, o protocol.EngineOptions) (protocol.EngineConn, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	c := &conn{engine: e, id: protocol.SessionID(id.String()), client: cmp.Or(o.Client, "client"), check: o.Check}
	if err := c.open(o.Roots); err != nil {
		return nil, err
	}
	return c, nil
}

// conn is one client's executor. Its id stands in the ledger where sessions
// have theirs.
type conn struct {
	engine
	id     protocol.SessionID
	client string
	check  func(dir string) error

	// mu is held to read by calls that only read, to write by the others.
	mu    sync.RWMutex
	roots []string
	set   protocol.Settings
	ws    *workspace.Workspace
	exec  *executor.Executor
}

// open opens the workspace of roots in place of the present one.
func (c *conn) open(roots []string) error {
	set := protocol.Settings{Cwd: c.Cwd, Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}
	if len(roots) > 0 {
		set.Cwd = roots[0]
	}
	if st, err := os.Stat(set.Cwd); err != nil || !st.IsDir() {
		return fmt.Errorf("root %s is not a directory", set.Cwd)
	}
	more := slices.Clone(c.AddDirs)
	if len(roots) > 1 {
		more = append(more, roots[1:]...)
	}
	ws, err := c.Open(set.Cwd, more, string(c.id), c.check)
	if err != nil {
		return err
	}
	o := c.Executor(ws, set, c.id, c.client)
	if c.exec == nil {
		c.exec = executor.New(o)
	} else {
		c.exec = c.exec.Move(o)
		_ = c.ws.Close()
	}
	c.ws, c.set, c.roots = ws, set, roots
	return nil
}

// SetRoots moves the connection to other roots.
func (c *conn) SetRoots(_ context.Context, roots []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(roots, c.roots) {
		return nil
	}
	return c.open(roots)
}

// Close ends the connection; its changes stay in the ledger.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec.Close()
	return c.ws.Close()
}

// Call runs one tool.
func (c *conn) Call(ctx context.Context, name string, args json.RawMessage) protocol.EngineAnswer {
	readOnly := false
	for _, t := range c.Tools() {
		if t.Name == name {
			readOnly = t.ReadOnly
		}
	}
	if readOnly {
		c.mu.RLock()
		defer c.mu.RUnlock()
	} else {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	for _, t := range historyTools() {
		if t.Name == name {
			return answerOf(resultOf(t.run(ctx, c, args)))
		}
	}
	return answerOf(c.tool(ctx, name, args))
}

// tool runs a tool of sessions. Each call is a turn of its own.
func (c *conn) tool(ctx context.Context, name string, args json.RawMessage) Result {
	id, err := uuid.NewV7()
	if err != nil {
		return resultOf(failed(err))
	}
	call := tool.Call{ID: protocol.CallID(id.String()), Name: name, Args: args}
	return Call(ctx, c.exec, call, executor.RunOptions{Settings: c.set, Turn: protocol.TurnID(call.ID), Tool: name},
		func(tool.Action) tool.Result {
			return tool.Fail(tool.Refuse(tool.UnknownTool, "%s is not a file tool", name))
		})
}

// answerOf is a result in the words of the protocol.
func answerOf(r Result) protocol.EngineAnswer {
	object, err := json.Marshal(r)
	if err != nil {
		object = json.RawMessage(`{"success":false,"output":"","warnings":[]}`)
	}
	return protocol.EngineAnswer{Text: r.Result.Text(), Object: object, Images: r.Images, Failed: r.Error != nil}
}

// relativeTo names a path as the clients of the first root do.
func (c *conn) relative(path string) string {
	if rel, err := filepath.Rel(c.set.Cwd, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
