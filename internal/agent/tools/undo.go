package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed undo.md
var undoWords string

type undoArgs struct {
	Turn string `json:"turn,omitempty" doc:"Id of the turn to take back."`
	Call string `json:"call,omitempty" doc:"Id of the call to take back."`
	Redo bool   `json:"redo,omitempty" doc:"Bring back what the last undo took."`
}

func undoTool() entry {
	return define.Tool[undoArgs]{Name: "undo", Text: undoWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a undoArgs) (tool.Action, error) {
			return tool.Undo{Turn: a.Turn, Call: a.Call, Redo: a.Redo}, nil
		}}.Entry()
}
