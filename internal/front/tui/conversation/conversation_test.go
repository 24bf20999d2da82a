package conversation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// narrator tells a conversation what happens, and reads what it wrote.
type narrator struct{ *Conversation }

func begin() narrator {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	return narrator{New(Options{Format: func() Format { return Format{Width: 60, Cwd: "/w"} },
		Now:  func() time.Time { return now },
		Cost: func(u protocol.Usage) string { return map[bool]string{true: "$0.10"}[u.Total() > 0] }})}
}

func (c narrator) tell(msgs ...protocol.Msg) narrator {
	for _, m := range msgs {
		c.Event(protocol.Event{Turn: "t", Msg: m})
	}
	return c
}

// written are the rows that became final since the last call.
func (c narrator) written() []string {
	rows := []string{}
	for _, l := range c.Take() {
		rows = append(rows, l.Text())
	}
	return rows
}

func (c narrator) live(room int) []string {
	rows := []string{}
	for _, l := range c.LiveRows(60, room) {
		rows = append(rows, l.Text())
	}
	return rows
}

func item(id string, b protocol.Body) protocol.Item {
	return protocol.Item{ID: protocol.ItemID(id), Status: protocol.Completed, Body: b}
}

func answer(text string) protocol.Body { return protocol.AgentMessage{Text: text} }

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestStreamIsWrittenOnce: paragraphs are written when they end, and what is open is live.
func TestStreamIsWrittenOnce(t *testing.T) {
	c := begin().tell(protocol.TurnStarted{}, protocol.ItemStarted{Item: item("m", answer(""))},
		protocol.ItemDelta{Item: "m", Text: "One.\n\nTw"})
	same(t, c.written(), "• One.")
	same(t, c.live(9), "  ", "  Tw")
	c.tell(protocol.ItemDelta{Item: "m", Text: "o."},
		protocol.ItemCompleted{Item: item("m", answer("One.\n\nTwo. Three."))})
	same(t, c.written(), "  ", "  Two. Three.")
	same(t, c.live(9))
	if got := c.Transcript.LastAnswer(); got != "One.\n\nTwo. Three." {
		t.Errorf("the last answer is %q", got)
	}
}

// TestLiveItemsAreBounded: a long answer stays one item, and of a command's output only
// the end is kept.
func TestLiveItemsAreBounded(t *testing.T) {
	c := begin().tell(protocol.ItemStarted{Item: item("m", answer(""))},
		protocol.ItemStarted{Item: item("c", protocol.Command{Command: "yes"})})
	for range 60 {
		c.tell(protocol.ItemDelta{Item: "m", Text: strings.Repeat("word ", 2000)},
			protocol.ItemDelta{Item: "c", Text: strings.Repeat("y", 10_000)})
		c.Take()
	}
	if len(c.entries) != 2 {
		t.Fatalf("%d entries", len(c.entries))
	}
	if n := len(c.entries[1].output); n > maxOutput {
		t.Errorf("%d bytes of output are kept", n)
	}
}

func TestDroppedItemIsMarked(t *testing.T) {
	c := begin().tell(protocol.ItemStarted{Item: item("m", answer(""))},
		protocol.ItemDelta{Item: "m", Text: "One.\n\nTw"})
	same(t, c.written(), "• One.")
	c.tell(protocol.ItemDropped{Item: "m"})
	same(t, c.written(), "  ⤺ the stream broke; the model starts this again")
	if same(t, c.live(9)); c.done != len(c.entries) || c.Transcript.LastAnswer() != "" {
		t.Error("a dropped item is kept")
	}
}

// TestTurnEnds: a turn closes with one line, and an aborted one gives back what the model
// never saw, before what is being written.
func TestTurnEnds(t *testing.T) {
	c := begin().tell(protocol.TurnStarted{},
		protocol.TurnDiff{Diff: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", Exact: true})
	if !c.Running {
		t.Error("no turn runs")
	}
	c.tell(protocol.TurnCompleted{Usage: protocol.Usage{Input: 1500}, Duration: 65 * time.Second})
	same(t, c.written(), "─ 1 file changed +1 -1 · 1m 05s · 1.5k tokens · $0.10")
	c.Composer.Set("draft")
	c.tell(protocol.TurnStarted{}, protocol.TurnAborted{Reason: protocol.AbortBudget,
		Undelivered: []protocol.Input{{Text: "lost"}}})
	same(t, c.written(), "", "■ Stopped: the budget is used up.")
	if c.Running || c.Composer.Text() != "lost\ndraft" {
		t.Errorf("running %v, composer %q", c.Running, c.Composer.Text())
	}
}

// TestFollow shows first what the other has not written, then what happened here meanwhile.
func TestFollow(t *testing.T) {
	c := begin()
	other := narrator{c.Sibling()}
	c.tell(protocol.ItemCompleted{Item: item("1", answer("here"))})
	other.tell(protocol.ItemCompleted{Item: item("2", answer("there"))})
	other.Follow(c.Conversation, "agent x")
	same(t, other.written(), "• here", "", "── agent x ──", "", "• there")
	same(t, c.written())
}

func TestBoundDropsTheOldest(t *testing.T) {
	c := begin()
	for i := range 3000 {
		c.Note(0, "", fmt.Sprint(i))
	}
	rows := c.written()
	if len(rows) != 2*maxWaiting || !strings.Contains(rows[0], "earlier rows are not kept") ||
		rows[len(rows)-1] != "2999" {
		t.Errorf("%d rows from %q to %q", len(rows), rows[0], rows[len(rows)-1])
	}
}

// TestReplayWritesTheEnd keeps all items, writes the last ones and marks the turns.
func TestReplayWritesTheEnd(t *testing.T) {
	var past []protocol.PastTurn
	for i := range 50 {
		past = append(past, protocol.PastTurn{ID: protocol.TurnID(fmt.Sprint(i)),
			Items: []protocol.Item{item("", protocol.UserMessage{Input: []protocol.Input{{Text: fmt.Sprintf("q%d", i)}}}),
				item("", answer("a"))}})
	}
	c := begin()
	c.Replay(past)
	rows := c.written()
	if rows[0] != "… 60 earlier items (ctrl+t shows them)" || len(c.Turns) != 50 {
		t.Errorf("begins with %q, %d turns", rows[0], len(c.Turns))
	}
	if before, ok := c.Before("7"); before != "6" || !ok {
		t.Errorf("before 7 is %q", before)
	}
	if _, ok := c.Before("0"); ok {
		t.Error("there is a turn before the first")
	}
	c.ForgetFrom("7")
	if len(c.Turns) != 7 {
		t.Errorf("%d turns are left", len(c.Turns))
	}
}

func TestUndone(t *testing.T) {
	c := begin()
	c.Undone(protocol.UndoReport{What: "the last turn", DryRun: true, Diff: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
		Files: []protocol.UndoFile{{Path: "/w/f", Outcome: "restored", Note: "whole"}}})
	same(t, c.written(), "• Would undo the last turn", "  └ f  would be restored: whole", "      1 -a"+strings.Repeat(" ", 50), "      1 +b"+strings.Repeat(" ", 50))
}

// TestUndoneIsBounded: what simply came back is counted, the rest is named.
func TestUndoneIsBounded(t *testing.T) {
	c := begin()
	r := protocol.UndoReport{What: "the last turn"}
	for i := range 90 {
		r.Files = append(r.Files, protocol.UndoFile{Path: fmt.Sprintf("/w/%d.go", i), Outcome: "restored"})
	}
	r.Files = append(r.Files, protocol.UndoFile{Path: "/w/gone", Outcome: "missing"})
	c.Undone(r)
	got := strings.Join(c.written(), "\n")
	if !strings.Contains(got, "and 78 more") || !strings.Contains(got, "gone  missing") || strings.Contains(got, " 12.go") {
		t.Errorf("wrote\n%s", got)
	}
}

// What is said of a long output is what came, not what is kept of it.
func TestLinesOfALongOutputAreCounted(t *testing.T) {
	var tr Transcript
	for _, c := range []struct {
		body protocol.Command
		want string
	}{
		{protocol.Command{Output: strings.Repeat("1\n", 30)}, "… 24 more lines (ctrl+o shows all)"},
		{protocol.Command{Output: strings.Repeat("1\n", 30), Lines: 30}, "… 24 more lines (ctrl+o shows all)"},
		{protocol.Command{Output: strings.Repeat("1\n", 30), Lines: 3000}, "… 2994 more lines (ctrl+o shows those that are kept)"},
		// the transcript keeps less than came
		{protocol.Command{Output: strings.Repeat("1\n", maxItem)}, fmt.Sprintf("… %d more lines (ctrl+o shows ", maxItem-6)},
	} {
		rows := Format{Width: 80}.Item(tr.Add(item("", c.body)))
		if !slices.ContainsFunc(rows, func(l style.Line) bool { return strings.Contains(l.Text(), c.want) }) {
			t.Errorf("no %q in %d rows: %v", c.want, len(rows), rows)
		}
	}
}

func TestTranscript(t *testing.T) {
	var tr Transcript
	tr.Add(item("", protocol.UserMessage{Input: []protocol.Input{{Text: "hi"}, {ImageURL: "data:"}}}))
	tr.Add(item("", answer("Hello.")))
	tr.Add(item("", protocol.Command{Command: "ls", Output: strings.Repeat("line\n", 30)}))
	if it, ok := tr.LastShortened(Format{Width: 60}); !ok || it.Body.(protocol.Command).Command != "ls" {
		t.Errorf("the last shortened item is %v", it)
	}
	got := tr.Markdown("Title", "/w")
	for _, want := range []string{"# Kerf session Title\n", "## You\n\nhi[image] \n", "## Kerf\n\nHello.\n",
		"```text\n• Ran $ ls\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for range 100 {
		tr.Add(item("", protocol.Command{Output: strings.Repeat("x", 2*maxItem)}))
	}
	if tr.size > maxBytes || tr.dropped == 0 || len(tr.Rows(Format{Width: 60})) == 0 {
		t.Errorf("%d bytes are kept, %d items dropped", tr.size, tr.dropped)
	}
}
