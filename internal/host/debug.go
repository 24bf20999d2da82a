package host

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
)

// DebugPrompt returns the request that the model would get for input: in a new
// session, or as the next turn of an old one that fork names. It is made by the
// same code as any other; no model is asked and nothing is kept.
func (h *Host) DebugPrompt(ctx context.Context, fork string, set protocol.Settings,
	input []protocol.Input) (*model.Request, error) {
	catch := &catcher{}
	quiet := openerFor(configured{h.Config, h.Env, h.Layers, &redact.Secrets{}}, catch)
	s, err := quiet.open(ctx, protocol.OpenOptions{Fork: fork, Settings: set, Ephemeral: true, Headless: true,
		Source: "debug"})
	if err != nil {
		return nil, err
	}
	told := make(chan error, 1)
	go func() { // ends with the session's events
		var end error
		over := false
		for e := range s.Events() {
			switch m := e.Msg.(type) {
			case protocol.TurnFailed:
				end = errors.New(m.Error.Message)
			case protocol.TurnCompleted, protocol.TurnAborted:
			default:
				continue
			}
			if !over {
				over = true
				told <- end
			}
		}
		if !over {
			told <- errors.New("the session ended before the request was made")
		}
	}()
	err = s.Submit(ctx, protocol.Submission{ID: "debug", Op: protocol.UserInput{Items: input}})
	if err == nil {
		select {
		case err = <-told:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	_ = s.Close() // the request is known; nothing is kept
	if r := catch.first(); err == nil && r != nil {
		return r, nil
	}
	return nil, err
}

// catcher is a model that keeps the first request and says nothing.
type catcher struct {
	mu      sync.Mutex
	request *model.Request // guarded by mu
}

// Stream keeps r and ends at once.
func (c *catcher) Stream(_ context.Context, r *model.Request, emit func(model.Chunk) error) error {
	c.mu.Lock()
	c.request = cmp.Or(c.request, r)
	c.mu.Unlock()
	known := &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "Known."}}}
	return errors.Join(emit(model.ItemDone{Item: known}), emit(model.Done{}))
}

func (c *catcher) first() *model.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request
}
