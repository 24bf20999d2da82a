package wire

import "kerf/internal/model"

// Why an answer is not whole, in the same words for all protocols. Others are the
// provider's own.
const (
	CutByLength   = "max_output_tokens"
	WindowIsFull  = "model_context_window_exceeded"
	CallAnnounced = "call_announced" // a call was announced and none was made
)

// Response is what the decoders of all protocols tell alike: that a response
// began, and which of its items is which.
type Response struct {
	Emit func(model.Chunk) error
	ID   string // the provider's, known from the start or never

	started bool
	next    int
}

// Start emits what comes first in a response. All but the first call do nothing.
func (r *Response) Start(id string, limits map[string]string) error {
	if r.started {
		return nil
	}
	r.started, r.ID = true, id
	if err := r.Emit(model.Started{ResponseID: id}); err != nil || limits == nil {
		return err
	}
	return r.Emit(model.Limits{Values: limits})
}

// Take returns the index of the next item.
func (r *Response) Take() int {
	r.next++
	return r.next - 1
}

// Taken is how many indices were taken.
func (r *Response) Taken() int { return r.next }
