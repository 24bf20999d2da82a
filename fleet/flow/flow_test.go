package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"kerf/fleet/flow"
	"kerf/fleet/task"
)

// A stage plays the activities. Nil functions do what goes well.
type stage struct {
	env       *testsuite.TestWorkflowEnvironment
	prepare   func(place int) (task.Place, error)
	run       func(p task.Place, words string) (task.Ran, error)
	verify    func() ([]task.CheckResult, error)
	publish   func(p task.Place, r task.Result) (task.Result, error)
	orders    []task.Order
	cleaned   int
	published int
	words     []string
}

func newStage(t *testing.T) *stage {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &stage{env: suite.NewTestWorkflowEnvironment()}
	// A busy machine is no deadlock.
	s.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	flows := flow.Flows{}
	s.env.RegisterWorkflowWithOptions(flows.Task, workflow.RegisterOptions{Name: flow.TaskType})
	s.env.RegisterWorkflowWithOptions(flows.Map, workflow.RegisterOptions{Name: flow.MapType})
	s.env.SetTestTimeout(5 * time.Minute)
	for name, act := range map[string]any{
		"Prepare": func(_ context.Context, _ task.Task, n int) (task.Place, error) {
			if s.prepare != nil {
				return s.prepare(n)
			}
			return task.Place{Number: n, Worker: fmt.Sprint("w", n), Queue: fmt.Sprint("q", n), Base: "base"}, nil
		},
		"Run": func(_ context.Context, _ task.Task, p task.Place, words string) (task.Ran, error) {
			s.words = append(s.words, words)
			if s.run != nil {
				return s.run(p, words)
			}
			return task.Ran{Session: "s", Message: "over"}, nil
		},
		"Verify": func(context.Context, task.Task, task.Place) ([]task.CheckResult, error) {
			if s.verify != nil {
				return s.verify()
			}
			return nil, nil
		},
		"Publish": func(_ context.Context, _ task.Task, p task.Place, r task.Result) (task.Result, error) {
			s.published++
			if s.publish != nil {
				return s.publish(p, r)
			}
			r.Bundle = "b"
			return r, nil
		},
		"Clean":   func(context.Context, task.Task) error { s.cleaned++; return nil },
		"Deliver": func(_ context.Context, _ string, o task.Order) error { s.orders = append(s.orders, o); return nil },
		"Rows": func(_ context.Context, m task.Map, from, count int) ([]task.Row, error) {
			rows := make([]task.Row, count)
			for i := range rows {
				rows[i].Values = map[string]string{"N": fmt.Sprint(from + i)}
			}
			return rows, nil
		},
	} {
		s.env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	return s
}

func one() task.Task { return task.Task{ID: "t", Repository: "/r", Prompt: "do it"} }

// play runs a task and returns its result.
func (s *stage) play(t *testing.T, do task.Task) task.Result {
	t.Helper()
	s.env.ExecuteWorkflow(flow.TaskType, do)
	if !s.env.IsWorkflowCompleted() {
		t.Fatal("the workflow goes on for ever")
	}
	var r task.Result
	err := s.env.GetWorkflowError()
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &cancelled):
		_ = cancelled.Details(&r)
	case err != nil:
		t.Fatal(err)
	default:
		if err = s.env.GetWorkflowResult(&r); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func lost(kind enums.TimeoutType) error { return temporal.NewTimeoutError(kind, nil) }

func TestWhatHappensToATask(t *testing.T) {
	hopeless := temporal.NewNonRetryableApplicationError("no revision", flow.Hopeless, nil)
	trouble := temporal.NewNonRetryableApplicationError("the disk is full", "other", nil)
	heartbeat := lost(enums.TIMEOUT_TYPE_HEARTBEAT)
	for _, c := range []struct {
		name               string
		set                func(*stage, *task.Task)
		outcome            task.Phase
		places, cleaned, n int // n: runs
		problem            string
	}{
		{"all goes well", func(*stage, *task.Task) {}, task.Done, 1, 1, 1, ""},
		{"a worker is lost in a run", func(s *stage, _ *task.Task) {
			s.run = func(p task.Place, _ string) (task.Ran, error) {
				if p.Number < 3 {
					return task.Ran{}, heartbeat
				}
				return task.Ran{}, nil
			}
		}, task.Done, 3, 3, 3, ""},
		{"a worker is lost when it publishes", func(s *stage, _ *task.Task) {
			s.publish = func(p task.Place, r task.Result) (task.Result, error) {
				if p.Number == 1 {
					return r, heartbeat
				}
				return r, nil
			}
		}, task.Done, 2, 2, 2, ""},
		{"no other worker could do it", func(s *stage, _ *task.Task) {
			s.prepare = func(int) (task.Place, error) { return task.Place{}, hopeless }
		}, task.Failed, 1, 0, 0, "no revision"},
		{"each worker has trouble", func(s *stage, do *task.Task) {
			do.Limits.Places = 3
			s.run = func(task.Place, string) (task.Ran, error) { return task.Ran{}, trouble }
		}, task.Failed, 3, 3, 3, "3 workers did not end it; the last: the disk is full"},
		{"the turn fails", func(s *stage, do *task.Task) {
			do.Checks = []string{"x"}
			s.run = func(task.Place, string) (task.Ran, error) { return task.Ran{Problem: "no model"}, nil }
		}, task.Failed, 1, 1, 1, "no model"},
		{"checks fail once", func(s *stage, do *task.Task) {
			do.Checks, do.Attempts = []string{"x"}, 3
			n := 0
			s.verify = func() ([]task.CheckResult, error) { n++; return []task.CheckResult{{Command: "x", Exit: 2 - n}}, nil }
		}, task.Done, 1, 1, 2, ""},
		{"checks fail always", func(s *stage, do *task.Task) {
			do.Checks, do.Attempts = []string{"x"}, 3
			s.verify = func() ([]task.CheckResult, error) { return []task.CheckResult{{Command: "x", Exit: 1}}, nil }
		}, task.Unchecked, 1, 1, 3, ""},
		{"the task is none", func(_ *stage, do *task.Task) { do.Prompt = "" }, task.Failed, 0, 0, 0, "a task needs a prompt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, do := newStage(t), one()
			c.set(s, &do)
			r := s.play(t, do)
			if r.Outcome != c.outcome || r.Places != c.places || s.cleaned != c.cleaned || len(s.words) != c.n || r.Problem != c.problem {
				t.Errorf("%+v; %d cleaned, %d runs", r, s.cleaned, len(s.words))
			}
		})
	}
}

// A question is answered by the first answer, or by the time limit; the session goes on
// either way, and nothing is delivered twice.
func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []task.Answer
		want    task.Answer
	}{
		{"yes", []task.Answer{{Question: "q", Yes: true}}, task.Answer{Question: "q", Yes: true}},
		{"no, then yes", []task.Answer{{Question: "q"}, {Question: "q", Yes: true}}, task.Answer{Question: "q"}},
		{"another question", []task.Answer{{Question: "p", Yes: true}},
			task.Answer{Question: "q", By: "time limit", Words: "nobody answered within 1h0m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.run = func(task.Place, string) (task.Ran, error) {
				s.env.SignalWorkflow(flow.AskedSignal, task.Question{ID: "q", Text: "run x"})
				s.env.SignalWorkflow(flow.AskedSignal, task.Question{ID: "q", Text: "run x"}) // sent again
				s.env.RegisterDelayedCallback(func() {
					v, err := s.env.QueryWorkflow(flow.StateQuery)
					var st task.State
					if err == nil {
						err = v.Get(&st)
					}
					if err != nil || len(st.Questions) != 1 || st.Phase != task.Asking {
						t.Errorf("state: %+v %v", st, err)
					}
					for _, a := range c.answers {
						s.env.SignalWorkflow(flow.AnswerSignal, a)
					}
				}, time.Minute)
				return task.Ran{}, activity.ErrResultPending
			}
			// The run ends two hours later, with whatever was answered.
			s.env.RegisterDelayedCallback(func() {
				if len(s.orders) != 1 || s.orders[0].Answer == nil || *s.orders[0].Answer != c.want {
					t.Errorf("delivered: %+v", s.orders)
				}
				var st task.State
				told := task.Answer{Question: c.want.Question, Yes: c.want.Yes, By: c.want.By}
				if v, err := s.env.QueryWorkflow(flow.StateQuery); err != nil || v.Get(&st) != nil || !slices.Equal(st.Answered, []task.Answer{told}) {
					t.Errorf("the state tells of the answers %+v, %v", st.Answered, err)
				}
				s.env.CancelWorkflow()
			}, 2*time.Hour)
			do := one()
			do.Limits.Time = 5 * time.Hour
			s.play(t, do)
		})
	}
}

// A task that is cancelled ends as such, and its worker cleans up.
func TestCancel(t *testing.T) {
	s := newStage(t)
	s.run = func(task.Place, string) (task.Ran, error) { return task.Ran{}, temporal.NewCanceledError() }
	s.env.RegisterDelayedCallback(s.env.CancelWorkflow, 0)
	if r := s.play(t, one()); r.Outcome != task.Cancelled || s.published != 0 {
		t.Errorf("%+v, %d published", r, s.published)
	}
}

// A map runs each row once, some at a time, and goes on as a new run when its history grows.
func TestMap(t *testing.T) {
	s := newStage(t)
	at, most := 0, 0
	seen := map[string]int{}
	s.env.OnWorkflow(flow.TaskType, mockAny, mockAny).Return(func(ctx workflow.Context, in task.Given[task.Task]) (task.Result, error) {
		do := in.Of
		at++
		most = max(most, at)
		seen[do.ID+" "+do.Prompt]++
		_ = workflow.Sleep(ctx, time.Minute)
		at--
		if do.ID == "m-00003" {
			return task.Result{Outcome: task.Failed}, nil
		}
		return task.Result{Outcome: task.Done}, nil
	})
	m := task.Map{ID: "m", Task: task.Task{Repository: "/r", Prompt: "do {N}"}, Rows: "h", Total: 1005, Parallel: 7}
	s.env.ExecuteWorkflow(flow.MapType, m)
	var again *workflow.ContinueAsNewError
	if err := s.env.GetWorkflowError(); !errors.As(err, &again) {
		t.Fatalf("no new run: %v", err)
	}
	if len(seen) != 1000 || most != 7 || seen["m-00999 do 999"] != 1 {
		t.Errorf("%d tasks, %d at a time", len(seen), most)
	}
	s2 := newStage(t)
	s2.env.OnWorkflow(flow.TaskType, mockAny, mockAny).Return(task.Result{Outcome: task.Done}, nil)
	m.Next, m.Counts = 1000, map[task.Phase]int{task.Done: 999, task.Failed: 1}
	s2.env.ExecuteWorkflow(flow.MapType, m)
	var end task.Map
	if err := s2.env.GetWorkflowResult(&end); err != nil || end.Counts[task.Done] != 1004 || end.Counts[task.Failed] != 1 {
		t.Errorf("%+v %v", end.Counts, err)
	}
}
