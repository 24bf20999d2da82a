package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
)

//go:embed close_agent.md
var closeAgentWords string

type closeArgs struct {
	Target string `json:"target" doc:"The agent_id, or the name, of the agent."`
}

func closeAgent() entry {
	return definition[closeArgs]{name: "close_agent", words: closeAgentWords,
		prepare: func(_ context.Context, _ tool.Env, _ tool.Call, a closeArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "close", Targets: []string{a.Target}}, nil
		}}
}
