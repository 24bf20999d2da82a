package session

import (
	"context"
	"strings"

	"kerf/internal/model"
)

// maxReply bounds the answer to one question, in bytes.
const maxReply = 256 << 10

// Asker asks a model one question outside of any conversation. It serves
// tools.Corrector.
type Asker struct {
	Client model.Client
	Model  string
}

// Ask returns what the model says.
func (a Asker) Ask(ctx context.Context, question string) (string, error) {
	var b strings.Builder
	err := a.Client.Stream(ctx, &model.Request{
		Model:        a.Model,
		Instructions: "You check texts for slips. Answer in exactly the form that is asked for.",
		Items:        []*model.Item{model.UserText(question)},
	}, func(c model.Chunk) error {
		if d, ok := c.(model.TextDelta); ok && b.Len() < maxReply {
			b.WriteString(d.Text)
		}
		return nil
	})
	return b.String(), err
}
