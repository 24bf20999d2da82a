package turn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// TestWaitsBetweenAttempts double from 200 ms on, and end at half a minute.
func TestWaitsBetweenAttempts(t *testing.T) {
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond,
		6400 * time.Millisecond, 12800 * time.Millisecond, 25600 * time.Millisecond, 30 * time.Second, 30 * time.Second}
	for i, d := range want {
		if got := backoff(i + 1); got != d {
			t.Errorf("before attempt %d: %v, not %v", i+1, got, d)
		}
	}
	if got := backoff(1000); got != 30*time.Second {
		t.Errorf("before attempt 1000: %v", got)
	}
}

// TestLimits: what is known of a model counts, then what the session was told, then nine tenths of
// the window.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		o             Options
		window, limit int
	}{
		{Options{}, 0, 0},
		{Options{Window: 1000}, 1000, 900},
		{Options{Window: 1000, Limits: func(string) (int, int) { return 0, 0 }}, 1000, 900},
		{Options{Window: 1000, Limits: func(string) (int, int) { return 200, 0 }}, 200, 180},
		{Options{Window: 1000, Limits: func(string) (int, int) { return 200, 50 }}, 200, 50},
		{Options{Window: 1000, Limits: func(string) (int, int) { return 0, 50 }}, 1000, 50},
		{Options{Window: 19}, 19, 9},
	} {
		if window, limit := c.o.limits("m"); window != c.window || limit != c.limit {
			t.Errorf("window %d: %d and %d, not %d and %d", c.o.Window, window, limit, c.window, c.limit)
		}
	}
}

// TestACompactionWaitsForItsTime: one that is asked for while a turn runs comes before the turn's next
// request or, where there is none, after the turn, once.
func TestACompactionWaitsForItsTime(t *testing.T) {
	asks := func(r CallModel) bool { return r.Compact }
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	if reqs, told := drive(c, Submit{ID: "k", Op: protocol.Compact{}}, Submit{ID: "k2", Op: protocol.Compact{}}); len(reqs)+len(told) != 0 {
		t.Errorf("at once: %+v, %+v", reqs, told)
	}
	if reqs, _ := drive(c, spoken(1, "done")...); len(reqs) != 0 {
		t.Errorf("before the turn is over: %+v", reqs)
	}
	reqs, told := drive(c, Settled{Turn: "t1"})
	if len(reqs) != 1 || !asks(reqs[0]) || len(toldOf[protocol.TurnCompleted](told)) != 1 {
		t.Fatalf("after the turn: %+v, %+v", reqs, told)
	}
	id := c.turn.id
	drive(c, spoken(2, "the summary")...)
	reqs, told = drive(c, Gathered{Turn: id, Again: 1}, Settled{Turn: id}, Submit{ID: "t2", Op: say("go on")}, Gathered{Turn: "t2"})
	if len(reqs) != 1 || asks(reqs[0]) || !strings.Contains(texts(reqs[0]), "the summary") {
		t.Fatalf("then: %+v, %+v", reqs, told)
	}
	drive(c, Submit{ID: "k3", Op: protocol.Compact{}})
	if reqs, _ = drive(c, calling(3, "c1", model.Usage{Input: 1}, model.Done{})...); len(reqs) != 1 || !asks(reqs[0]) {
		t.Errorf("in the midst of a turn: %+v", reqs)
	}
}

// TestWhatCannotBeRewound is told in words, and nothing is rewound.
func TestWhatCannotBeRewound(t *testing.T) {
	running := func() *Core {
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		return c
	}
	idle := func() *Core {
		c := running()
		drive(c, spoken(1, "done")...)
		drive(c, Settled{Turn: "t1"})
		return c
	}
	inShell := func() *Core {
		c := idle()
		drive(c, Submit{ID: "sh", Op: protocol.Shell{Command: "make"}})
		return c
	}
	undoing := func() *Core {
		c := idle()
		drive(c, Submit{ID: "u", Op: protocol.Undo{}})
		return c
	}
	const busy = "a turn is running; interrupt it or wait for its end, then rewind"
	for name, k := range map[string]struct {
		core *Core
		op   protocol.Rewind
		want protocol.UndoReport
	}{
		"while a turn runs":    {running(), protocol.Rewind{Turn: "t1", Conversation: true}, protocol.UndoReport{Problem: busy}},
		"while a command runs": {inShell(), protocol.Rewind{Turn: "t1", Conversation: true}, protocol.UndoReport{Problem: busy}},
		"during an undo":       {undoing(), protocol.Rewind{Turn: "t1", Conversation: true}, protocol.UndoReport{Problem: busy}},
		"nothing": {idle(), protocol.Rewind{Turn: "t1"},
			protocol.UndoReport{Problem: "nothing to rewind is named; give the conversation, the files, or both"}},
		"no such turn":     {idle(), protocol.Rewind{Turn: "t9", Conversation: true}, protocol.UndoReport{Problem: "there is no turn t9 in this session"}},
		"the conversation": {idle(), protocol.Rewind{Turn: "t1", Conversation: true}, protocol.UndoReport{What: "the conversation since turn t1"}},
	} {
		_, told := drive(k.core, Submit{ID: "r", Op: k.op})
		undone := toldOf[protocol.Undone](told)
		if len(undone) != 1 {
			t.Errorf("%s: told %+v", name, told)
			continue
		}
		if d := cmp.Diff(k.want, undone[0].Report); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestNoToACallThatHasRunInPart: the model hears what it did so far, and what the user says.
func TestNoToACallThatHasRunInPart(t *testing.T) {
	command := protocol.CommandApproval{Command: "make install"}
	for name, k := range map[string]struct {
		prior *Outcome
		words string
		want  string
	}{
		"nothing ran":       {nil, "", "rejected by the user; it was not run"},
		"nothing ran, why":  {nil, "not on this machine", "rejected by the user; it was not run. The user says: not on this machine"},
		"a part ran":        {&Outcome{Text: "made 3 files", Success: true}, "", "made 3 files\nThe user did not allow more."},
		"a part ran, why":   {&Outcome{Text: "made 3 files"}, "enough", "made 3 files\nThe user did not allow more. The user says: enough"},
		"a part ran, first": {&Outcome{}, "enough", "\nThe user did not allow more. The user says: enough"},
	} {
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"}, toolCall, Prepared{Call: "c1", Body: protocol.Command{Call: "c1", Command: "make"}},
			Chunk{1, model.Done{}}, StreamEnded{Round: 1})
		var records []history.Record
		for _, in := range []Input{AskAgain{Call: "c1", Approval: protocol.Approval{Call: "c1", Command: &command}, Prior: k.prior},
			Submit{ID: "a", Op: protocol.Answer{Approval: "ask_1", Decision: protocol.Deny, Words: k.words}}} {
			records = append(records, c.Step(in).Records...)
		}
		var got []string
		for _, r := range records {
			if call, ok := r.(history.ToolCall); ok {
				got = append(got, call.Result)
			}
		}
		if len(got) != 1 || got[0] != k.want {
			t.Errorf("%s: the model hears %q, not %q", name, got, k.want)
		}
	}
}

// TestCommandsOfTheUserEndWithTheirTurn: whatever ends it, each that runs is stopped, once.
func TestCommandsOfTheUserEndWithTheirTurn(t *testing.T) {
	busy := []Input{Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"}}
	replacing := say("no, this")
	replacing.Replace = true
	for name, k := range map[string]struct {
		before []Input
		end    Input
	}{
		"an interrupt, alone":            {nil, Submit{ID: "x", Op: protocol.Interrupt{}}},
		"an interrupt, beside the model": {busy, Submit{ID: "x", Op: protocol.Interrupt{}}},
		"the end of the session":         {busy, Submit{ID: "x", Op: protocol.Shutdown{}}},
		"the time of the turn":           {busy, Elapsed{Timer: 1}},
		"other words":                    {busy, Submit{ID: "x", Op: replacing}},
	} {
		c := New(Options{Budget: Budget{Wall: time.Minute}}, nil)
		drive(c, k.before...)
		var running, stopped []protocol.CallID
		for _, id := range []string{"sh1", "sh2"} {
			for _, e := range c.Step(Submit{ID: id, Op: protocol.Shell{Command: "make"}}).Effects {
				if run, ok := e.(RunShell); ok {
					running = append(running, run.Call)
				}
			}
		}
		for range 2 {
			for _, e := range c.Step(k.end).Effects {
				if s, ok := e.(StopCall); ok {
					stopped = append(stopped, s.Call)
				}
			}
		}
		if d := cmp.Diff(running, stopped); d != "" || len(running) == 0 {
			t.Errorf("%s (-run +stopped):\n%s", name, d)
		}
	}
}

// TestWhatAnEstimateLacks counts from the next request on; one that was too high takes nothing away.
func TestWhatAnEstimateLacks(t *testing.T) {
	for _, k := range []struct{ sent, reported, extra int }{{100, 100, 0}, {100, 90, 0}, {100, 101, 1}, {100, 150, 50}, {0, 7, 7}} {
		var v conversation
		v.measured(protocol.Usage{Input: k.reported, Output: 5}, k.sent)
		if v.extra != k.extra || v.context != k.reported+5 {
			t.Errorf("%d estimated, %d reported: %d more, a context of %d", k.sent, k.reported, v.extra, v.context)
		}
	}
}

// TestWhereNobodyCanBeAsked: the model hears why the call did not run, and the call is shown as one that
// failed for that reason.
func TestWhereNobodyCanBeAsked(t *testing.T) {
	const why = "not run: it needs the user's approval (it deletes) and this run has nobody to ask. Find a way that needs no " +
		"approval, or tell the user to allow it: run with another --sandbox or approval policy"
	for name, k := range map[string]struct{ shown, want protocol.Body }{
		"a tool": {protocol.ToolCall{Call: "c1", Tool: "x"}, protocol.ToolCall{Call: "c1", Tool: "x", Error: why}},
		"files":  {protocol.FileChange{Call: "c1"}, protocol.FileChange{Call: "c1", Error: why}},
	} {
		c := New(Options{Headless: true}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"}, toolCall)
		var results []string
		var ended []protocol.Item
		for _, in := range []Input{Prepared{Call: "c1", Verdict: Ask, Body: k.shown, Approval: &protocol.Approval{Call: "c1", Reason: "it deletes"}},
			Chunk{1, model.Done{}}, StreamEnded{Round: 1}} {
			r := c.Step(in)
			for _, rec := range r.Records {
				if call, ok := rec.(history.ToolCall); ok {
					results = append(results, call.Result)
				}
			}
			for _, e := range eventsOf[protocol.ItemCompleted](r) {
				ended = append(ended, e.Item)
			}
		}
		if len(results) != 1 || results[0] != why {
			t.Errorf("%s: the model hears %q", name, results)
		}
		if len(ended) != 1 || ended[0].Status != protocol.Declined || !cmp.Equal(ended[0].Body, k.want) {
			t.Errorf("%s: shown as %+v", name, ended)
		}
	}
}

// TestWhatTheEndOfATurnBrings: the diff, notes for the model, and why a turn that went well did not end
// well. What stopped the turn before counts more.
func TestWhatTheEndOfATurnBrings(t *testing.T) {
	diff := protocol.TurnDiff{Diff: "+x", Files: 1, Note: "not certain"}
	unrecorded, cut := "the disk is full", "the time was up"
	failed := func(k protocol.TroubleKind, text string) []protocol.Msg {
		return []protocol.Msg{protocol.TurnFailed{Error: protocol.Trouble{Kind: k, Message: text}}}
	}
	done := []protocol.Msg{protocol.TurnCompleted{LastMessage: "done"}}
	for name, k := range map[string]struct {
		in   Settled
		told []protocol.Msg
		what []string // of the event records
	}{
		"nothing":      {Settled{}, done, []string{history.TurnCompleted}},
		"a diff":       {Settled{Diff: &diff}, append([]protocol.Msg{diff}, done...), []string{history.TurnDiffed, history.TurnCompleted}},
		"not recorded": {Settled{Unrecorded: unrecorded}, failed(protocol.TroubleStorage, unrecorded), []string{history.TurnFailed}},
		"cut off":      {Settled{Cut: cut}, failed(protocol.TroubleOther, cut), []string{history.TurnFailed}},
		"both":         {Settled{Cut: cut, Unrecorded: unrecorded}, failed(protocol.TroubleStorage, unrecorded), []string{history.TurnFailed}},
	} {
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		drive(c, spoken(1, "done")...)
		if r := c.Step(Settled{Turn: "another", Unrecorded: unrecorded}); len(r.Events)+len(r.Records) != 0 {
			t.Errorf("%s: the end of another turn is told: %+v", name, r)
		}
		k.in.Turn = "t1"
		r := c.Step(k.in)
		var told []protocol.Msg
		for _, e := range r.Events {
			told = append(told, e.Msg)
		}
		if d := cmp.Diff(k.told, told); d != "" {
			t.Errorf("%s (-want +told):\n%s", name, d)
		}
		var what []string
		for _, rec := range r.Records {
			if e, ok := rec.(history.EventRecord); ok {
				what = append(what, e.What)
			}
		}
		if d := cmp.Diff(k.what, what); d != "" {
			t.Errorf("%s (-want +recorded):\n%s", name, d)
		}
	}
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"}, Submit{ID: "x", Op: protocol.Interrupt{}})
	_, told := drive(c, Settled{Turn: "t1", Unrecorded: unrecorded, Cut: cut})
	if len(toldOf[protocol.TurnAborted](told)) != 1 || len(toldOf[protocol.TurnFailed](told)) != 0 {
		t.Errorf("interrupted: told %+v", told)
	}
}

// TestHooksHaveATurnGoOn at most so often, and the model hears why; a note at the end reaches the next turn.
func TestHooksHaveATurnGoOn(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	for n := 1; n <= maxGoOn; n++ {
		drive(c, spoken(n, "done")...)
		reqs, told := drive(c, Settled{Turn: "t1", GoOn: "not yet"})
		if len(reqs) != 1 || len(toldOf[protocol.TurnCompleted](told)) != 0 || strings.Count(texts(reqs[0]), "not yet") != n {
			t.Fatalf("the %d. time: %+v, %+v", n, reqs, told)
		}
	}
	drive(c, spoken(maxGoOn+1, "done")...)
	reqs, told := drive(c, Settled{Turn: "t1", GoOn: "not yet", Note: "mind the gap"})
	if len(reqs) != 0 || len(toldOf[protocol.TurnCompleted](told)) != 1 {
		t.Fatalf("once more: %+v, %+v", reqs, told)
	}
	reqs, _ = drive(c, Submit{ID: "t2", Op: say("more")}, Gathered{Turn: "t2"})
	if len(reqs) != 1 || strings.Count(texts(reqs[0]), "mind the gap") != 1 {
		t.Errorf("the note: %+v", reqs)
	}
}

// TestSettingsThatCannotChange are told in words.
func TestSettingsThatCannotChange(t *testing.T) {
	c := New(Options{Settings: protocol.Settings{Cwd: "/w", Model: "a"}}, nil)
	_, told := drive(c, Submit{ID: "s", Op: protocol.Configure{Settings: protocol.Settings{Cwd: "/x", Model: "b"}}})
	want := []protocol.Msg{protocol.Warning{Message: "a session cannot change its working directory; open another session in /x"},
		protocol.SettingsChanged{Settings: protocol.Settings{Cwd: "/w", Model: "b"}}}
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("(-want +told):\n%s", d)
	}
	if _, told = drive(c, Submit{ID: "s", Op: protocol.Configure{Settings: protocol.Settings{Cwd: "/w"}}}); len(toldOf[protocol.Warning](told)) != 0 {
		t.Errorf("the same directory: %+v", told)
	}
}

// TestAGoalIsTriedSoOften: each check that fails has the turn go on, up to the limit; one that passes ends
// it, but for what the user said meanwhile.
func TestAGoalIsTriedSoOften(t *testing.T) {
	begin := func(most int) *Core {
		op := say("go")
		op.Goal = &protocol.Goal{Text: "it works", Check: "make test", Checks: most}
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: op}, Gathered{Turn: "t1"})
		return c
	}
	checked := func(c *Core, round int, passed bool, before ...Input) (reqs []CallModel, told []protocol.Msg) {
		drive(c, spoken(round, "done")...)
		drive(c, before...)
		return drive(c, Checked{Call: c.turn.goal.call, Passed: passed, Outcome: Outcome{Text: "the output of the check"}})
	}
	for most := 1; most <= 3; most++ {
		c := begin(most)
		for n := 1; n < most; n++ {
			reqs, _ := checked(c, n, false)
			if len(reqs) != 1 || strings.Count(texts(reqs[0]), "the output of the check") != n {
				t.Fatalf("of %d, %d failed: %+v", most, n, reqs)
			}
		}
		reqs, told := checked(c, most, false)
		words := fmt.Sprintf("the goal is not reached: its check failed %d times, which is its limit (--max-checks)", most)
		if len(reqs) != 0 || len(toldOf[protocol.Warning](told)) != 1 || toldOf[protocol.Warning](told)[0].Message != words {
			t.Errorf("of %d all failed: %+v, %+v", most, reqs, told)
		}
		if _, told = drive(c, Settled{Turn: "t1"}); len(toldOf[protocol.TurnAborted](told)) != 1 || toldOf[protocol.TurnAborted](told)[0].Reason != protocol.AbortBudget {
			t.Errorf("of %d all failed: ended as %+v", most, told)
		}
	}
	c := begin(3)
	if reqs, _ := checked(c, 1, true, Submit{ID: "s", Op: say("and this")}); len(reqs) != 1 || !strings.Contains(texts(reqs[0]), "and this") {
		t.Errorf("passed, but the user said more: %+v", reqs)
	}
	if reqs, _ := checked(c, 2, true); len(reqs) != 0 {
		t.Errorf("passed: %+v", reqs)
	}
	if _, told := drive(c, Settled{Turn: "t1"}); len(toldOf[protocol.TurnCompleted](told)) != 1 {
		t.Errorf("passed: ended as %+v", told)
	}
}

// TestAMessageIsShownWhenItBegins, before its first word; other items are shown when there is something to show.
func TestAMessageIsShownWhenItBegins(t *testing.T) {
	for kind, want := range map[model.Kind]int{model.Message: 1, model.Reasoning: 0, model.Call: 0} {
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		_, told := drive(c, Chunk{1, model.ItemAdded{Index: 0, Item: &model.Item{Kind: kind, CallID: "c1", Name: "p"}}})
		if n := len(toldOf[protocol.ItemStarted](told)); n != want {
			t.Errorf("%s: %d items are shown", kind, n)
		}
	}
}

// TestARewindToTheBeginningTellsAllAgain: a turn before which nothing is left is a first one, for which
// all is gathered; one before which something is left is not.
func TestARewindToTheBeginningTellsAllAgain(t *testing.T) {
	c, rounds := New(Options{}, nil), 0
	turn := func(id protocol.TurnID, want bool) {
		t.Helper()
		rounds++
		first := !want
		for _, in := range []Input{Submit{ID: string(id), Op: say("go")}, Gathered{Turn: id}, Chunk{rounds, words(0, "Done.")},
			Chunk{rounds, model.Done{}}, StreamEnded{Round: rounds}, Settled{Turn: id}} {
			for _, e := range c.Step(in).Effects {
				if g, ok := e.(Gather); ok {
					first = g.First
				}
			}
		}
		if first != want || c.Busy() {
			t.Errorf("turn %s is a first one: %v", id, first)
		}
	}
	rewind := func(to protocol.TurnID) { c.Step(Submit{ID: "r", Op: protocol.Rewind{Turn: to, Conversation: true}}) }
	turn("t1", true)
	turn("t2", false)
	rewind("t2")
	turn("t3", false)
	rewind("t1")
	turn("t4", true)
	turn("t5", false)
}

// TestAnEmptySummaryIsNotAskedForWithoutEnd: it counts as an answer that broke off.
func TestAnEmptySummaryIsNotAskedForWithoutEnd(t *testing.T) {
	for _, most := range []int{0, 1, 3} {
		c := New(Options{StreamRetries: most}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		drive(c, spoken(1, "done")...)
		drive(c, Settled{Turn: "t1"})
		reqs, _ := drive(c, Submit{ID: "k", Op: protocol.Compact{}})
		n := len(reqs)
		for n < 10 && len(reqs) > 0 {
			drive(c, Chunk{n + 1, model.Done{Usage: &model.Usage{Input: 5}}}, StreamEnded{Round: n + 1})
			reqs, _ = drive(c, Elapsed{Timer: n})
			n += len(reqs)
		}
		if _, told := drive(c, Settled{Turn: "k"}); n != most+1 || len(toldOf[protocol.TurnFailed](told)) != 1 {
			t.Errorf("at most %d more: %d requests, %+v", most, n, told)
		}
	}
}

// TestATurnIsDoneWhenACommandOfTheUserEndsLast: what is asked at its end is the same as without the command,
// so that checks and hooks have their say.
func TestATurnIsDoneWhenACommandOfTheUserEndsLast(t *testing.T) {
	settles := func(last ...Input) (asked []Settle) {
		c := New(Options{Settings: protocol.Settings{Cwd: "/w"}}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		for _, in := range last {
			for _, e := range c.Step(in).Effects {
				if s, ok := e.(Settle); ok {
					asked = append(asked, s)
				}
			}
		}
		return asked
	}
	shell, done := Submit{ID: "s", Op: protocol.Shell{Command: "make"}}, ShellDone{Call: "shell_s"}
	want := settles(spoken(1, "done")...)
	got := settles(append(append([]Input{shell}, spoken(1, "done")...), done)...)
	if d := cmp.Diff(want, got); d != "" || len(want) != 1 || !want[0].Done {
		t.Errorf("(-without +with the command):\n%s", d)
	}
}
