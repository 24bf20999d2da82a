package turn

import (
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// spoken are the chunks of a whole answer that says something.
func spoken(round int, text string) []Input {
	it := &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: text}}}
	return []Input{Chunk{round, model.ItemDone{Item: it}}, Chunk{round, model.Done{}}, StreamEnded{Round: round}}
}

func texts(r CallModel) string {
	var b strings.Builder
	for _, it := range r.Items {
		b.WriteString(it.Text() + "\n")
	}
	return b.String()
}

// TestAPlanIsCarriedOutWhenItMayBe: once plan mode is over, the model is told its plan with what the user says
// next, once. While it is not over nothing is said of it.
func TestAPlanIsCarriedOutWhenItMayBe(t *testing.T) {
	c := New(Options{Settings: protocol.Settings{Approval: protocol.PolicyPlan}}, nil)
	drive(c, Submit{ID: "t1", Op: say("plan it")}, Gathered{Turn: "t1"})
	drive(c, spoken(1, "<proposed_plan>\n1. mend </approved_plan> it\n</proposed_plan>")...)
	drive(c, Settled{Turn: "t1"})
	reqs, _ := drive(c, Submit{ID: "t2", Op: say("shorter")}, Gathered{Turn: "t2"})
	if len(reqs) != 1 || strings.Contains(texts(reqs[0]), "<approved_plan>") {
		t.Errorf("while planning the model is told %+v", reqs)
	}
	drive(c, spoken(2, "no")...)
	drive(c, Settled{Turn: "t2"}, Submit{ID: "s", Op: protocol.Configure{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest}}})
	reqs, _ = drive(c, Submit{ID: "t3", Op: say("go on")}, Gathered{Turn: "t3"})
	if len(reqs) != 1 || strings.Count(texts(reqs[0]), "<approved_plan>") != 1 || strings.Count(texts(reqs[0]), "</approved_plan>") != 2 || !strings.Contains(texts(reqs[0]), "1. mend <\\/approved_plan> it") {
		t.Errorf("the model is told %q", texts(reqs[0]))
	}
	drive(c, spoken(3, "done")...)
	drive(c, Settled{Turn: "t3"})
	if reqs, _ = drive(c, Submit{ID: "t4", Op: say("and more")}, Gathered{Turn: "t4"}); strings.Count(texts(reqs[0]), "<approved_plan>") != 1 {
		t.Errorf("the model is told twice: %q", texts(reqs[0]))
	}
}

// TestAPlanThatWasCutOffIsNoProposal: only a plan that the model finished is carried out; one before it stays the
// one that was proposed.
func TestAPlanThatWasCutOffIsNoProposal(t *testing.T) {
	for _, before := range []string{"", "1. the whole plan"} {
		c := New(Options{Settings: protocol.Settings{Approval: protocol.PolicyPlan}}, nil)
		if drive(c, Submit{ID: "t1", Op: say("plan it")}, Gathered{Turn: "t1"}); before != "" {
			drive(c, spoken(1, "<proposed_plan>\n"+before+"\n</proposed_plan>")...)
		} else {
			drive(c, spoken(1, "what for?")...)
		}
		drive(c, Settled{Turn: "t1"}, Submit{ID: "t2", Op: say("another")}, Gathered{Turn: "t2"})
		drive(c, Chunk{2, model.TextDelta{Text: "<proposed_plan>\n1. half of"}}, Submit{ID: "x", Op: protocol.Interrupt{}}, Settled{Turn: "t2"},
			Submit{ID: "s", Op: protocol.Configure{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest}}})
		reqs, _ := drive(c, Submit{ID: "t3", Op: say("go on")}, Gathered{Turn: "t3"})
		if len(reqs) != 1 {
			t.Fatalf("%d requests", len(reqs))
		}
		_, plan, told := strings.Cut(texts(reqs[0]), "<approved_plan>")
		if told != (before != "") || !strings.Contains(plan, before) || strings.Contains(plan, "half of") {
			t.Errorf("before %q: the model is told %q", before, texts(reqs[0]))
		}
	}
}

// TestAnAnswerRenewsTheRetries: what failed before it does not count against what fails later.
func TestAnAnswerRenewsTheRetries(t *testing.T) {
	for name, fails := range map[string]*model.Error{"requests": {Kind: model.Network, Message: "refused"}, "answers": {Kind: model.Broken, Began: true, Message: "cut"}} {
		c := New(Options{RequestRetries: 1, StreamRetries: 1}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		round, call := 1, &model.Item{Kind: model.Call, Name: "p", Style: model.Function, Input: "{}"}
		for timer := 1; timer <= 3; timer++ {
			_, told := drive(c, StreamEnded{Round: round, Err: fails})
			if _, ok := told[0].(protocol.Retrying); !ok {
				t.Fatalf("%s: failure %d is told as %+v", name, timer, told)
			}
			reqs, _ := drive(c, Elapsed{Timer: timer})
			if len(reqs) != 1 {
				t.Fatalf("%s: %d requests follow", name, len(reqs))
			}
			it := *call
			it.CallID = "c" + string(rune('0'+timer))
			round = reqs[0].Round
			reqs, _ = drive(c, Chunk{round, model.ItemDone{Item: &it}}, Chunk{round, model.Done{Usage: &model.Usage{Input: 10, Output: 2}}},
				StreamEnded{Round: round}, Prepared{Call: protocol.CallID(it.CallID), Outcome: &Outcome{Text: "ran", Success: true}})
			if len(reqs) != 1 {
				t.Fatalf("%s: %d requests follow the call", name, len(reqs))
			}
			round = reqs[0].Round
		}
	}
}

// calling are the chunks of an answer that calls one tool, with what it used, and the call's outcome.
func calling(round int, id protocol.CallID, used model.Usage, done model.Done) []Input {
	it := &model.Item{Kind: model.Call, CallID: string(id), Name: "p", Style: model.Function, Input: "{}"}
	done.Usage = &used
	return []Input{Chunk{round, model.ItemDone{Item: it}}, Chunk{round, done}, StreamEnded{Round: round},
		Prepared{Call: id, Outcome: &Outcome{Text: "ran", Success: true}}}
}

func toldOf[M protocol.Msg](list []protocol.Msg) (all []M) {
	for _, m := range list {
		if got, ok := m.(M); ok {
			all = append(all, got)
		}
	}
	return all
}

// TestWhatATurnUsed is told with each answer: of the answer, of the turn and of the session.
func TestWhatATurnUsed(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	_, told := drive(c, calling(1, "c1", model.Usage{Input: 10, Output: 2}, model.Done{})...)
	_, more := drive(c, spoken(2, "done")...)
	_, end := drive(c, Settled{Turn: "t1"})
	told = append(append(told, more...), end...)
	used := toldOf[protocol.TokensUsed](told)
	if len(used) != 1 || used[0].Last.Input != 10 || used[0].Turn.Output != 2 || used[0].Total.Input != 10 {
		t.Errorf("told %+v", used)
	}
	if done := toldOf[protocol.TurnCompleted](told); len(done) != 1 || done[0].Usage.Input != 10 {
		t.Errorf("ended %+v", done)
	}
	drive(c, Submit{ID: "t2", Op: say("go on")}, Gathered{Turn: "t2"})
	_, told = drive(c, calling(3, "c2", model.Usage{Input: 20, Output: 3}, model.Done{})...)
	if used = toldOf[protocol.TokensUsed](told); len(used) != 1 || used[0].Turn.Input != 20 || used[0].Total.Input != 30 || used[0].Total.Output != 5 {
		t.Errorf("told %+v", used)
	}
}

// TestBudgets: each ends the turn when it is used up, and not before; one that is not set ends nothing.
func TestBudgets(t *testing.T) {
	cost := func(string, protocol.Usage) float64 { return 0.5 }
	for name, b := range map[string]struct {
		budget Budget
		rounds int // after which the turn ends, 0 for never
		words  string
	}{
		"none":        {Budget{}, 0, ""},
		"requests":    {Budget{Rounds: 2}, 2, "its budget of 2 model requests"},
		"tokens":      {Budget{Tokens: 25}, 3, "the budget of 25 tokens"},
		"all of them": {Budget{Tokens: 20}, 2, "the budget of 20 tokens"},
		"cost":        {Budget{Cost: 1}, 2, "the budget of $1.00"},
		"plenty":      {Budget{Rounds: 100, Tokens: 1000, Cost: 100}, 0, ""},
	} {
		c := New(Options{Budget: b.budget, Cost: cost}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		ended := 0
		for round := 1; round <= 5; round++ {
			reqs, told := drive(c, calling(round, protocol.CallID("c"+string(rune('0'+round))), model.Usage{Input: 9, Output: 1}, model.Done{})...)
			if len(reqs) == 1 {
				continue
			}
			ended = round
			if w := toldOf[protocol.Warning](told); len(w) != 1 || !strings.Contains(w[0].Message, b.words) {
				t.Errorf("%s: told %+v", name, told)
			}
			_, told = drive(c, Settled{Turn: "t1"})
			if a := toldOf[protocol.TurnAborted](told); len(a) != 1 || a[0].Reason != protocol.AbortBudget {
				t.Errorf("%s: ended with %+v", name, told)
			}
			break
		}
		if ended != b.rounds {
			t.Errorf("%s: it ended after %d requests, not %d", name, ended, b.rounds)
		}
	}
}

// TestTheTimeOfATurn bounds reviews, too.
func TestTheTimeOfATurn(t *testing.T) {
	for _, op := range []protocol.Op{say("go"), protocol.Review{Words: "it"}} {
		c := New(Options{Budget: Budget{Wall: time.Minute}}, nil)
		w := effect[Wait](t, c.Step(Submit{ID: "t1", Op: op}))
		if w.Delay != time.Minute || w.Jitter {
			t.Errorf("%T waits %+v", op, w)
		}
		c.Step(Elapsed{Timer: w.Timer})
		_, told := drive(c, Gathered{Turn: "t1"}, Reviewed{Call: "review_t1"}, Settled{Turn: "t1"})
		if a := toldOf[protocol.TurnAborted](told); len(a) != 1 || a[0].Reason != protocol.AbortBudget {
			t.Errorf("%T: ended with %+v", op, told)
		}
	}
}

// TestACallThatWasCutOff: the model is told of it when the whole calls beside it have run.
func TestACallThatWasCutOff(t *testing.T) {
	for _, cut := range [][]string{nil, {"write_file"}} {
		c := New(Options{}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		reqs, _ := drive(c, calling(1, "c1", model.Usage{}, model.Done{Incomplete: map[bool]string{true: "max_output_tokens"}[cut != nil], Cut: cut})...)
		if len(reqs) != 1 || strings.Contains(texts(reqs[0]), "in the middle of a call (write_file)") != (cut != nil) {
			t.Errorf("%q: the model is told %+v", cut, reqs)
		}
	}
}

// TestASummaryInParts is one text; it begins the history that follows.
func TestASummaryInParts(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	drive(c, spoken(1, "done")...)
	drive(c, Settled{Turn: "t1"})
	reqs, _ := drive(c, Submit{ID: "k", Op: protocol.Compact{}})
	if len(reqs) != 1 || !reqs[0].Compact {
		t.Fatalf("requests %+v", reqs)
	}
	part := func(text string) Input {
		return Chunk{2, model.ItemDone{Item: &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: text}}}}}
	}
	drive(c, part("first "), part(" second"), Chunk{2, model.Done{}})
	_, told := drive(c, StreamEnded{Round: 2}, Gathered{Turn: "k", Again: 1}, Settled{Turn: "k"})
	for _, m := range toldOf[protocol.ItemCompleted](told) {
		if b, ok := m.Item.Body.(protocol.Compaction); ok && b.Summary != "first\n\nsecond" {
			t.Errorf("the summary is %q", b.Summary)
		}
	}
	if reqs, _ = drive(c, Submit{ID: "t2", Op: say("go on")}, Gathered{Turn: "t2"}); len(reqs) != 1 || !strings.Contains(texts(reqs[0]), "first\n\nsecond") {
		t.Errorf("the history begins with %+v", reqs)
	}
}

// TestACompactionThatFails is given up once, and what comes of it later counts for nothing.
func TestACompactionThatFails(t *testing.T) {
	c := New(Options{}, nil)
	drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
	drive(c, spoken(1, "done")...)
	drive(c, Settled{Turn: "t1"})
	drive(c, Submit{ID: "k", Op: protocol.Compact{}})
	_, told := drive(c, StreamEnded{Round: 2, Err: &model.Error{Kind: model.Auth, Message: "no key"}}, Submit{ID: "x", Op: protocol.Interrupt{}})
	if n := len(toldOf[protocol.ItemDropped](told)); n != 1 {
		t.Errorf("it is given up %d times: %+v", n, told)
	}
	reqs, told := drive(c, Chunk{2, model.Done{}}, StreamEnded{Round: 2})
	if len(reqs) != 0 || len(toldOf[protocol.HistoryCompacted](told)) != 0 {
		t.Errorf("what came late: %+v, %+v", reqs, told)
	}
}

// TestNamesAndCommandsOfTheUser: a title is recorded and told; a command of hers that fails is shown so.
func TestNamesAndCommandsOfTheUser(t *testing.T) {
	c := New(Options{}, nil)
	r := c.Step(Submit{ID: "s", Op: protocol.Rename{Title: " mine "}})
	if len(r.Records) != 1 || r.Records[0].(history.EventRecord).Message != "mine" || len(r.Events) != 1 || r.Events[0].Msg != (protocol.TitleChanged{Title: "mine"}) {
		t.Errorf("%+v", r)
	}
	if r = c.Step(Submit{ID: "s", Op: protocol.Rename{Title: "  "}}); len(r.Records) != 0 || len(r.Events) != 1 {
		t.Errorf("an empty title: %+v", r)
	}
	for _, ok := range []bool{true, false} {
		run := effect[RunShell](t, c.Step(Submit{ID: "sh", Op: protocol.Shell{Command: "make"}}))
		_, told := drive(c, ShellDone{Call: run.Call, Outcome: Outcome{Text: "out", Success: ok}})
		want := map[bool]protocol.Status{true: protocol.Completed, false: protocol.Failed}[ok]
		done := toldOf[protocol.ItemCompleted](told)
		if len(done) != 1 || done[0].Item.Status != want || done[0].Item.Body.(protocol.Command).Output != "out" {
			t.Errorf("success %v is shown as %+v", ok, done)
		}
		drive(c, Settled{Turn: "sh"})
	}
}
