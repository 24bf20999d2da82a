// Package conversation is what was said and done in a session, or by one of its
// sub-agents, and how that is drawn: items that are finished, items under way, and the
// lines that close a turn.
package conversation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
)

// Options are what a conversation asks for when it draws.
type Options struct {
	Format func() Format
	Now    func() time.Time
	// Cost writes what tokens cost; empty when that is not known.
	Cost func(protocol.Usage) string
	// Changes is the key that shows what changed, empty for none.
	Changes string
	// Lines writes all there is as finished rows: nothing stands below the stream.
	Lines bool
}

// Conversation is one conversation as it is shown: of a session, or of a sub-agent.
// Its finished rows wait until [Conversation.Take] hands them to the terminal.
type Conversation struct {
	// Composer is what the user is writing here.
	Composer composer.Composer
	// Transcript keeps the finished items.
	Transcript Transcript
	Turns      []Mark
	Queued     [][]protocol.Input
	Tokens     protocol.TokensUsed
	Diff       protocol.TurnDiff // of the last turn
	Running    bool              // a turn runs
	Since      time.Time         // when it began
	Retry      string            // what went wrong, while a request is tried again
	Proposed   bool              // this turn proposed a plan

	// Plan is the plan that the model keeps, without steps when there is none.
	Plan protocol.TodoList
	// Joining is input that joins the turn with the next request.
	Joining [][]protocol.Input

	o       Options
	entries []*entry
	done    int          // how many of them are written
	above   []style.Line // rows that wait to be written before the others
	gap     bool         // the last row written was not empty
	missed  bool         // entries went that were not written
	asked   map[protocol.CallID]protocol.ApprovalID
}

// Mark is a turn that can be gone back to.
type Mark struct {
	ID   protocol.TurnID
	Text string
	At   time.Time
}

// New returns an empty conversation.
func New(o Options) *Conversation { return &Conversation{o: o} }

// Sibling returns an empty conversation that is drawn in the same way.
func (c *Conversation) Sibling() *Conversation { return New(c.o) }

// Restart returns an empty conversation that goes on where c is on the terminal,
// with the same composer.
func (c *Conversation) Restart() *Conversation {
	c.CloseLive(protocol.Failed)
	return &Conversation{o: c.o, Composer: c.Composer, entries: c.entries, done: c.done, above: c.above, gap: c.gap}
}

// Follow shows c where before was shown: first what before has not written yet, then
// a heading, then what happened in c meanwhile.
func (c *Conversation) Follow(before *Conversation, heading string) {
	c.above = before.Take()
	c.gap = before.gap
	for _, e := range c.entries[c.done:] {
		e.lay(c.o.Format())
		e.begun = false
	}
	head := &entry{draw: func(f Format) []style.Line {
		return []style.Line{style.Line{style.S(style.Border, "── "), style.Bold(style.Heading, heading),
			style.S(style.Border, " ──")}.Cut(f.Width)}
	}}
	c.entries = order.Insert(c.entries, c.done, head)
}

// Ask tells that a question about a call is open, Answered that it is not any more.
func (c *Conversation) Ask(call protocol.CallID, id protocol.ApprovalID) {
	if call != "" {
		if c.asked == nil {
			c.asked = map[protocol.CallID]protocol.ApprovalID{}
		}
		c.asked[call] = id
	}
}

// Answered tells that a question is not open any more.
func (c *Conversation) Answered(id protocol.ApprovalID) {
	for call, x := range c.asked {
		if x == id {
			delete(c.asked, call)
			for _, e := range c.entries[c.done:] {
				if b, ok := e.item.Body.(protocol.Command); ok && b.Call == call {
					e.since = c.o.Now() // it begins to run
				}
			}
		}
	}
}

// format is how entries are drawn now.
func (c *Conversation) format() Format {
	f := c.o.Format()
	f.Now, f.Asked = c.o.Now(), func(call protocol.CallID) bool { return c.asked[call] != "" }
	return f
}

// Step is what happens at the moment, in a few words: the last thing under way, and since
// when. It is empty when nothing is.
func (c *Conversation) Step() (string, time.Time) {
	for _, e := range slices.Backward(c.entries[c.done:]) {
		if !e.open {
			continue
		}
		switch b := e.item.Body.(type) {
		case protocol.Command:
			if c.asked[b.Call] == "" {
				return "Running " + style.OneLine(b.Command), e.since
			}
		case protocol.Reasoning:
			return "Thinking", e.since
		case protocol.AgentMessage, protocol.ProposedPlan:
			return "Answering", e.since
		case protocol.SubAgent:
			return "Waiting for agents", e.since
		case protocol.FileChange:
			return "Changing files", e.since
		case protocol.ToolCall:
			verb, what := callText(b)
			return verb + " " + style.OneLine(what), e.since
		}
	}
	return "", time.Time{}
}

// Remaining reports whether the plan has steps that are not done.
func (c *Conversation) Remaining() bool {
	return slices.ContainsFunc(c.Plan.Steps, func(s protocol.Step) bool { return s.Status != "completed" })
}

// Event takes an event that is about a conversation, and reports whether it is one.
func (c *Conversation) Event(e protocol.Event) bool {
	switch b := e.Msg.(type) {
	case protocol.ItemStarted:
		c.Retry = ""
		if !c.planned(b.Item) {
			c.begin(b.Item)
		}
	case protocol.ItemDelta:
		if e, _ := c.find(b.Item); e != nil {
			c.grow(e, b.Text)
		}
	case protocol.ItemUpdated:
		if c.planned(b.Item) {
			break
		}
		if e, i := c.find(b.Item.ID); e != nil {
			c.update(e, i, b.Item)
		}
	case protocol.ItemDropped:
		if e, _ := c.find(b.Item); e != nil {
			c.drop(e)
		}
	case protocol.ItemCompleted:
		if c.planned(b.Item) {
			c.Transcript.Add(b.Item)
			break
		}
		c.complete(e.Turn, b.Item)
	case protocol.TurnStarted, protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
		c.turnEvent(e.Msg)
	case protocol.TokensUsed:
		c.Tokens = b
	case protocol.Retrying:
		c.Retry = fmt.Sprintf("retry %d/%d in %s: %s", b.Attempt, b.Max, humanize.Duration(b.Delay), style.OneLine(b.Cause))
	case protocol.TurnDiff:
		c.Diff = b
	case protocol.QueueChanged:
		c.Queued, c.Joining = b.Waiting, b.Joining
		c.giveBack(b.Taken)
	case protocol.HistoryCompacted:
		c.Write(func(f Format) []style.Line {
			return f.compaction(protocol.Compaction{Before: b.Before, After: b.After})
		})
	default:
		return false
	}
	return true
}

// planned takes a plan, which stands below the stream, not in it.
func (c *Conversation) planned(it protocol.Item) bool {
	plan, ok := it.Body.(protocol.TodoList)
	if ok = ok && !c.o.Lines; ok {
		c.Plan = plan
	}
	return ok
}

func (c *Conversation) turnEvent(msg protocol.Msg) {
	switch b := msg.(type) {
	case protocol.TurnStarted:
		c.Running, c.Since = true, c.o.Now()
		c.Retry, c.Diff, c.Plan = "", protocol.TurnDiff{}, protocol.TodoList{}
		return
	case protocol.TurnCompleted:
		c.CloseLive(protocol.Completed)
		c.notCovered()
		c.closingLine(b)
		c.Proposed = false
	case protocol.TurnFailed:
		c.CloseLive(protocol.Failed)
		c.notCovered()
		text := b.Error.Message
		if b.Error.Hint != "" {
			text += "\n" + b.Error.Hint
		}
		c.Note(style.Bad, "✗ ", text)
		c.closingLine(protocol.TurnCompleted{})
	case protocol.TurnAborted:
		c.CloseLive(protocol.Failed)
		c.notCovered()
		c.Note(style.Warn, "■ ", AbortText(b.Reason))
		c.closingLine(protocol.TurnCompleted{})
		c.giveBack(b.Undelivered)
	}
	c.Running, c.Retry, c.Joining = false, "", nil
	if !c.Remaining() {
		c.Plan = protocol.TodoList{}
	}
}

// AbortText says why a turn was ended.
func AbortText(r protocol.AbortReason) string {
	return map[protocol.AbortReason]string{protocol.AbortInterrupted: "Interrupted. Tell Kerf what to do differently.",
		protocol.AbortReplaced: "Replaced by a new request.", protocol.AbortBudget: "Stopped: the budget is used up."}[r]
}

// giveBack returns input that the model never saw to the composer.
func (c *Conversation) giveBack(lost []protocol.Input) {
	var parts []string
	for _, in := range lost {
		if in.Text != "" {
			parts = append(parts, in.Text)
		}
	}
	if len(parts) == 0 {
		return
	}
	if !c.Composer.Empty() {
		parts = append(parts, c.Composer.Text())
	}
	c.Composer.Set(strings.Join(parts, "\n"))
}

// notCovered names what an undo of the turn would not bring back.
func (c *Conversation) notCovered() {
	if len(c.Diff.NotCovered) > 0 {
		c.Note(style.Warn, "! ", c.Diff.Coverage())
	}
}

// closingLine writes the line that closes a turn, however it ended: what changed, and as far as
// they are known time and tokens. Where there is nothing to say it writes none.
func (c *Conversation) closingLine(b protocol.TurnCompleted) {
	var parts []string
	if c.Diff.Diff != "" {
		files := diffview.Parse(c.Diff.Diff)
		added, removed := diffview.Total(files)
		s := fmt.Sprintf("%s changed +%d -%d", humanize.Count(len(files), "file"), added, removed)
		if !c.Diff.Exact {
			s += " (not exact)"
		}
		if c.o.Changes != "" {
			s += " (" + c.o.Changes + ")"
		}
		if n := len(c.Diff.Unproven); n > 0 {
			s += fmt.Sprintf(" (%d unproven)", n)
		}
		parts = append(parts, s)
	}
	if s := c.Diff.Coverage(); s != "" && len(c.Diff.NotCovered) == 0 {
		parts = append(parts, s)
	}
	if c.Diff.Outside != "" {
		parts = append(parts, humanize.Count(len(diffview.Parse(c.Diff.Outside)), "file")+" changed by others")
	}
	if b.Duration > 0 {
		parts = append(parts, humanize.Duration(b.Duration))
	}
	if n := b.Usage.Total(); n > 0 {
		parts = append(parts, humanize.Tokens(n)+" tokens")
	}
	if cost := c.o.Cost(b.Usage); cost != "" {
		parts = append(parts, cost)
	}
	if len(parts) > 0 {
		text := "─ " + strings.Join(parts, " · ")
		c.Write(func(f Format) []style.Line { return style.Wrap(style.L(style.Dim, text), f.Width) })
	}
}

// maxReplayed is how many items of an earlier session are written when it is opened.
const maxReplayed = 40

// Replay takes the turns of an earlier session and writes the last of them.
func (c *Conversation) Replay(past []protocol.PastTurn) {
	total := 0
	for _, t := range past {
		for _, it := range t.Items {
			c.Transcript.Add(it)
			total++
			if u, ok := it.Body.(protocol.UserMessage); ok {
				c.Turns = append(c.Turns, Mark{t.ID, InputText(u.Input), t.Began})
			}
		}
	}
	skip := max(0, total-maxReplayed)
	if skip > 0 {
		c.Note(style.Dim, "… ", fmt.Sprintf("%d earlier items (ctrl+t shows them)", skip))
	}
	for _, t := range past {
		for _, it := range t.Items {
			if skip > 0 {
				skip--
				continue
			}
			if call, ok := it.Body.(protocol.ToolCall); ok && looks(call) && !failed(it) {
				c.look(it)
			} else if !c.planned(it) {
				c.put(&entry{item: it})
			}
		}
		if skip == 0 && t.Ended != "" && t.Ended != "completed" {
			c.Note(style.Dim, "─ ", t.Ended)
		}
	}
	if !c.Remaining() {
		c.Plan = protocol.TodoList{}
	}
}

// Ended tells the end of a command in the background, with the last of what it printed.
func (c *Conversation) Ended(x protocol.Process) {
	c.Write(func(f Format) []style.Line {
		role := style.Good
		if x.Failed {
			role = style.Bad
		}
		l := style.Line{style.S(role, "• "), style.Bold(style.Plain, "Background command ended"),
			style.S(style.Dim, fmt.Sprintf(" #%d $ ", x.ID)), style.S(style.Code, style.OneLine(x.Command)),
			style.S(role, "  "+x.Outcome), style.S(style.Dim, " after "+humanize.Duration(x.Took))}
		rows := style.Prefix(style.Wrap(l, f.Width-2), style.Span{}, style.Span{Text: "  "})
		return append(rows, f.below(f.output(x.Output, 0, true))...)
	})
}

// Words names what an undo is about by the request of its turn, where that is known, in the
// place of its id.
func (c *Conversation) Words(what string) string {
	for _, t := range c.Turns {
		rest, is := strings.CutPrefix(what, "turn "+string(t.ID))
		request := `"` + visible.OneLine(t.Text, 28) + `"`
		_, tool, call := strings.Cut(rest, " (")
		switch {
		case is && rest == "":
			return request
		case is && call && strings.HasPrefix(rest, ", call "):
			return strings.TrimSuffix(tool, ")") + " of " + request
		}
	}
	return what
}

// Undone tells what an undo or a redo did.
func (c *Conversation) Undone(r protocol.UndoReport) {
	c.Write(func(f Format) []style.Line { return f.Undone(r) })
}

// Undone draws what an undo or a redo did, or would do.
func (f Format) Undone(r protocol.UndoReport) []style.Line {
	verb := "Undid"
	switch {
	case r.Redo && r.DryRun:
		verb = "Would redo"
	case r.DryRun:
		verb = "Would undo"
	case r.Redo:
		verb = "Redid"
	}
	rows := f.head(protocol.Completed, verb, " "+r.What)
	if r.Problem != "" {
		rows = f.Note(style.Bad, "✗ ", r.Problem)
	}
	files, more := shownOf(r.Files)
	for _, x := range files {
		role := style.Dim
		if x.Outcome == "conflict" || x.Outcome == "missing" || x.Outcome == "left" {
			role = style.Bad
		}
		text := f.Path(x.Path) + "  "
		if r.DryRun && (x.Outcome == "restored" || x.Outcome == "merged") {
			text += "would be "
		}
		if text += x.Outcome; x.Removed {
			text = strings.TrimSuffix(text, x.Outcome) + "removed"
		}
		if x.Note != "" {
			text += ": " + x.Note
		}
		rows = append(rows, f.below(style.WrapText(role, text, f.Width-4))...)
	}
	if more > 0 {
		text := fmt.Sprintf("and %d more; kerf log names them", more)
		rows = append(rows, f.below(style.WrapText(style.Dim, text, f.Width-4))...)
	}
	if r.Problem == "" && r.DryRun && r.Diff != "" {
		rows = append(rows, diffview.Summary(diffview.Parse(r.Diff), f.Width)...)
	}
	return rows
}

// shownUndone bounds how many files are listed that an undo simply brought back.
const shownUndone = 12

// shownOf returns what is listed of the outcome of an undo, and how many are not: all
// files that did not just come back, and the first of the others.
func shownOf(files []protocol.UndoFile) (shown []protocol.UndoFile, more int) {
	plain := 0
	for _, x := range files {
		if x.Outcome == "restored" && x.Note == "" {
			if plain++; plain > shownUndone {
				continue
			}
		}
		shown = append(shown, x)
	}
	return shown, len(files) - len(shown)
}

// ForgetFrom drops the marks of a turn and of those after it.
func (c *Conversation) ForgetFrom(id protocol.TurnID) {
	if i := c.turn(id); i >= 0 {
		c.Turns = c.Turns[:i]
	}
}

// Before returns the turn before another one; false when that was the first.
func (c *Conversation) Before(id protocol.TurnID) (protocol.TurnID, bool) {
	if i := c.turn(id); i > 0 {
		return c.Turns[i-1].ID, true
	}
	return "", false
}

func (c *Conversation) turn(id protocol.TurnID) int {
	return slices.IndexFunc(c.Turns, func(t Mark) bool { return t.ID == id })
}

// ContextLeft says how much of the model's context window is free.
func (c *Conversation) ContextLeft() string {
	if c.Tokens.Window <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% context left", max(0, 100-100*c.Tokens.Last.Total()/c.Tokens.Window))
}
