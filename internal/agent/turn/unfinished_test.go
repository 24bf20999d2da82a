package turn

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// words is a whole message.
func words(index int, s string) model.Chunk {
	return model.ItemDone{Index: index, Item: &model.Item{Kind: model.Message, Role: "assistant",
		Content: []model.Part{{Text: s}}}}
}

// oddAnswers are answers that look well and are not, by what they are.
var oddAnswers = map[string][]model.Chunk{
	"empty":     {model.Done{}},
	"blank":     {words(0, " \n"), model.Done{}},
	"thoughts":  {model.ItemDone{Item: &model.Item{Kind: model.Reasoning, Summary: []string{"hm"}}}, model.Done{}},
	"nameless":  {model.ItemDone{Item: &model.Item{Kind: model.Call, CallID: "c", Input: "{}"}}, model.Done{}},
	"cut":       {words(0, "Half"), model.Done{Incomplete: "max_output_tokens"}},
	"cut call":  {model.Done{Incomplete: "max_output_tokens", Cut: []string{"write_file"}}},
	"announced": {words(0, "I will look."), model.Done{Incomplete: "call_announced"}},
	"paused":    {words(0, "Searching."), model.Done{Incomplete: "pause_turn"}},
	"refused":   {model.Done{Incomplete: "refusal"}},
	"filtered":  {words(0, "Half"), model.Done{Incomplete: "content_filter: safety"}},
}

// play answers each request with the next answer, the last one again and again, until the
// turn settles. It returns the number of requests and how the turn ended.
func play(t interface{ Fatalf(string, ...any) }, answers [][]model.Chunk) (requests int, c *Core, end protocol.Msg) {
	c = New(Options{RequestRetries: 2, StreamRetries: 2}, nil)
	r := c.Step(Submit{ID: "t1", Op: say("go")})
	inputs := []Input{Gathered{Turn: "t1"}}
	for len(inputs) > 0 {
		r = c.Step(inputs[0])
		inputs = inputs[1:]
		for _, e := range r.Effects {
			switch e := e.(type) {
			case CallModel:
				if requests++; requests > 100 {
					t.Fatalf("no end: %d requests", requests)
				}
				for _, ch := range answers[min(requests, len(answers))-1] {
					inputs = append(inputs, Chunk{e.Round, ch})
				}
				inputs = append(inputs, StreamEnded{Round: e.Round})
			case Settle:
				inputs = append(inputs, Settled{Turn: "t1"})
			}
		}
		for _, told := range r.Events {
			switch told.Msg.(type) {
			case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
				end = told.Msg
			}
		}
	}
	return requests, c, end
}

// TestNoSilentSuccess wants, of any series of odd answers, a bounded number of requests
// and a failure with the reason; and success only when the last answer said something and
// was whole.
func TestNoSilentSuccess(t *testing.T) {
	var names []string
	for name := range oddAnswers {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		var answers [][]model.Chunk
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 20).Draw(t, "answers") {
			answers = append(answers, oddAnswers[name])
		}
		requests, _, end := play(t, answers)
		if f, ok := end.(protocol.TurnFailed); !ok || f.Error.Message == "" || f.Error.Hint == "" {
			t.Fatalf("the turn ends with %+v, want a failure with its reason and a hint", end)
		}
		if most := (maxNudges + 1) + (maxPauses + 1); requests > most {
			t.Fatalf("%d requests, want %d at most", requests, most)
		}
		if requests > 1 && answers[0][len(answers[0])-1].(model.Done).Incomplete == "refusal" {
			t.Fatal("a refusal was asked again")
		}
		answers = append(answers[:rapid.IntRange(0, min(2, len(answers))).Draw(t, "before")], oddAnswers["cut"],
			[]model.Chunk{words(0, " and whole."), model.Done{}})
		_, _, end = play(t, answers)
		if done, ok := end.(protocol.TurnCompleted); ok && !strings.HasSuffix(done.LastMessage, "Half and whole.") {
			t.Fatalf("the last message is %q, want both halves", done.LastMessage)
		}
	})
}

// TestModelIsTold wants the model to hear what was wrong with its answer.
func TestModelIsTold(t *testing.T) {
	for name, want := range map[string]string{"empty": "empty", "nameless": "names no tool", "cut": "cut off (max_output_tokens)",
		"cut call": "in the middle of a call (write_file)", "announced": "announced a call"} {
		_, c, end := play(t, [][]model.Chunk{oddAnswers[name], {words(0, "Done."), model.Done{}}})
		if _, ok := end.(protocol.TurnCompleted); !ok {
			t.Errorf("%s: the turn ends with %+v", name, end)
		}
		told := ""
		for _, it := range c.Items() {
			if it.Role == "user" {
				told = it.Text()
			}
		}
		if !strings.Contains(told, want) {
			t.Errorf("%s: the model is told %q, want %q", name, told, want)
		}
	}
}

// TestRepeatedMessageIsShownOnce breaks an answer off behind a whole message. Said again,
// the message is not shown again; another one is.
func TestRepeatedMessageIsShownOnce(t *testing.T) {
	broken := &model.Error{Kind: model.Broken, Began: true, Message: "cut"}
	for again, shown := range map[string]int{"One two.": 1, "One two three.": 2, "Else.": 2} {
		c := New(Options{StreamRetries: 2}, nil)
		drive(c, Submit{ID: "t1", Op: say("go")}, Gathered{Turn: "t1"})
		_, first := drive(c, Chunk{1, words(0, "One two.")}, StreamEnded{Round: 1, Err: broken}, Elapsed{Timer: 1})
		_, second := drive(c, Chunk{2, model.ItemAdded{Item: &model.Item{Kind: model.Message}}},
			Chunk{2, model.TextDelta{Text: again[:4]}}, Chunk{2, model.TextDelta{Text: again[4:]}}, Chunk{2, words(0, again)},
			Chunk{2, model.Done{}}, StreamEnded{Round: 2})
		_, end := drive(c, Settled{Turn: "t1"})
		n, open := 0, 0
		for _, m := range append(first, second...) {
			switch m := m.(type) {
			case protocol.ItemStarted:
				open++
			case protocol.ItemDropped:
				open--
			case protocol.ItemCompleted:
				if _, ok := m.Item.Body.(protocol.AgentMessage); ok {
					n++
				}
			}
		}
		if n != shown || shown == 1 && open != 0 {
			t.Errorf("%q: %d messages shown, want %d; %d left open", again, n, shown, open)
		}
		if done, ok := end[len(end)-1].(protocol.TurnCompleted); !ok || done.LastMessage != again {
			t.Errorf("%q: the turn ends with %+v", again, end)
		}
	}
}

// TestBoundsAreForARow: they begin anew behind an answer that was whole: one with a call that ran,
// or words when the user had said more.
func TestBoundsAreForARow(t *testing.T) {
	whole := []model.Chunk{words(0, "Done."), model.Done{}}
	call := []model.Chunk{model.ItemDone{Item: &model.Item{Kind: model.Call, CallID: "c", Name: "f", Input: "{}"}}, model.Done{}}
	for odd, most := range map[string]int{"paused": maxPauses, "empty": maxNudges} {
		for _, called := range []bool{false, true} {
			for beyond := range 2 {
				tp := &tape{t: t, core: New(Options{}, nil)}
				tp.answer = func(e CallModel) (in []Input) {
					chunks := oddAnswers[odd]
					switch {
					case tp.requests == most+1 && called:
						chunks = call
					case tp.requests == most+1:
						chunks, in = whole, []Input{Submit{ID: "t2", Op: say("more")}}
					case tp.requests == 2*most+2+beyond:
						chunks = whole
					}
					for _, ch := range chunks {
						in = append(in, Chunk{e.Round, ch})
					}
					return append(in, StreamEnded{Round: e.Round})
				}
				tp.play(Submit{ID: "t1", Op: say("go")})
				tp.finish()
				if tp.ended["t1"] != 1 || (tp.failed != nil) != (beyond > 0) {
					t.Errorf("%s, %d and %d times, a call between: %v: failed: %v", odd, most, most+beyond, called, tp.failed)
				}
			}
		}
	}
}
