package engine

import (
	"context"
	"encoding/json"
	"errors"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/tool"
)

// Result is the result of a call as programs get it.
type Result struct{ tool.Result }

// MarshalJSON puts the tool's own fields beside those that every result has.
func (r Result) MarshalJSON() ([]byte, error) {
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

// Call proposes and performs one call, and asks nobody. Others performs what is
// neither an answer nor a change of files.
func Call(ctx context.Context, e *executor.Executor, c tool.Call, o executor.RunOptions,
	others func(tool.Action) tool.Result) Result {
	action, err := e.Propose(ctx, c)
	var refused *tool.Error
	switch {
	case errors.As(err, &refused):
		return resultOf(tool.Fail(refused))
	case err != nil:
		return resultOf(failed(err))
	}
	switch a := action.(type) {
	case tool.Answer:
		e.Shown(a.Observed)
		return resultOf(a.Result)
	case tool.Change:
		r, _ := e.Commit(ctx, c.ID, a, o)
		return resultOf(r)
	}
	return resultOf(others(action))
}

func resultOf(r tool.Result) Result {
	r.Success = r.Error == nil
	return Result{r}
}

func failed(err error) tool.Result { return tool.Fail(tool.Refuse("FAILED", "%v", err)) }
