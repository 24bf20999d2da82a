package delegate

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed resume_agent.md
var resumeAgentWords string

type resumeArgs struct {
	Target  string `json:"target" doc:"The agent_id of the agent."`
	Message string `json:"message,omitempty" doc:"What to tell it then."`
}

func resume() define.Entry {
	return define.Tool[resumeArgs]{Name: "resume_agent", Text: resumeAgentWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a resumeArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "resume", Targets: []string{a.Target}, Message: a.Message}, nil
		}}.Entry()
}
