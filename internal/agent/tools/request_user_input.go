package tools

import (
	"context"
	_ "embed"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/protocol"
)

//go:embed request_user_input.md
var requestUserInputWords string

// maxQuestions bounds the questions of one call.
const maxQuestions = 3

type userQuestionArgs struct {
	Questions []inquireQuestion `json:"questions" doc:"One to three questions."`
}

type inquireQuestion struct {
	ID       string          `json:"id" doc:"A name for the answer, in snake_case."`
	Header   string          `json:"header,omitempty" doc:"A heading of one or two words."`
	Question string          `json:"question" doc:"The question, in one sentence."`
	Options  []inquireOption `json:"options,omitempty" doc:"Two or three answers to choose from, your favourite first. The user may always answer in other words."`
}

type inquireOption struct {
	Label       string `json:"label" doc:"The answer, in one to five words."`
	Description string `json:"description,omitempty" doc:"What follows from it, in one sentence."`
}

func requestUserInput() entry {
	return define.Tool[userQuestionArgs]{Name: "request_user_input", Text: requestUserInputWords,
		Plan: func(_ context.Context, _ tool.Env, _ tool.Call, a userQuestionArgs) (tool.Action, error) {
			return askUser(a)
		}}.Entry()
}

func askUser(a userQuestionArgs) (tool.Action, error) {
	if len(a.Questions) == 0 || len(a.Questions) > maxQuestions {
		return nil, tool.Refuse(tool.InvalidArguments, "request_user_input: ask one to %d questions at once, not %d",
			maxQuestions, len(a.Questions))
	}
	var q tool.UserQuestion
	seen := map[string]bool{}
	for _, given := range a.Questions {
		if strings.TrimSpace(given.ID) == "" || strings.TrimSpace(given.Question) == "" || seen[given.ID] {
			return nil, tool.Refuse(tool.InvalidArguments,
				"request_user_input: every question needs a question and an id of its own")
		}
		seen[given.ID] = true
		asked := protocol.Question{Header: given.Header, Message: given.Question, Free: true}
		for _, o := range given.Options {
			asked.Options = append(asked.Options, protocol.Choice{Label: o.Label, Description: o.Description})
		}
		q.Keys, q.Questions = append(q.Keys, given.ID), append(q.Questions, asked)
	}
	return q, nil
}
