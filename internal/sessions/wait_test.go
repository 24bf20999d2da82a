package sessions

import (
	"context"
	"errors"
	"testing"
	"time"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// TestResumeWaitsForASessionThatIsEnding: another process that has the session may be
// about to end, so Resume asks more than once.
func TestResumeWaitsForASessionThatIsEnding(t *testing.T) {
	s := store(t)
	held, err := s.Create(rollout.Metadata{Cwd: t.TempDir()}, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Resume(ctx, protocol.SessionInfo{ID: held.ID}); !errors.Is(err, context.Canceled) {
		t.Errorf("without patience: %v", err)
	}
	go func() {
		time.Sleep(100 * time.Millisecond) // the other process ends
		held.Close()
	}()
	l, err := s.Resume(t.Context(), protocol.SessionInfo{ID: held.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.ID != held.ID {
		t.Errorf("resumed %s", l.ID)
	}
}
