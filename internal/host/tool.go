package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/engine"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
)

// Tool runs one tool call in the working directory, without a model.
func (h *Host) Tool(ctx context.Context, name string, args json.RawMessage, over protocol.Settings,
	addDirs []string) (engine.Result, error) {
	c := h.configured()
	set, err := c.settings(over)
	if err != nil {
		return engine.Result{}, err
	}
	call, err := uuid.NewV7()
	if err != nil {
		return engine.Result{}, err
	}
	ws, err := c.workspace(WorkspaceOptions{Root: set.Cwd, AddDirs: addDirs, Sandbox: set.Sandbox, Tmp: call.String()})
	if err != nil {
		return engine.Result{}, err
	}
	defer ws.Close()
	ho := c.executorOptions(ws, set, protocol.OpenOptions{Source: "tool"}, &sessions.Log{})
	exec := executor.New(ho)
	defer exec.Close()
	do := tool.Call{ID: protocol.CallID(call.String()), Name: name, Args: args}
	manner := executor.RunOptions{Settings: set, Turn: protocol.TurnID(do.ID)}
	return engine.Call(ctx, exec, do, manner, func(a tool.Action) tool.Result {
		o := exec.Do(ctx, do.ID, a, manner)
		r := tool.Result{Success: o.Success, Output: o.Text}
		if !o.Success {
			r.Error = tool.Refuse("COMMAND_FAILED", "the command did not succeed; its output says why")
		}
		return r
	}), nil
}

// ToolSpecs are the schemas that `kerf tool --list` prints.
func ToolSpecs() ([]byte, error) {
	type spec struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Aliases     []string        `json:"aliases,omitempty"`
	}
	var list []spec
	for _, t := range tools.All() {
		s := t.Spec()
		list = append(list, spec{s.Name, s.Description, s.Schema, s.Aliases})
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("tool schemas: %w", err)
	}
	return b, nil
}

// RolloutSchema is the JSON schema of one line of a rollout.
func RolloutSchema() (*jsonschema.Schema, error) { return history.Schema() }
