package acp

import (
	"context"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// commands are what the editor may offer after a slash.
func commands() []sdk.AvailableCommand {
	with := func(hint string) *sdk.AvailableCommandInput {
		return &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: hint}}
	}
	return []sdk.AvailableCommand{
		{Name: "compact", Description: "Replace the conversation so far by a summary"},
		{Name: "undo", Description: "Take back what the last turn changed in files"},
		{Name: "redo", Description: "Bring back what the last undo took back"},
		{Name: "diff", Description: "Show what the last turn changed"},
		{Name: "review", Description: "Review changes", Input: with("what to look at; empty for what is not committed")},
		{Name: "rename", Description: "Give the session a title", Input: with("title")},
	}
}

// announce tells the commands. The answer that names the session must reach the
// editor first, and is written when its handler has returned.
func (s *session) announce() {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-s.over:
		return
	}
	s.update(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{
		SessionUpdate: "available_commands_update", AvailableCommands: commands()}})
}

// command carries out one of them.
func (s *session) command(ctx context.Context, name, rest string) (sdk.PromptResponse, error) {
	switch name {
	case "diff":
		s.mu.Lock()
		diff := s.diff
		s.mu.Unlock()
		if diff == "" {
			return s.say("The last turn changed nothing.")
		}
		return s.say("```diff\n" + diff + "```\n")
	case "undo":
		return s.turn(ctx, protocol.Undo{})
	case "redo":
		return s.turn(ctx, protocol.Undo{Redo: true})
	case "compact":
		return s.turn(ctx, protocol.Compact{})
	case "review":
		return s.turn(ctx, protocol.Review{Words: rest})
	case "rename":
		if rest == "" {
			return s.say("Give the title after the command.")
		}
		if err := s.submit(ctx, protocol.Rename{Title: rest}); err != nil {
			return sdk.PromptResponse{}, requestError(err)
		}
		return s.say("The session is now called " + rest + ".")
	}
	return sdk.PromptResponse{}, invalid("no command /%s", name)
}

// say answers without the model.
func (s *session) say(text string) (sdk.PromptResponse, error) {
	s.update(sdk.UpdateAgentMessageText(text))
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}
