package mcp

import (
	"context"
	"strings"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Prompt is what an input /server:prompt WORDS stands for, as an item for the model. Other
// inputs stand for nothing.
func (x *Servers) Prompt(ctx context.Context, input []protocol.Input) (*model.Item, error) {
	if x == nil || len(input) == 0 {
		return nil, nil
	}
	command, ok := strings.CutPrefix(input[0].Text, "/")
	name, words, _ := strings.Cut(command, " ")
	server, prompt, cut := strings.Cut(name, ":")
	if !ok || !cut || strings.ContainsAny(name, "\n/") {
		return nil, nil
	}
	text, err, known := x.manager.Prompt(ctx, server, prompt, protocol.Words(words))
	if !known || err != nil {
		return nil, err
	}
	head := "<mcp_prompt server=\"" + server + "\" name=\"" + prompt + "\">"
	return model.UserText(head + "\n" + text + "\n</mcp_prompt>"), nil
}
