package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// scene is a conversation: what comes in, one after the other.
type scene struct {
	o      Options
	from   string // the name of the scene that the session is resumed from, or empty
	inputs []Input
}

// TestTranscripts compares all that is recorded, told and done in some conversations with
// testdata/transcripts.txt. KERF_UPDATE=1 writes that anew: read the difference.
func TestTranscripts(t *testing.T) {
	var b strings.Builder
	all := scenes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "== %s\n", name)
		var st *history.State
		if before := all[name].from; before != "" {
			var lines []history.Line
			for _, in := range perform(t, nil, all[before], nil) {
				for _, r := range in.Records {
					text, err := json.Marshal(r)
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, history.Line{Type: r.Type(), JSON: text})
				}
			}
			st = history.Rebuild(lines)
		}
		perform(t, &b, all[name], st)
	}
	file := filepath.Join("testdata", "transcripts.txt")
	if os.Getenv("KERF_UPDATE") != "" {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, []byte(b.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// perform plays a scene and writes what comes of it.
func perform(t *testing.T, b *strings.Builder, s scene, st *history.State) (all []Ready) {
	t.Helper()
	c := New(s.o, st)
	for _, in := range s.inputs {
		r := c.Step(in)
		all = append(all, r)
		if b == nil {
			continue
		}
		fmt.Fprintf(b, "> %s\n", brief(in))
		for _, rec := range r.Records {
			fmt.Fprintf(b, "  record %s\n", brief(rec))
		}
		for _, e := range r.Events {
			fmt.Fprintf(b, "  tell %s\n", brief(e))
		}
		for _, e := range r.Effects {
			fmt.Fprintf(b, "  do %s\n", brief(e))
		}
	}
	if b != nil {
		fmt.Fprintf(b, "= busy %v, context %d, size %d\n\n", c.Busy(), c.context, c.size)
	}
	return all
}

// brief is a value with what is not zero in it.
func brief(v any) string {
	if err, ok := v.(error); ok && err != nil {
		return fmt.Sprintf("error %q", err)
	}
	if d, ok := v.(time.Duration); ok {
		return d.String()
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid, reflect.Func:
		return "…"
	case reflect.Pointer, reflect.Interface:
		if r.IsNil() {
			return "nil"
		}
		return brief(r.Elem().Interface())
	case reflect.Struct:
		name := r.Type().Name()
		var parts []string
		for i := range r.NumField() {
			if f := r.Type().Field(i); f.IsExported() && !r.Field(i).IsZero() {
				if s := brief(r.Field(i).Interface()); f.Anonymous {
					parts = append(parts, s)
				} else {
					parts = append(parts, f.Name+": "+s)
				}
			}
		}
		return name + "{" + strings.Join(parts, ", ") + "}"
	case reflect.Map:
		var parts []string
		for _, k := range r.MapKeys() {
			parts = append(parts, brief(k.Interface())+": "+brief(r.MapIndex(k).Interface()))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		if text, ok := v.(json.RawMessage); ok {
			return string(text)
		}
		if items, ok := v.([]*model.Item); ok {
			return briefItems(items)
		}
		var parts []string
		for i := range r.Len() {
			parts = append(parts, brief(r.Index(i).Interface()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", r.String())
	}
	return fmt.Sprint(v)
}

// briefItems is a history: of each item who it is of, and how it begins and ends.
func briefItems(items []*model.Item) string {
	var parts []string
	for _, it := range items {
		text := cmp.Or(it.Text(), strings.Join(it.Summary, "|"), it.Input)
		if len(text) > 60 {
			text = text[:30] + "…" + text[len(text)-30:]
		}
		parts = append(parts, fmt.Sprintf("%s %q", strings.TrimSpace(cmp.Or(it.Role, string(it.Kind))+" "+it.CallID), text))
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

func piece(round int, chunks ...model.Chunk) (all []Input) {
	for _, ch := range chunks {
		all = append(all, Chunk{round, ch})
	}
	return all
}

// asks is a call of a tool.
func asks(index int, id, name string) model.Chunk {
	return model.ItemDone{Index: index, Item: &model.Item{Kind: model.Call, CallID: id, Name: name, Style: model.Function, Input: `{"n":1}`,
		ID: "i" + id}}
}

func used(in, out int) model.Done { return model.Done{Usage: &model.Usage{Input: in, Output: out}} }

func submit(id string, op protocol.Op) Input { return Submit{ID: id, Op: op} }

// begins is the beginning of a turn.
func begins(id string) []Input {
	return []Input{submit(id, say("words of "+id)), Gathered{Turn: protocol.TurnID(id)}}
}

// answers is an answer in words, which ends.
func answers(round int, text string) []Input {
	return slices.Concat(piece(round, words(0, text), used(10, 2)), []Input{StreamEnded{Round: round}})
}

func inOrder(lists ...[]Input) []Input { return slices.Concat(lists...) }

func scenes() map[string]scene {
	exit := 3
	command := func(id string) protocol.Body {
		return protocol.Command{Call: protocol.CallID(id), Command: "make " + id}
	}
	may := &protocol.Approval{Reason: "it writes", Command: &protocol.CommandApproval{Command: "make"}}
	change := history.FileChange{Path: "/w/a", Operation: "modified", Cause: "tool"}
	todo := func(status string) *protocol.TodoList {
		return &protocol.TodoList{Explanation: "why", Steps: []protocol.Step{{Step: "one", Status: status}}}
	}
	beside := func(c tool.Call) bool { return c.Name == "read" }
	answer := func(id protocol.ApprovalID, d protocol.Decision, words string) Input {
		return submit("a", protocol.Answer{Approval: id, Decision: d, Words: words})
	}
	broken := &model.Error{Kind: model.Broken, Began: true, Message: "the stream broke"}
	refused := &model.Error{Kind: model.Server, Message: "busy"}
	long := &model.Error{Kind: model.Context, Message: "too long"}
	replace, queued := say("instead"), say("later")
	replace.Replace, queued.Queue = true, true
	goal := say("do it")
	goal.Goal = &protocol.Goal{Text: "it works", Check: "make test", Checks: 2}
	small := Options{Window: 100}
	planning := Options{Settings: protocol.Settings{Approval: protocol.PolicyPlan}}
	other := protocol.Settings{Model: "other"}
	another := say("with another model")
	another.Settings = &other
	asked := func(agent, id string) Asked {
		return Asked{From: Asker{Agent: protocol.SessionID(agent), ID: protocol.ApprovalID(id)}, Approval: protocol.Approval{
			Agent: protocol.SessionID(agent), Network: &protocol.NetworkApproval{Host: "h", Port: 443, Command: "curl"}}}
	}
	return map[string]scene{
		"an answer that streams": {inputs: inOrder([]Input{submit("t1", say("go")), Gathered{Turn: "t1", Items: []*model.Item{model.UserText("context")},
			Notices: []*model.Item{model.UserText("notice")}, Warnings: []string{"mind"}, Facts: map[string]string{"cwd": "/w"}}},
			piece(1, model.ReasoningDelta{Index: 0, Text: "hm"}, model.ItemDone{Index: 0, Item: &model.Item{Kind: model.Reasoning,
				Summary: []string{"hm", "ah"}, Encrypted: "x", ID: "r1"}}, model.ItemAdded{Index: 1, Item: &model.Item{Kind: model.Message}},
				model.TextDelta{Index: 1, Text: "One "}, model.TextDelta{Index: 1, Text: "two"}, model.TextDelta{Index: 1}, words(1, "One two."),
				words(1, "again"), model.TextDelta{Index: 1, Text: "late"}, model.Limits{Values: map[string]string{"left": "3"}},
				model.Notice{Text: "slow"}, model.Searched{Query: "kerf"}, model.ReasoningDelta{Index: 2, Text: "more"}, used(10, 5), used(1, 1)),
			[]Input{StreamEnded{Round: 9}, StreamEnded{Round: 1}, Settled{Turn: "t1", Diff: &protocol.TurnDiff{Diff: "+x", Files: 1, Exact: true, Note: "n"},
				Changes: []history.FileChange{change}, Checks: []CheckRun{{Text: "fine", OK: true}}, Note: "remember"}},
			[]Input{submit("t2", another), Gathered{Turn: "t2", Refused: "not this"}, Settled{Turn: "t2"}})},
		"calls beside each other": {o: Options{Parallel: beside, Settings: protocol.Settings{Cwd: "/w"}}, inputs: inOrder(begins("t1"),
			piece(1, words(0, "I look."), asks(1, "c1", "read"), asks(2, "c2", "read"), asks(3, "c3", "exec"), asks(4, "c4", "read"), asks(5, "c1", "read"),
				asks(6, "", "read"), used(10, 5)), []Input{StreamEnded{Round: 1}, Prepared{Call: "c2", Body: command("c2")},
				Progress{Call: "c2", Text: "out"}, Finished{Call: "c2", Outcome: Outcome{Text: "two", Success: true, Millis: 7, Body: protocol.Command{Call: "c2",
					Command: "make c2", ExitCode: &exit, Lines: 9}, Warnings: []string{"w"}, Checks: []CheckRun{{Text: "bad"}, {Text: "good", OK: true}},
					Todo: todo("pending"), Changes: []history.FileChange{change}, Images: []string{"data:x"}, Observed: []history.Observation{{Path: "/w/a", Hash: "h"}}}},
				Prepared{Call: "c1", Body: command("c1")}, Finished{Call: "c1", Outcome: Outcome{Text: "one", Body: command("c1")}},
				Prepared{Call: "c3", Body: command("c3"), Verdict: Ask, Approval: may}, Finished{Call: "c3"}, answer("ask_1", protocol.Once, ""),
				AskAgain{Call: "c3", Approval: *may, Body: command("c3b"), Prior: &Outcome{Text: "half"}, Try: 1},
				AskAgain{Call: "c3", Approval: *may, Body: command("c3b"), Prior: &Outcome{Text: "half"}},
				answer("ask_2", protocol.Deny, "enough"), answer("ask_2", protocol.Once, ""),
				Prepared{Call: "c4", Outcome: &Outcome{Text: "four", Declined: true, Body: command("c4"), Todo: todo("completed")}},
				Prepared{Call: "call_1_1", Outcome: &Outcome{Text: "seven", Success: true, Body: protocol.ToolCall{Structured: json.RawMessage(`{"a":1}`)}}}},
			piece(2, words(0, "Done."), asks(1, "c3", "exec"), used(20, 5)), []Input{StreamEnded{Round: 2}},
			[]Input{Prepared{Call: "call_2_2", Outcome: &Outcome{Text: "new"}}}, answers(3, "All is done."),
			[]Input{Settled{Turn: "t1", Checks: []CheckRun{{Text: "bad"}}}})},
		"calls beside each other, resumed": {from: "calls beside each other", inputs: inOrder(begins("t2"), piece(4, asks(0, "c4", "read")), piece(1, asks(0, "c4", "read"), used(1, 1)),
			piece(2, asks(0, "c1", "read"), used(1, 1)), piece(3, asks(0, "c1", "read"), used(1, 1)), []Input{submit("x", protocol.Interrupt{}), Settled{Turn: "t2"}})},
		"too many calls": {o: Options{MaxCalls: 1}, inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "x"), asks(1, "c2", "x"), used(1, 1)), []Input{StreamEnded{Round: 1},
			Prepared{Call: "c1", Body: command("c1")}, Finished{Call: "c1", Outcome: Outcome{Text: "one", Success: true}}})},
		"an interrupt": {o: Options{Parallel: beside}, inputs: inOrder(begins("t1"), piece(1, model.TextDelta{Index: 0, Text: "Half"}, model.ReasoningDelta{Index: 1, Text: "hm"},
			asks(2, "c1", "read"), asks(3, "c2", "exec"), asks(4, "c3", "read")), []Input{Prepared{Call: "c1", Body: command("c1")}, submit("more", say("and this")),
			submit("l", queued), submit("x", protocol.Interrupt{}), submit("x", protocol.Interrupt{}), Progress{Call: "c1", Text: "late"},
			Finished{Call: "c1", Outcome: Outcome{Text: "stopped", Body: command("c1"), Changes: []history.FileChange{change}}}, Settled{Turn: "t1", Unrecorded: "x", Cut: "y"}},
			begins("t2"), answers(2, "Yes."), []Input{Settled{Turn: "t2"}})},
		"an interrupt while a call asks again": {inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec"), asks(1, "c2", "exec"), used(1, 1)), []Input{StreamEnded{Round: 1},
			Prepared{Call: "c1", Body: command("c1")}, AskAgain{Call: "c1", Approval: *may, Prior: &Outcome{Text: "half of it", Success: true}},
			submit("x", protocol.Interrupt{}), Settled{Turn: "t1"}})},
		"an interrupt before a call asks again": {inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec"), asks(1, "c2", "exec"), used(1, 1)), []Input{StreamEnded{Round: 1},
			Prepared{Call: "c1", Body: command("c1")}, submit("x", protocol.Interrupt{}), AskAgain{Call: "c1", Approval: *may}, Settled{Turn: "t1"}})},
		"an interrupt while a call is prepared": {inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec")), []Input{submit("x", protocol.Interrupt{}),
			Prepared{Call: "c1", Body: command("c1"), Verdict: Ask, Approval: may}, Settled{Turn: "t1"}})},
		"an answer that ends the turn": {inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec"), asks(1, "c2", "exec"), used(1, 1)), []Input{StreamEnded{Round: 1},
			Prepared{Call: "c1", Body: command("c1"), Verdict: Ask, Approval: may}, answer("ask_9", protocol.Once, ""), answer("ask_1", protocol.Abort, ""), Settled{Turn: "t1"}})},
		"what is said while a turn runs": {inputs: inOrder(begins("t1"), []Input{submit("a", say("and a")), submit("q", queued), submit("q2", queued), submit("u", protocol.Unqueue{}),
			submit("b", say("and b")), submit("q3", queued)}, answers(1, "First."), answers(2, "Second."), []Input{submit("n", say("next")), Settled{Turn: "t1"},
			Gathered{Turn: "n"}}, answers(3, "Third."), []Input{Settled{Turn: "n"}, Gathered{Turn: "q3"}, submit("r", replace), Settled{Turn: "q3"}, submit("u", protocol.Unqueue{}),
			Gathered{Turn: "r"}}, answers(5, "Fourth."), []Input{Settled{Turn: "r"}, submit("c", protocol.Configure{Settings: other}), submit("ti", protocol.Rename{Title: " a title "}),
			submit("ti", protocol.Rename{Title: " "}), submit("k", protocol.Kill{Process: 4})})},
		"retries": {o: Options{RequestRetries: 1, StreamRetries: 2}, inputs: inOrder(begins("t1"), []Input{StreamEnded{Round: 1, Err: refused}, Elapsed{Timer: 9}, Elapsed{Timer: 1}},
			piece(2, words(0, "Whole."), model.TextDelta{Index: 1, Text: "ha"}, model.ReasoningDelta{Index: 2, Text: "hm"}, asks(3, "c1", "exec")),
			[]Input{StreamEnded{Round: 2, Err: broken}, Prepared{Call: "c1", Outcome: &Outcome{Text: "ran", Success: true}}, Elapsed{Timer: 2}},
			piece(3, model.TextDelta{Index: 0, Text: " Who"}, model.TextDelta{Index: 0, Text: "le."}, words(0, "Whole."), asks(1, "c1", "exec"), used(1, 1)), []Input{StreamEnded{Round: 3}},
			[]Input{StreamEnded{Round: 4, Err: errors.New("no route")}, Elapsed{Timer: 3}, StreamEnded{Round: 5, Err: refused}, Settled{Turn: "t1"}},
			begins("t2"), []Input{StreamEnded{Round: 6, Err: &model.Error{Kind: model.RateLimit, RetryAfter: 90 * time.Second}}, submit("x", protocol.Interrupt{}), Settled{Turn: "t2"}},
			begins("t3"), []Input{StreamEnded{Round: 7, Err: &model.Error{Kind: model.RateLimit, RetryAfter: 10 * time.Minute}}, Settled{Turn: "t3"}},
			begins("t4"), []Input{StreamEnded{Round: 8, Err: &model.Error{Kind: model.Auth, Message: "no key", Hint: "log in"}}, Settled{Turn: "t4"}},
			begins("t5"), []Input{StreamEnded{Round: 9}, Elapsed{Timer: 5}, StreamEnded{Round: 10}, Elapsed{Timer: 6}, StreamEnded{Round: 11}, Settled{Turn: "t5"}})},
		"a compaction": {o: small, inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec"), used(91, 2)), []Input{StreamEnded{Round: 1},
			submit("more", say("and this")), Prepared{Call: "c1", Outcome: &Outcome{Text: "ran", Success: true}}}, piece(2, words(0, " one "), words(1, "two "), model.Limits{Values: map[string]string{"a": "b"}},
			used(50, 9), words(2, "late")), []Input{StreamEnded{Round: 2}, Gathered{Turn: "t1"}, Gathered{Turn: "t1", Again: 1, Items: []*model.Item{model.UserText("context")},
			Notices: []*model.Item{model.UserText("notice")}, Facts: map[string]string{"cwd": "/w"}}}, answers(3, "Done."), []Input{Settled{Turn: "t1"}, submit("k", protocol.Compact{})},
			answers(4, "sum"), []Input{Gathered{Turn: "k", Again: 1}, Settled{Turn: "k"}, submit("k2", protocol.Compact{})})},
		"a compaction that fails": {o: Options{Window: 100, StreamRetries: 1}, inputs: inOrder(begins("t1"), answers(1, "Long."), []Input{Settled{Turn: "t1"}}, begins("t2"), answers(2, "Longer."),
			[]Input{Settled{Turn: "t2"}, submit("k", protocol.Compact{}), StreamEnded{Round: 3, Err: long}, StreamEnded{Round: 4, Err: broken}, Elapsed{Timer: 1}}, piece(5, used(1, 1)),
			[]Input{StreamEnded{Round: 5}, Settled{Turn: "k"}}, begins("t3"), answers(6, "On."), []Input{Settled{Turn: "t3"}, submit("k2", protocol.Compact{}), submit("x", protocol.Interrupt{}), Settled{Turn: "k2"}})},
		"a model that refuses the length": {inputs: inOrder(begins("t1"), answers(1, "Hello."), []Input{Settled{Turn: "t1"}}, begins("t2"), []Input{StreamEnded{Round: 2, Err: long}},
			answers(3, "sum"), []Input{Gathered{Turn: "t2", Again: 1}, StreamEnded{Round: 4, Err: long}, Settled{Turn: "t2"}})},
		"a smaller window": {o: Options{Settings: protocol.Settings{Model: "m"}, Limits: func(m string) (int, int) {
			return map[string]int{"m": 1000, "other": 10}[m], 0
		}}, inputs: inOrder(begins("t1"), answers(1, "Hello."), []Input{Settled{Turn: "t1"}, submit("t2", another), Gathered{Turn: "t2"}, submit("x", protocol.Interrupt{}), Settled{Turn: "t2"}})},
		"commands of the user": {o: Options{Settings: protocol.Settings{Cwd: "/w"}}, inputs: inOrder([]Input{submit("s1", protocol.Shell{Command: " "}), submit("s2", protocol.Shell{Command: "make"}),
			Progress{Call: "shell_s2", Text: "out"}, submit("q", say("then")), ShellDone{Call: "shell_s2", Outcome: Outcome{Text: "made </result>", Success: true, Changes: []history.FileChange{change},
				Warnings: []string{"w"}}}, Settled{Turn: "s2"}, Gathered{Turn: "q"}, submit("s3", protocol.Shell{Command: "one"}), submit("s4", protocol.Shell{Command: "two"}),
			ShellDone{Call: "shell_s4", Outcome: Outcome{Text: "2"}}}, answers(1, "Hello."), []Input{Settled{Turn: "q"}, submit("s5", protocol.Shell{Command: "three"}),
			ShellDone{Call: "shell_s3", Outcome: Outcome{Text: "1", Success: true, Body: command("s3")}}, Settled{Turn: "q"}, ShellDone{Call: "shell_s5", Outcome: Outcome{Success: true}}, Settled{Turn: "s5"}})},
		"undo and rewind": {inputs: inOrder([]Input{submit("u0", protocol.Undo{}), Undone{ID: "undo_1", Text: "nobody hears it"}}, begins("t1"), []Input{submit("u1", protocol.Undo{Redo: true, DryRun: true})},
			answers(1, "One."), []Input{Settled{Turn: "t1"}, submit("u2", protocol.Undo{}), submit("t2", say("two")), Undone{ID: "undo_9"},
				Undone{ID: "undo_2", Text: "taken back", Warnings: []string{"w"}, Changes: []history.FileChange{change}, Report: protocol.UndoReport{What: "turn t1"}}, Gathered{Turn: "t2"}}, answers(2, "Two."),
			[]Input{Settled{Turn: "t2"}, submit("u3", protocol.Undo{DryRun: true}), Undone{ID: "undo_3", Text: "as a try", Report: protocol.UndoReport{DryRun: true}},
				submit("r1", protocol.Rewind{Turn: "t2", Conversation: true, Files: true}), Undone{ID: "undo_4", Text: "x", Report: protocol.UndoReport{Problem: "no"}},
				submit("r2", protocol.Rewind{Turn: "t2", Conversation: true, Files: true}), Undone{ID: "undo_5", Text: "x"}, submit("r3", protocol.Rewind{Turn: "t1", Files: true}),
				submit("sh", protocol.Shutdown{}), Undone{ID: "undo_6"}, submit("late", say("late"))})},
		"undo and rewind, resumed": {from: "undo and rewind", inputs: inOrder([]Input{submit("r", protocol.Rewind{Turn: "t1", Conversation: true})}, begins("t3"))},
		"a goal": {inputs: inOrder([]Input{submit("t1", goal), Gathered{Turn: "t1"}}, answers(1, "Done."), []Input{Checked{Call: "other"}, Checked{Call: "check_t1_1", Outcome: Outcome{Text: "it fails",
			Warnings: []string{"w"}, Changes: []history.FileChange{change}}}}, answers(2, "Now."), []Input{submit("more", say("more")), Checked{Call: "check_t1_2", Passed: true,
			Outcome: Outcome{Text: "it passes", Body: command("check")}}}, answers(3, "All."), []Input{submit("x", protocol.Interrupt{}), Checked{Call: "check_t1_3"}, Settled{Turn: "t1"}})},
		"a review": {inputs: inOrder([]Input{submit("r", protocol.Review{Base: "main"}), Spent{Agent: "s2", Usage: protocol.Usage{Input: 5}}, submit("q", say("then")), submit("r2", protocol.Review{}),
			Reviewed{Call: "review_r", Text: "bad", Result: protocol.ReviewResult{Text: "bad"}}, Settled{Turn: "r"}, submit("x", protocol.Interrupt{}), Settled{Turn: "q"},
			Reviewed{Call: "review_r2", Trouble: &protocol.Trouble{Message: "no base"}}, Settled{Turn: "r2"}, submit("r3", protocol.Review{}), submit("x", protocol.Interrupt{}),
			Reviewed{Call: "review_r3"}, Settled{Turn: "r3"}, Spent{Agent: "s2", Usage: protocol.Usage{Output: 7}}})},
		"budgets": {o: Options{Budget: Budget{Rounds: 1, Wall: time.Minute}}, inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "x"), used(1, 1)), []Input{StreamEnded{Round: 1},
			Prepared{Call: "c1", Outcome: &Outcome{Text: "ran"}}, Settled{Turn: "t1"}}, begins("t2"), []Input{Elapsed{Timer: 1}, Elapsed{Timer: 2}, Elapsed{Timer: 2}, StreamEnded{Round: 2}, Settled{Turn: "t2"}})},
		"a budget of tokens": {o: Options{Budget: Budget{Tokens: 12, Cost: 1}, Cost: func(_ string, u protocol.Usage) float64 { return float64(u.Input) / 10 }}, inputs: inOrder(begins("t1"), answers(1, "Yes."),
			[]Input{Settled{Turn: "t1"}}, begins("t2"), []Input{Settled{Turn: "t2"}})},
		"a plan": {o: planning, inputs: inOrder(begins("t1"), piece(1, model.ItemAdded{Index: 0, Item: &model.Item{Kind: model.Message}}, model.TextDelta{Index: 0, Text: "\nHere: <proposed_plan>\n1. te"},
			model.TextDelta{Index: 0, Text: "st\n</proposed_plan>\nFine?"}, words(0, "\nHere: <proposed_plan>\n1. test\n</proposed_plan>\nFine?"), words(1, "<proposed_plan>\n2.\n</proposed_plan>"), words(2, "That is all."), used(1, 1)),
			[]Input{StreamEnded{Round: 1}, Settled{Turn: "t1"}}, begins("t2"), piece(2, model.TextDelta{Index: 0, Text: "<proposed_plan>\nhalf"}), []Input{submit("x", protocol.Interrupt{}), Settled{Turn: "t2"},
				submit("c", protocol.Configure{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest}})}, begins("t3"), answers(3, "It is carried out."), []Input{Settled{Turn: "t3"}}, begins("t4"))},
		"a plan, resumed":            {from: "a plan", inputs: begins("t5")},
		"a plan that waits":          {o: planning, inputs: inOrder(begins("t1"), answers(1, "<proposed_plan>\n1.\n</proposed_plan>"), []Input{Settled{Turn: "t1"}})},
		"a plan that waits, resumed": {from: "a plan that waits", inputs: begins("t2")},
		"questions of others": {inputs: inOrder(begins("t1"), []Input{asked("", "net_1"), asked("s2", "ask_7"), asked("", "net_2"), asked("", "net_3"), Withdrawn{From: Asker{ID: "net_1"}},
			answer("ask_2", protocol.ForSession, "yes"), answer("ask_3", protocol.Void, ""), answer("ask_4", protocol.Abort, ""), asked("", "net_4"), asked("s2", "ask_8"), StreamEnded{Round: 1}, Settled{Turn: "t1"},
			submit("x", protocol.Interrupt{})})},
		"nobody to ask": {o: Options{Headless: true}, inputs: inOrder(begins("t1"), piece(1, asks(0, "c1", "exec"), used(1, 1)), []Input{StreamEnded{Round: 1}, asked("", "net_1"),
			Prepared{Call: "c1", Body: protocol.FileChange{Call: "c1"}, Verdict: Ask, Approval: may}})},
		"the end of a session": {inputs: inOrder(begins("t1"), []Input{submit("q", queued), submit("p", say("more")), asked("s2", "ask_7"), submit("e", protocol.Shutdown{}), submit("late", say("late")),
			submit("s", protocol.Shell{Command: "make"}), submit("r", protocol.Review{}), submit("u", protocol.Undo{}), submit("k", protocol.Compact{}), StreamEnded{Round: 1}, Settled{Turn: "t1", GoOn: "on"},
			submit("t2", say("none"))})},
		"hooks": {inputs: inOrder(begins("t1"), answers(1, "Done."), []Input{Settled{Turn: "t1", GoOn: "not yet", Checks: []CheckRun{{Text: "bad"}}, Changes: []history.FileChange{change}}},
			answers(2, "Now."), []Input{submit("x", protocol.Interrupt{}), Settled{Turn: "t1", GoOn: "still not"}})},
		"odd answers": {inputs: inOrder(begins("t1"), piece(1, words(0, "Searching."), model.Done{Incomplete: "pause_turn"}), []Input{StreamEnded{Round: 1}},
			piece(2, words(0, "Half"), model.Done{Incomplete: "max_output_tokens"}), []Input{StreamEnded{Round: 2}}, piece(3, words(0, " and whole."), asks(1, "", ""), model.Done{}), []Input{StreamEnded{Round: 3}},
			piece(4, model.Done{Incomplete: "max_output_tokens", Cut: []string{"write", "read"}}), []Input{StreamEnded{Round: 4}}, piece(5, asks(0, "c1", "x"), model.Done{Incomplete: "max_output_tokens", Cut: []string{"write"}}),
			[]Input{StreamEnded{Round: 5}, Prepared{Call: "c1", Outcome: &Outcome{Text: "ran"}}}, piece(6, words(0, "I will."), model.Done{Incomplete: "call_announced"}), []Input{StreamEnded{Round: 6}},
			piece(7, model.Done{Incomplete: "content_filter: safety"}), []Input{StreamEnded{Round: 7}, Settled{Turn: "t1"}}, begins("t2"), piece(8, model.Done{Incomplete: "model_context_window_exceeded"}),
			[]Input{StreamEnded{Round: 8}})},
	}
}
