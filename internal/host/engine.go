package host

import (
	"context"
	"encoding/json"
	"errors"
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

// Engine returns the file engine. addDirs are reached beside the roots of a client.
func (h *Host) Engine(addDirs []string) protocol.Engine { return engine{h, addDirs} }

type engine struct {
	h       *Host
	addDirs []string
}

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
	c := &engineConn{engine: e, id: protocol.SessionID(id.String()), client: orElse(o.Client, "client")}
	if err := c.open(o.Roots); err != nil {
		return nil, err
	}
	return c, nil
}

// engineConn is one client's executor. Its id stands in the ledger where sessions
// have theirs.
type engineConn struct {
	engine
	id     protocol.SessionID
	client string

	// mu is held to read by calls that only read, to write by the others.
	mu    sync.RWMutex
	roots []string
	set   protocol.Settings
	ws    *workspace.Workspace
	exec  *executor.Executor
}

// open opens the workspace of roots in place of the present one.
func (c *engineConn) open(roots []string) error {
	set := protocol.Settings{Cwd: c.h.Config.Cwd, Sandbox: protocol.SandboxWorkspace, Approval: protocol.PolicyNever}
	if len(roots) > 0 {
		set.Cwd = roots[0]
	}
	if st, err := os.Stat(set.Cwd); err != nil || !st.IsDir() {
		return fmt.Errorf("root %s is not a directory", set.Cwd)
	}
	more := append([]string{}, c.addDirs...)
	if len(roots) > 1 {
		more = append(more, roots[1:]...)
	}
	ws, err := c.h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, AddDirs: more, Sandbox: set.Sandbox, Tmp: string(c.id)})
	if err != nil {
		return err
	}
	l := &log{id: c.id}
	o := c.h.executorOptions(ws, set, protocol.OpenOptions{Source: c.client, Headless: true}, l)
	if c.exec == nil {
		c.exec = executor.New(o)
	} else {
		c.exec.Move(context.Background(), o)
		_ = c.ws.Close()
	}
	c.ws, c.set, c.roots = ws, set, roots
	return nil
}

// SetRoots moves the connection to other roots.
func (c *engineConn) SetRoots(_ context.Context, roots []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(roots, c.roots) {
		return nil
	}
	return c.open(roots)
}

// Close ends the connection; its changes stay in the ledger.
func (c *engineConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec.Close()
	return c.ws.Close()
}

// Call runs one tool.
func (c *engineConn) Call(ctx context.Context, name string, args json.RawMessage) protocol.EngineAnswer {
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
			return answerOf(t.run(ctx, c, args))
		}
	}
	return answerOf(c.tool(ctx, name, args))
}

// tool runs a tool of sessions. Each call is a turn of its own.
func (c *engineConn) tool(ctx context.Context, name string, args json.RawMessage) tool.Result {
	id, err := uuid.NewV7()
	if err != nil {
		return tool.Fail(tool.Refuse("FAILED", "%v", err))
	}
	call := tool.Call{ID: protocol.CallID(id.String()), Name: name, Args: args}
	action, err := c.exec.Propose(ctx, call)
	var refused *tool.Error
	switch {
	case errors.As(err, &refused):
		return tool.Fail(refused)
	case err != nil:
		return tool.Fail(tool.Refuse("FAILED", "%v", err))
	}
	switch a := action.(type) {
	case tool.Answer:
		c.exec.Shown(a.Saw)
		return a.Result
	case tool.Change:
		r, _ := c.exec.Commit(ctx, call.ID, a, executor.Manner{Settings: c.set, Turn: protocol.TurnID(call.ID), Tool: name})
		return r
	}
	return tool.Fail(tool.Refuse(tool.UnknownTool, "%s is not a file tool", name))
}

// answerOf is a result in the words of the protocol.
func answerOf(r tool.Result) protocol.EngineAnswer {
	object, err := json.Marshal(resultOf(r))
	if err != nil {
		object = json.RawMessage(`{"success":false,"output":"","warnings":[]}`)
	}
	return protocol.EngineAnswer{Text: executor.Render(r), Object: object, Images: r.Images, Failed: r.Error != nil}
}

// relativeTo names a path as the clients of the first root do.
func (c *engineConn) relative(path string) string {
	if rel, err := filepath.Rel(c.set.Cwd, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
