package provider

import (
	"context"
	"fmt"
	"time"

	"kerf/internal/model"
)

// When the user is told that a server of this machine has not begun to answer: it may have
// to load the model and to read a long prompt first.
const (
	firstWait = 15 * time.Second
	nextWait  = time.Minute
)

// sent is a chunk on its way to the caller's goroutine.
type sent struct {
	chunk model.Chunk
	taken chan error
}

// patient runs stream and tells by notices how long its answer is waited for. Everything is
// emitted on the calling goroutine, which waits for the one that it starts.
func patient(ctx context.Context, server string, first, next time.Duration, emit func(model.Chunk) error,
	stream func(context.Context, func(model.Chunk) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chunks, ended := make(chan sent), make(chan error, 1)
	go func() {
		ended <- stream(ctx, func(c model.Chunk) error {
			s := sent{c, make(chan error, 1)}
			chunks <- s
			return <-s.taken
		})
	}()
	began := time.Now()
	timer := time.NewTimer(first)
	defer timer.Stop()
	var failed error
	for {
		select {
		case s := <-chunks:
			timer.Stop()
			if failed == nil {
				s.taken <- emit(s.chunk)
			} else {
				s.taken <- failed
			}
		case <-timer.C:
			timer.Reset(next)
			text := fmt.Sprintf("%s has not begun to answer after %v; it may be loading the model or reading the prompt",
				server, time.Since(began).Round(time.Second))
			if failed = emit(model.Notice{Text: text}); failed != nil {
				cancel()
			}
		case err := <-ended:
			if failed != nil {
				return failed
			}
			return err
		}
	}
}
