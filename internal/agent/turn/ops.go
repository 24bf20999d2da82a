package turn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// configure changes the settings for turns to come.
func (c *Core) configure(s Submit, op protocol.Configure) {
	set := c.settings.With(op.Settings)
	fault := set.Fault()
	if fault == "" && c.o.Refuse != nil {
		fault = c.o.Refuse(set)
	}
	if fault != "" {
		c.reply(s.ID, protocol.Warning{Message: fault})
		return
	}
	if cwd := op.Settings.Cwd; cwd != "" && cwd != set.Cwd {
		c.reply(s.ID, protocol.Warning{Message: "a session cannot change its working directory; open another session in " +
			cwd})
	}
	c.settings = set
	c.reply(s.ID, protocol.SettingsChanged{Settings: set})
}

func (c *Core) rename(s Submit, op protocol.Rename) {
	title := strings.TrimSpace(op.Title)
	if title == "" {
		c.reply(s.ID, protocol.Warning{Message: "the title is empty; give it a word"})
		return
	}
	c.record(history.EventRecord{What: history.Renamed, Message: title})
	c.reply(s.ID, protocol.TitleChanged{Title: title})
}

// tellQueue tells which input waits.
func (c *Core) tellQueue(submission string) {
	m := protocol.QueueChanged{Waiting: inputsOf(c.queue)}
	if c.turn != nil {
		m.Joining = inputsOf(c.turn.pending)
	}
	c.reply(submission, m)
}

func inputsOf(list []Submit) [][]protocol.Input {
	out := make([][]protocol.Input, len(list))
	for i, s := range list {
		out[i] = s.Op.(protocol.UserInput).Items
	}
	return out
}

// unqueue gives back the input that waits and was not recorded.
func unqueue(c *Core, submission string) {
	var taken []protocol.Input
	if c.turn != nil {
		taken = slices.Concat(inputsOf(c.turn.pending)...)
		c.turn.pending = nil
	}
	taken = append(taken, slices.Concat(inputsOf(c.queue)...)...)
	c.queue = nil
	c.reply(submission, protocol.QueueChanged{Taken: taken})
}

// chore is an undo under way.
type chore struct {
	submission string
	id         string          // of the effect
	rewind     protocol.TurnID // the conversation goes back to it afterwards
}

// undoOp takes changes back. It does so between turns only, because files must not
// change under a running turn.
func (c *Core) undoOp(s Submit, op protocol.Undo) {
	switch {
	case c.closing:
	case c.turn != nil || c.chore != nil:
		c.reply(s.ID, protocol.Undone{Report: protocol.UndoReport{Redo: op.Redo, DryRun: op.DryRun,
			Problem: "a turn is running; interrupt it or wait for its end, then undo"}})
	default:
		c.undo(Undo{Op: op}, chore{submission: s.ID})
	}
}

func (c *Core) undo(e Undo, k chore) {
	c.chores++
	k.id = "undo_" + strconv.Itoa(c.chores)
	e.ID = k.id
	c.chore = &k
	c.do(e)
}

func (c *Core) undone(in Undone) {
	k := c.chore
	if k == nil || in.ID != k.id {
		return
	}
	c.chore = nil
	for _, ch := range in.Changes {
		c.record(ch)
	}
	if k.rewind != "" && in.Report.Problem == "" {
		c.rewindTo(c.markOf(k.rewind))
		in.Text = ""
	}
	if in.Text != "" && c.told && !in.Report.DryRun {
		c.mark(in.Text)
	}
	for _, w := range in.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	c.reply(k.submission, protocol.Undone{Report: in.Report})
	c.startNext(ending{})
	c.endIfIdle()
}

// rewindOp goes back to just before a turn.
func (c *Core) rewindOp(s Submit, op protocol.Rewind) {
	problem := func(format string, args ...any) {
		c.reply(s.ID, protocol.Undone{Report: protocol.UndoReport{Problem: fmt.Sprintf(format, args...)}})
	}
	mark, at := c.markOf(op.Turn), slices.Index(c.order, op.Turn)
	switch {
	case c.closing:
	case c.turn != nil || c.chore != nil:
		problem("a turn is running; interrupt it or wait for its end, then rewind")
	case !op.Conversation && !op.Files:
		problem("nothing to rewind is named; give the conversation, the files, or both")
	case at < 0:
		problem("there is no turn %s in this session", op.Turn)
	case op.Conversation && mark < 0:
		problem("the conversation cannot go back to before turn %s: it was compacted since, or the turn is not part of "+
			"it; fork the session instead", op.Turn)
	case !op.Files:
		c.rewindTo(mark)
		c.reply(s.ID, protocol.Undone{Report: protocol.UndoReport{What: "the conversation since turn " + string(op.Turn)}})
	default:
		turns := slices.Clone(c.order[at:])
		slices.Reverse(turns)
		k := chore{submission: s.ID}
		if op.Conversation {
			k.rewind = op.Turn
		}
		c.undo(Undo{Turns: slices.Compact(turns)}, k)
	}
}

// rewindTo cuts the history at a mark.
func (c *Core) rewindTo(mark int) {
	id := c.marks[mark].Turn
	c.record(history.EventRecord{Turn: id, What: history.Rewound})
	c.cutTo(mark)
	c.do(Forget{Since: id, Turns: slices.Clone(c.order[max(0, slices.Index(c.order, id)):])})
}
