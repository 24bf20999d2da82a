//go:build unix

package command

import (
	"context"
	"os"
	"testing"
	"time"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
)

// TestTimeStandsStillWhileAQuestionIsOpen: a call does not give up its command while the
// user reads what is asked about it.
func TestTimeStandsStillWhileAQuestionIsOpen(t *testing.T) {
	p, err := proc.Start(t.Context(), proc.Spec{Argv: []string{"/bin/sh", "-c", "sleep 1000"}, Dir: t.TempDir(), Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	asked, answers := make(chan bool), make(chan protocol.Decision)
	q := NewQuestions(t.Context(), func(ctx context.Context, _ protocol.Approval) turn.Reply {
		asked <- true
		select {
		case d := <-answers:
			return turn.Reply{Answer: protocol.Answer{Decision: d}}
		case <-ctx.Done():
			return turn.Reply{Answer: protocol.Answer{Decision: protocol.Void}}
		}
	})
	replies := make(chan turn.Reply, 2)
	ask := func() {
		go func() { replies <- q.Ask(protocol.Approval{}) }() // ends with the answer
		<-asked
	}
	ask()
	over := make(chan bool, 1)
	go func() { over <- q.Within(t.Context(), p, time.Millisecond) }() // ends after the answer
	select {
	case <-over:
		t.Fatal("the call gave the command up while a question was open")
	case <-time.After(300 * time.Millisecond):
	}
	answers <- protocol.Once
	if r := <-replies; !r.Answer.Decision.Allows() {
		t.Errorf("the answer: %+v", r)
	}
	if <-over {
		t.Error("the command has ended, it is said")
	}
	if q.Within(t.Context(), p, 0) {
		t.Error("the command has ended, it is said")
	}

	// One that is open when the call is stopped, or when the command ends, is withdrawn.
	ask()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { over <- q.Within(ctx, p, time.Hour) }() // ends with ctx
	cancel()
	if <-over {
		t.Error("the command has ended, it is said")
	}
	q.Close()
	if r := <-replies; r.Answer.Decision != protocol.Void {
		t.Errorf("the answer: %+v", r)
	}
	p.Kill()
	<-p.Done()
	if !q.Within(t.Context(), p, time.Hour) {
		t.Error("the command has not ended, it is said")
	}
	var nobody *Questions
	if !nobody.Within(t.Context(), p, time.Hour) {
		t.Error("the command has not ended, it is said")
	}
	nobody.Close()
}
