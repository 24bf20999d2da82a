package delegate

import (
	"context"
	_ "embed"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed wait.md
var waitWords string

// How long a wait takes.
const (
	waitDefault = 30 * time.Second
	waitMax     = time.Hour
)

type waitArgs struct {
	Targets   []string `json:"targets,omitempty" doc:"The agent_ids, or names, of the agents (default: all that are open)."`
	TimeoutMS *int     `json:"timeout_ms,omitempty" min:"0" doc:"How long to wait, in milliseconds (default 30000, at most 3600000)."`
	For       string   `json:"for,omitempty" enum:"any,all" doc:"any (default) returns when the first agent is done, all when every one is."`
}

func wait() define.Entry {
	return define.Tool[waitArgs]{Name: "wait", Text: waitWords, Parallel: true,
		Aliases: []define.Alias[waitArgs]{define.As("wait_agent", func(a waitArgs) (waitArgs, error) { return a, nil })},
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a waitArgs) (tool.Action, error) {
			d := tool.Delegate{Operation: "wait", Targets: a.Targets, All: a.For == "all", Timeout: waitDefault}
			if a.TimeoutMS != nil {
				d.Timeout = min(time.Duration(*a.TimeoutMS)*time.Millisecond, waitMax)
			}
			return d, nil
		}}.Entry()
}
