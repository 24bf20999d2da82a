package host

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/engine"
	"kerf/internal/host/checking"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/check"
)

// Tool runs one tool call in the working directory, without a model.
func (h *Host) Tool(ctx context.Context, name string, args json.RawMessage, over protocol.Settings,
	addDirs []string) (engine.Result, error) {
	call, err := uuid.NewV7()
	if err != nil {
		return engine.Result{}, err
	}
	exec, _, set, end, err := h.configured().bare(over, addDirs, call.String())
	if err != nil {
		return engine.Result{}, err
	}
	defer end()
	do := tool.Call{ID: protocol.CallID(call.String()), Name: name, Args: args}
	manner := executor.RunOptions{Settings: set, Turn: protocol.TurnID(do.ID), Tool: do.Name}
	return engine.Call(ctx, exec, do, manner, func(a tool.Action) tool.Result {
		o := exec.Do(ctx, do.ID, a, manner)
		r := tool.Result{Success: o.Success, Output: o.Text}
		if !o.Success {
			r.Error = tool.Refuse("COMMAND_FAILED", "the command did not succeed; its output says why")
		}
		return r
	}), nil
}

// bare is an executor in the working directory without a session; end gives it up.
func (c configured) bare(over protocol.Settings, addDirs []string, tmp string) (exec *executor.Executor,
	o executor.Options, set protocol.Settings, end func(), err error) {
	if set, err = c.settings(over); err != nil {
		return nil, o, set, nil, err
	}
	ws, err := c.workspace(WorkspaceOptions{Root: set.Cwd, AddDirs: addDirs, Sandbox: set.Sandbox, Tmp: tmp})
	if err != nil {
		return nil, o, set, nil, err
	}
	o = c.executorOptions(ws, set, protocol.OpenOptions{Source: "tool"}, &sessions.Log{})
	exec = executor.New(o)
	return exec, o, set, func() { exec.Close(); _ = ws.Close() }, nil
}

// Check runs the configured checks of a moment on the files as they are.
func Check(ctx context.Context, h *Host, m check.Moment) ([]check.Report, error) {
	c := h.configured()
	exec, o, set, end, err := c.bare(protocol.Settings{}, nil, "check")
	if err != nil {
		return nil, err
	}
	defer end()
	o.Redact = c.redact
	return checking.Again(ctx, exec, o, c.Config, c.trusted(), set, m)
}

// RolloutSchema is the JSON schema of one line of a rollout.
func RolloutSchema() (*jsonschema.Schema, error) { return history.Schema() }
