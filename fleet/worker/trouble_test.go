package worker

import (
	"errors"
	"log/slog"
	"testing"
	"time"
)

// A worker whose machine fails takes no task for a while, longer each time and never for ever; a task that ends well
// ends it.
func TestAWorkerInTroubleStepsBack(t *testing.T) {
	now := time.Unix(0, 0)
	log := slog.New(slog.DiscardHandler)
	x := trouble{now: func() time.Time { return now }}
	full := errors.New("no space left on device")
	x.of(nil, log)
	x.of(hopeless("there is no such revision"), log)
	if x.away() {
		t.Error("what another worker would meet, too, kept this one away")
	}
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
		began := now
		x.of(full, log)
		x.of(full, log) // of another task at the same time
		for x.away() {
			now = now.Add(time.Second)
		}
		if got := now.Sub(began); got != want*time.Second {
			t.Errorf("away for %v, want %v", got, want*time.Second)
		}
	}
	x.of(full, log)
	if x.well(); x.away() {
		t.Error("a task ended well, and the worker is still away")
	}
	x.of(full, log)
	if now = now.Add(awayFirst); x.away() {
		t.Error("it counts troubles from before a task ended well")
	}
}

// While it is away it has room for none.
func TestAWorkerInTroubleHasNoRoom(t *testing.T) {
	w := &Worker{Options: Options{Slots: 2}, held: map[string]*holding{}}
	if !w.room() {
		t.Fatal("an idle worker has no room")
	}
	w.trouble.of(errors.New("kerf does not start"), slog.New(slog.DiscardHandler))
	if w.room() || w.Troubles() != 1 {
		t.Error("a worker in trouble has room for tasks")
	}
}
