package host

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// stuck is a model that never answers.
type stuck struct{ asked chan bool }

func (s stuck) Stream(ctx context.Context, _ *model.Request, emit func(model.Chunk) error) error {
	_ = emit(model.TextDelta{Index: 0, Text: "half an answer"})
	s.asked <- true
	<-ctx.Done()
	return ctx.Err()
}

// BenchmarkInterrupt measures from an interrupt to the end of the turn, mid-stream
// and in a running command: p50 and p99 in milliseconds.
func BenchmarkInterrupt(b *testing.B) {
	b.Run("mid-stream", func(b *testing.B) {
		asked := make(chan bool)
		h := scripted(b, nil)
		h.Client = stuck{asked}
		interrupts(b, h, protocol.UserInput{Items: []protocol.Input{{Text: "go"}}}, func(*live) { <-asked })
	})
	b.Run("in a command", func(b *testing.B) {
		h := scripted(b, &talker{})
		interrupts(b, h, protocol.Shell{Command: "echo begun; sleep 60"}, func(s *live) {
			s.until(func(m protocol.Msg) bool {
				d, ok := m.(protocol.ItemDelta)
				return ok && strings.Contains(d.Text, "begun")
			})
		})
	})
}

func interrupts(b *testing.B, h *Host, op protocol.Op, ready func(*live)) {
	b.Helper()
	s := open(b, h, protocol.OpenOptions{Ephemeral: true})
	var took []time.Duration
	for b.Loop() {
		s.submit(op)
		ready(s)
		began := time.Now()
		s.submit(protocol.Interrupt{})
		s.until(func(m protocol.Msg) bool { return is[protocol.TurnAborted](m) || is[protocol.TurnCompleted](m) })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// TestInterruptKeepsTheHalfAnswer ends a turn mid-stream: the text so far stays,
// is marked, and the next turn goes on from it, also after a resume.
func TestInterruptKeepsTheHalfAnswer(t *testing.T) {
	asked := make(chan bool, 1)
	h := scripted(t, nil)
	h.Client = stuck{asked}
	s := open(t, h, protocol.OpenOptions{})
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
	<-asked
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "steered"}}})
	s.submit(protocol.Interrupt{})
	m := find[protocol.TurnAborted](t, s.until(is[protocol.TurnAborted]))
	if m.Reason != protocol.AbortInterrupted || len(m.Undelivered) != 1 || m.Undelivered[0].Text != "steered" {
		t.Errorf("told %+v", m)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := &talker{}
	h.Client = c
	again := open(t, h, protocol.OpenOptions{Resume: string(s.ID())})
	again.say("go on")
	if got := c.last(); !strings.Contains(got, "half an answer") || !strings.Contains(got, "<turn_aborted>") ||
		strings.Contains(got, "steered") {
		t.Errorf("after the interrupt the model was sent\n%s", got)
	}
}
