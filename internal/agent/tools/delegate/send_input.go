package delegate

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed send_input.md
var sendInputWords string

type sendArgs struct {
	Target    string `json:"target" doc:"The agent_id, or the name, of the agent."`
	Message   string `json:"message" brief:"plain" doc:"What to tell it."`
	Interrupt bool   `json:"interrupt,omitempty" doc:"End what it is doing first."`
}

func send() define.Entry {
	return define.Tool[sendArgs]{Name: "send_input", Text: sendInputWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a sendArgs) (tool.Action, error) {
			return tool.Delegate{Operation: "send", Targets: []string{a.Target}, Message: a.Message, Interrupt: a.Interrupt}, nil
		}}.Entry()
}
