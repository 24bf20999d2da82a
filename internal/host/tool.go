package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/protocol"
)

// ToolResult is what `kerf tool` prints.
type ToolResult struct{ tool.Result }

// MarshalJSON puts the tool's own fields beside those that every result has.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	object := map[string]any{"success": r.Success, "output": r.Output, "warnings": r.Warnings}
	if r.Warnings == nil {
		object["warnings"] = []tool.Warning{}
	}
	if r.Error != nil {
		object["error"] = r.Error
	}
	if r.VersionInfo != nil {
		object["versionInfo"] = r.VersionInfo
	}
	if len(r.UpdatedStates) > 0 {
		object["updatedFileStates"] = r.UpdatedStates
	}
	for k, v := range r.Fields {
		object[k] = v
	}
	return json.Marshal(object)
}

// Tool runs one tool call in the working directory, without a model.
func (h *Host) Tool(ctx context.Context, name string, args json.RawMessage, over protocol.Settings, addDirs []string) (ToolResult, error) {
	set, err := h.settings(over)
	if err != nil {
		return ToolResult{}, err
	}
	call, err := uuid.NewV7()
	if err != nil {
		return ToolResult{}, err
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, AddDirs: addDirs, Sandbox: set.Sandbox, Tmp: call.String()})
	if err != nil {
		return ToolResult{}, err
	}
	defer ws.Close()
	ho := h.executorOptions(ws, set, protocol.OpenOptions{Source: "tool"}, &log{})
	exec := executor.New(ho)
	defer exec.Close()
	return h.once(ctx, exec, tool.Call{ID: protocol.CallID(call.String()), Name: name, Args: args}, set), nil
}

// once proposes and does one call, asking nobody: whoever runs `kerf tool` has
// decided.
func (h *Host) once(ctx context.Context, exec *executor.Executor, c tool.Call, set protocol.Settings) ToolResult {
	action, err := exec.Propose(ctx, c)
	var refused *tool.Error
	switch {
	case errors.As(err, &refused):
		return resultOf(tool.Fail(refused))
	case err != nil:
		return resultOf(tool.Fail(tool.Refuse("FAILED", "%v", err)))
	}
	switch a := action.(type) {
	case tool.Answer:
		return resultOf(a.Result)
	case tool.Change:
		r, _ := exec.Commit(ctx, c.ID, a, executor.Manner{Settings: set, Turn: protocol.TurnID(c.ID)})
		return resultOf(r)
	default:
		o := exec.Do(ctx, c.ID, a, executor.Manner{Settings: set, Turn: protocol.TurnID(c.ID)})
		r := tool.Result{Success: o.Success, Output: o.Text}
		if !o.Success {
			r.Error = tool.Refuse("COMMAND_FAILED", "the command did not succeed; its output says why")
		}
		return resultOf(r)
	}
}

func resultOf(r tool.Result) ToolResult {
	r.Success = r.Error == nil
	return ToolResult{r}
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
