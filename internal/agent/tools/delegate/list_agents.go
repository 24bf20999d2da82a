package delegate

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed list_agents.md
var listAgentsWords string

type listAgentsArgs struct{}

func list() define.Entry {
	return define.Tool[listAgentsArgs]{Name: "list_agents", Text: listAgentsWords, Parallel: true,
		Plan: func(context.Context, tool.Env, tool.Call, listAgentsArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "list"}, nil
		}}.Entry()
}
