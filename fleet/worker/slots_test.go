package worker

import (
	"context"
	"strings"
	"testing"
	"time"

	"kerf/fleet/task"
)

// What breaks off in the middle of an activity, by a mistake of this program, too, leaves its slot: the task can be
// cleaned, and be taken up again here.
func TestAnActivityThatPanicsLeavesItsSlot(t *testing.T) {
	w, err := New(Options{Root: t.TempDir(), Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	do := task.Task{ID: "t", Scenario: strings.Repeat("0", 64)} // there is no store, so to read it panics
	for range 2 {
		if err = w.hold(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = w.Run(ctx, do, task.Place{Number: 1}, "")
		}()
		if w.Busy() != 1 {
			t.Errorf("%d tasks are held", w.Busy())
		}
	}
	if err = w.Clean(ctx, do); err != nil || w.Busy() != 0 {
		t.Errorf("%d tasks are held: %v", w.Busy(), err)
	}
}
