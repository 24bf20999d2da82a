package turn

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// schedules is how many random schedules a test run plays, and with KERF_LONG.
const (
	schedules     = 10_000
	longSchedules = 200_000
)

func TestLawsHoldOnRandomSchedules(t *testing.T) {
	most := schedules
	if os.Getenv("KERF_LONG") != "" {
		most = longSchedules
	}
	for seed := range uint64(most) {
		if law := newWorld(seed, NoFault).play(); law != "" {
			t.Fatalf("seed %d broke %s", seed, law)
		}
	}
}

// TestSeededFaultsAreCaught breaks the core once per fault: a law that never
// fails has not been tested.
func TestSeededFaultsAreCaught(t *testing.T) {
	faults := []struct {
		name  string
		fault Fault
		law   string
	}{
		{"a call's output is lost", LoseOutput, "L1"},
		{"a call's output is recorded twice", OutputTwice, "L1"},
		{"a completed turn ends twice", EndTwice, "L2"},
		{"an aborted turn never ends", NeverEnd, "L2"},
		{"an action runs unasked", RunUnasked, "L3"},
		{"a request follows an interrupt", SampleAfterInterrupt, "L4"},
		{"a late answer is taken", TakeLate, "L5"},
		{"the end of a call is overlooked", Stick, "L6"},
		{"a request drops the oldest item", RewriteHistory, "L7"},
		{"steered input is dropped", LosePending, "L8"},
		{"calls run beside one that must be alone", RunBeside, "L9"},
		{"a repeated call id runs again", RunTwice, "L9"},
		{"a broken stream leaves an item open", LeaveItemOpen, "L10"},
		{"a compaction that was given up stays open", LeaveShrinkOpen, "L10"},
		{"input that waits is dropped by an interrupt", LoseQueued, "L8"},
		{"a compaction drops the record", ForgetNotes, "L11"},
		{"a compaction drops the last words", ForgetWords, "L11"},
		{"a host is allowed unasked", AllowHost, "L3"},
		{"a server is told yes unasked", AllowServer, "L3"},
		{"a question of the model is answered unasked", AllowUser, "L3"},
		{"a sub-agent is told yes unasked", AllowAgent, "L3"},
		{"an answer goes to another asker", CrossAnswers, "L3"},
		{"a question has no record", AskUnrecorded, "L12"},
		{"the end of a question has no record", AnswerUnrecorded, "L12"},
		{"an interrupt leaves a question open", LeaveAsking, "L12"},
		{"a goal is reached without its check", EndUnchecked, "L13"},
		{"a failed check is taken for one that passed", TakeFailed, "L13"},
		{"a compaction drops the goal", ForgetGoal, "L13"},
	}
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			for seed := range uint64(5000) {
				law := newWorld(seed, f.fault).play()
				if law == "" {
					continue
				}
				if got, _, _ := strings.Cut(law, ":"); got != f.law {
					continue
				}
				t.Logf("%-3s caught: %s, at seed %d: %.120s", f.law, f.name, seed, law)
				return
			}
			t.Errorf("no schedule saw %s break %s", f.name, f.law)
		})
	}
}

// drive plays inputs into a core and returns the requests it made.
func drive(c *Core, inputs ...Input) (requests []CallModel, told []protocol.Msg) {
	for _, in := range inputs {
		r := c.Step(in)
		for _, e := range r.Effects {
			if m, ok := e.(CallModel); ok {
				requests = append(requests, m)
			}
		}
		for _, e := range r.Events {
			told = append(told, e.Msg)
		}
	}
	return requests, told
}

func say(s string) protocol.UserInput { return protocol.UserInput{Items: []protocol.Input{{Text: s}}} }

func TestRetryBudgetEndsTheTurn(t *testing.T) {
	c := New(Options{RequestRetries: 1, StreamRetries: 2}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	refused := &model.Error{Kind: model.Network, Message: "connection refused"}
	for n := 1; n <= 1; n++ { // what is left for broken answers does not count
		_, told := drive(c, StreamEnded{Round: n, Err: refused})
		if _, ok := told[0].(protocol.Retrying); !ok {
			t.Fatalf("failure %d: told %T, want Retrying", n, told[0])
		}
		if reqs, _ := drive(c, Elapsed{Timer: n}); len(reqs) != 1 {
			t.Fatalf("failure %d: %d requests followed, want 1", n, len(reqs))
		}
	}
	drive(c, StreamEnded{Round: 2, Err: refused})
	_, told := drive(c, Settled{Turn: "t1"})
	if f, ok := told[0].(protocol.TurnFailed); !ok || f.Error.Kind != protocol.TroubleNetwork {
		t.Fatalf("after the budget: told %+v, want TurnFailed (network)", told)
	}
}

func TestErrorsThatCannotPassAreNotRetried(t *testing.T) {
	for _, kind := range []model.ErrorKind{model.Auth, model.BadCall, model.Quota, model.Context} {
		c := New(Options{RequestRetries: 4, StreamRetries: 5}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		_, told := drive(c, StreamEnded{Round: 1, Err: &model.Error{Kind: kind, Message: "no"}}, Settled{Turn: "t1"})
		if _, ok := told[0].(protocol.TurnFailed); !ok {
			t.Errorf("%s: told %T, want TurnFailed", kind, told[0])
		}
	}
}

func TestSteeredInputJoinsTheNextRequest(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("first")}, Gathered{Turn: "t1"}, Submit{ID: "s2", Op: say("second")},
		Chunk{1, model.Done{}})
	reqs, _ := drive(c, StreamEnded{Round: 1})
	if len(reqs) != 1 {
		t.Fatalf("%d requests followed the steered input, want 1", len(reqs))
	}
	last := reqs[0].Items[len(reqs[0].Items)-1]
	if last.Text() != "second" {
		t.Errorf("the request ends with %q, want the steered input", last.Text())
	}
}

func TestInterruptReturnsUndeliveredInput(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("first")}, Gathered{Turn: "t1"}, Submit{ID: "s2", Op: say("second")},
		Submit{ID: "x", Op: protocol.Interrupt{}})
	_, told := drive(c, Settled{Turn: "t1"})
	ab, ok := told[len(told)-1].(protocol.TurnAborted)
	if !ok || len(ab.Undelivered) != 1 || ab.Undelivered[0].Text != "second" {
		t.Fatalf("told %+v, want TurnAborted with the steered input", told)
	}
}

func TestRetryKeepsWhatWasDone(t *testing.T) {
	c := New(Options{StreamRetries: 1}, nil)
	call := &model.Item{Kind: model.Call, CallID: "c1", Name: "p", Style: model.Function, Input: "{}"}
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"},
		Chunk{1, model.ItemDone{Index: 0, Item: call}},
		Prepared{Call: "c1", Outcome: &Outcome{Text: "ran", Success: true}},
		StreamEnded{Round: 1, Err: &model.Error{Kind: model.Broken, Message: "cut", Began: true}})
	reqs, _ := drive(c, Elapsed{Timer: 1})
	if len(reqs) != 1 {
		t.Fatalf("%d retries, want 1", len(reqs))
	}
	got := fmt.Sprint(kinds(reqs[0].Items))
	if want := "[message call output]"; got != want {
		t.Errorf("the retry carries %s, want %s", got, want)
	}
}

func kinds(items []*model.Item) []model.Kind {
	var ks []model.Kind
	for _, it := range items {
		ks = append(ks, it.Kind)
	}
	return ks
}

// BenchmarkSimulation plays whole random schedules; 20,000 in 5 s are 250 µs each.
func BenchmarkSimulation(b *testing.B) {
	for seed := range uint64(b.N) {
		if law := newWorld(seed, NoFault).play(); law != "" {
			b.Fatalf("seed %d broke %s", seed, law)
		}
	}
}

// BenchmarkRound is one round on top of a history of so many: it must not cost
// more when the history is long.
func BenchmarkRound(b *testing.B) {
	for _, before := range []int{20, 200, 2000} {
		b.Run(strconv.Itoa(before), func(b *testing.B) {
			c := New(Options{}, nil)
			drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
			n := 0
			round := func() {
				n++
				id := "c" + strconv.Itoa(n)
				call := &model.Item{Kind: model.Call, CallID: id, Name: "p", Style: model.Function, Input: "{}"}
				drive(c, Chunk{n, model.ItemDone{Index: 0, Item: call}},
					Prepared{Call: protocol.CallID(id), Outcome: &Outcome{Text: "ran", Success: true}},
					Chunk{n, model.Done{Usage: &model.Usage{Input: 10, Output: 5}}}, StreamEnded{Round: n})
			}
			for range before {
				round()
			}
			b.ReportAllocs()
			for b.Loop() {
				round()
			}
		})
	}
}
