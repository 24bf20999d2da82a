package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
)

//go:embed list_agents.md
var listAgentsWords string

type listAgentsArgs struct{}

func listAgents() entry {
	return definition[listAgentsArgs]{name: "list_agents", words: listAgentsWords, parallel: true,
		prepare: func(context.Context, tool.Env, tool.Call, listAgentsArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "list"}, nil
		}}
}
