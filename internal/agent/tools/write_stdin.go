package tools

import (
	"context"
	_ "embed"
	"time"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed write_stdin.md
var writeStdinWords string

// How long a call waits for output: after input the answer is near, an empty call
// is there to wait.
const (
	inputWait    = time.Second
	pollWait     = 5 * time.Second
	longestPoll  = 5 * time.Minute
	longestInput = 30 * time.Second
)

type stdinArgs struct {
	SessionID       int    `json:"session_id" brief:"plain" doc:"The session ID that exec_command told."`
	Chars           string `json:"chars,omitempty" also:"input" brief:"plain" doc:"What to send; empty only waits for output."`
	YieldTimeMS     *int   `json:"yield_time_ms,omitempty" min:"0" brief:"plain" doc:"How long to wait for output, in milliseconds."`
	MaxOutputTokens *int   `json:"max_output_tokens,omitempty" min:"1" doc:"How much output to return; the middle of more is left out."`
}

func writeStdin() entry {
	return define.Tool[stdinArgs]{
		Name: "write_stdin", Text: writeStdinWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a stdinArgs) (tool.Action, error) {
			p := tool.WriteStdin{Process: a.SessionID, Input: a.Chars}
			if a.Chars == "" {
				p.Yield = clamp(milliseconds(a.YieldTimeMS, pollWait), yieldMin, longestPoll)
			} else {
				p.Yield = clamp(milliseconds(a.YieldTimeMS, inputWait), yieldMin, longestInput)
			}
			if a.MaxOutputTokens != nil {
				p.MaxTokens = *a.MaxOutputTokens
			}
			return p, nil
		},
	}.Entry()
}
