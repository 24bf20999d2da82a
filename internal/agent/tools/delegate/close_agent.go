package delegate

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed close_agent.md
var closeAgentWords string

type closeArgs struct {
	Target string `json:"target" doc:"The agent_id, or the name, of the agent."`
}

func closing() define.Entry {
	return define.Tool[closeArgs]{Name: "close_agent", Text: closeAgentWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a closeArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "close", Targets: []string{a.Target}}, nil
		}}.Entry()
}
