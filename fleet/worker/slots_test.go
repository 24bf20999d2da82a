package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
		_, done, err := w.hold(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		done(nil)
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

// Two preparations of a task never write its files at the same time: the first, of a place that the engine has given up,
// is stopped, and what it wrote is gone before the second begins. What is left of a task that is not held is removed.
func TestPreparationsTakeTurns(t *testing.T) {
	w, err := New(Options{Root: t.TempDir(), Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	first, ended, err := w.hold(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.dir("t"), "file")
	if err = os.MkdirAll(w.dir("t"), 0o700); err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() {
		_, done, err := w.hold(ctx, "t")
		if _, there := os.Stat(file); err == nil && there == nil {
			err = errors.New("the files of the first are still there")
		}
		if err == nil {
			done(nil)
		}
		second <- err
	}()
	<-first.Done() // told by the second
	if err = os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-second:
		t.Fatal("the second did not wait", err)
	default:
	}
	if w.Clean(ctx, task.Task{ID: "t"}) == nil {
		t.Error("what is at work was removed")
	}
	ended(first.Err())
	if err = <-second; err != nil {
		t.Fatal(err)
	}
	if err = w.Clean(ctx, task.Task{ID: "t"}); err != nil || w.Busy() != 0 {
		t.Errorf("%d tasks are held: %v", w.Busy(), err)
	}
	if err = os.MkdirAll(w.dir("late"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.litter()
	if left, err := os.ReadDir(filepath.Join(w.Root, taskDir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
