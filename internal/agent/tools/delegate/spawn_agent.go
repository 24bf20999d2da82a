package delegate

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed spawn_agent.md
var spawnAgentWords string

type spawnArgs struct {
	Message   string `json:"message" doc:"The task, with all that the agent needs to know: it does not see this conversation."`
	Type      string `json:"agent_type,omitempty" doc:"The kind of agent (default: default)."`
	Model     string `json:"model,omitempty" doc:"Another model than yours."`
	Effort    string `json:"reasoning_effort,omitempty" doc:"Another reasoning effort than yours."`
	Isolation string `json:"isolation,omitempty" enum:"none,worktree" doc:"worktree: it works in a git work tree of its own, which close_agent merges back."`
}

func spawn() define.Entry {
	return define.Tool[spawnArgs]{Name: "spawn_agent", Text: spawnAgentWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a spawnArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "spawn", Message: a.Message, Role: a.Type, Model: a.Model, Effort: a.Effort,
				Isolated: a.Isolation == "worktree"}, nil
		}}.Entry()
}
