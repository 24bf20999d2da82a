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
)

// Options are what a conversation asks for when it draws.
type Options struct {
	Format func() Format
	Now    func() time.Time
	// Cost writes what tokens cost; empty when that is not known.
	Cost func(protocol.Usage) string
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

	o      Options
	live   []*liveItem
	rows   []style.Line // finished rows that wait to be written
	gap    bool         // the last row written was not empty
	looked bool         // the last item was a call that only looked
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

// Write adds finished rows, apart from what is there by an empty row.
func (c *Conversation) Write(rows ...style.Line) {
	if len(rows) == 0 {
		return
	}
	if c.gap {
		c.rows = append(c.rows, nil)
	}
	c.rows = append(c.rows, rows...)
	c.gap, c.looked = true, false
}

// Note writes a text with a mark before it.
func (c *Conversation) Note(role style.Role, mark, text string) {
	c.Write(c.o.Format().Note(role, mark, text)...)
}

// Take returns the finished rows that were not taken yet.
func (c *Conversation) Take() []style.Line {
	rows := c.rows
	c.rows = nil
	return rows
}

// Blank adds n empty rows.
func (c *Conversation) Blank(n int) {
	c.rows = append(c.rows, make([]style.Line, n)...)
	c.gap = false
}

// Resize draws what is under way for the width that Format tells now.
func (c *Conversation) Resize() {
	for _, l := range c.live {
		l.resize(c.o.Format().Width)
	}
}

// maxWaiting bounds the finished rows of a conversation that nobody looks at.
const maxWaiting = 2000

// Bound drops the oldest finished rows when too many wait.
func (c *Conversation) Bound() {
	if n := len(c.rows); n > maxWaiting+maxWaiting/4 {
		note := style.L(style.Dim, "… earlier rows are not kept here (ctrl+t shows them)")
		c.rows = append([]style.Line{note}, c.rows[n-maxWaiting:]...)
	}
}

// Restart returns an empty conversation that goes on where c is on the terminal,
// with the same composer.
func (c *Conversation) Restart() *Conversation {
	return &Conversation{o: c.o, Composer: c.Composer, rows: c.rows, gap: c.gap}
}

// Follow shows c where before was shown: first what before has not written yet, then
// a heading, then what happened in c meanwhile.
func (c *Conversation) Follow(before *Conversation, heading string) {
	c.Resize()
	missed := c.rows
	c.rows, c.gap = before.Take(), before.gap
	width := c.o.Format().Width
	c.Write(style.Line{style.S(style.Border, "── "), style.Bold(style.Heading, heading),
		style.S(style.Border, " ──")}.Cut(width))
	if len(missed) > 0 && len(missed[0]) > 0 {
		c.rows = append(c.rows, nil)
	}
	for _, l := range missed {
		c.rows = append(c.rows, style.Wrap(l, width)...)
	}
}

// Event takes an event that is about a conversation, and reports whether it is one.
func (c *Conversation) Event(e protocol.Event) bool {
	switch b := e.Msg.(type) {
	case protocol.ItemStarted:
		c.Retry = ""
		c.begin(b.Item)
	case protocol.ItemDelta:
		if l := c.find(b.Item); l != nil {
			c.grow(l, b.Text)
		}
	case protocol.ItemUpdated:
		if l := c.find(b.Item.ID); l != nil {
			c.update(l, b.Item)
		}
	case protocol.ItemDropped:
		c.drop(b.Item)
	case protocol.ItemCompleted:
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
		c.Queued = b.Waiting
	case protocol.HistoryCompacted:
		c.Write(c.o.Format().compaction(protocol.Compaction{Before: b.Before, After: b.After})...)
	default:
		return false
	}
	return true
}

func (c *Conversation) turnEvent(msg protocol.Msg) {
	switch b := msg.(type) {
	case protocol.TurnStarted:
		c.Running, c.Since = true, c.o.Now()
		c.Retry, c.Diff = "", protocol.TurnDiff{}
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
	case protocol.TurnAborted:
		c.CloseLive(protocol.Failed)
		c.notCovered()
		c.Note(style.Warn, "■ ", AbortText(b.Reason))
		c.giveBack(b.Undelivered)
	}
	c.Running, c.Retry = false, ""
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

// closingLine writes the line that closes a turn: what changed, time, tokens.
func (c *Conversation) closingLine(b protocol.TurnCompleted) {
	var parts []string
	if c.Diff.Diff != "" {
		files := diffview.Parse(c.Diff.Diff)
		added, removed := diffview.Total(files)
		s := fmt.Sprintf("%s changed +%d -%d", humanize.Count(len(files), "file"), added, removed)
		if !c.Diff.Exact {
			s += " (not exact)"
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
		c.Write(style.Wrap(style.L(style.Dim, "─ "+strings.Join(parts, " · ")), c.o.Format().Width)...)
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
		c.Write(style.L(style.Dim, fmt.Sprintf("… %d earlier items (ctrl+t shows them)", skip)))
	}
	for _, t := range past {
		for _, it := range t.Items {
			if skip > 0 {
				skip--
				continue
			}
			c.Write(c.o.Format().Item(it)...)
		}
		if skip == 0 && t.Ended != "" && t.Ended != "completed" {
			c.Write(style.L(style.Dim, "─ "+t.Ended))
		}
	}
}

// Undone tells what an undo or a redo did.
func (c *Conversation) Undone(r protocol.UndoReport) {
	f := c.o.Format()
	verb := "Undid"
	switch {
	case r.Redo && r.DryRun:
		verb = "Would redo"
	case r.DryRun:
		verb = "Would undo"
	case r.Redo:
		verb = "Redid"
	}
	if r.Problem != "" {
		c.Note(style.Bad, "✗ ", r.Problem)
	} else {
		c.Write(f.head(protocol.Completed, verb, " "+r.What)...)
	}
	files, more := shownOf(r.Files)
	for _, x := range files {
		role := style.Dim
		if x.Outcome == "conflict" || x.Outcome == "missing" || x.Outcome == "left" {
			role = style.Bad
		}
		text := f.Path(x.Path) + "  " + x.Outcome
		if x.Note != "" {
			text += ": " + x.Note
		}
		c.rows = append(c.rows, f.said(style.WrapText(role, text, f.Width-4), style.S(style.Border, "  └ "))...)
	}
	if more > 0 {
		text := fmt.Sprintf("and %d more; kerf log names them", more)
		c.rows = append(c.rows, f.said(style.WrapText(style.Dim, text, f.Width-4), style.S(style.Border, "  └ "))...)
	}
	if r.Problem == "" && r.DryRun && r.Diff != "" {
		c.rows = append(c.rows, diffview.Summary(diffview.Parse(r.Diff), f.Width)...)
	}
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

// ProcessOutput is the output of a background process, as far as it is kept.
func (c *Conversation) ProcessOutput(id int) string {
	for _, l := range c.live {
		if b, ok := l.item.Body.(protocol.Command); ok && b.Process == id {
			return l.output
		}
	}
	for _, it := range slices.Backward(c.Transcript.items) {
		if b, ok := it.Body.(protocol.Command); ok && b.Process == id {
			return b.Output
		}
	}
	return ""
}

// ContextLeft says how much of the model's context window is free.
func (c *Conversation) ContextLeft() string {
	if c.Tokens.Window <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% context left", max(0, 100-100*c.Tokens.Last.Total()/c.Tokens.Window))
}
