package turn

import (
	"strings"
	"testing"

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
