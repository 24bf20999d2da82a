package executor

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"kerf/internal/agent/executor/undoreport"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/workspace"
)

// undoOp takes changes of this session back, or brings them back, as op says. A
// report with a Problem means that nothing was done. The model is told with the next turn.
func (h *Executor) undoOp(ctx context.Context, op protocol.Undo, ask Ask) (protocol.UndoReport, committed) {
	c, t, id, stopped := h.choice(op), protocol.TurnID(""), protocol.CallID(""), false
	parts := undoreport.Parts(op, h.real)
	if !op.DryRun && len(parts) == 0 {
		if c.Unproven, stopped = h.askUnseen(ctx, c, ask); stopped {
			return undoreport.Stopped, committed{}
		}
	}
	if len(parts) > 0 {
		// The edits taken back belong to the turn that made them, so that an undo of
		// that turn takes all of it; the call is one of its own.
		t, id = op.Turn, protocol.CallID("undo_"+strings.ToLower(rand.Text()[:10]))
	}
	report, done := h.takeBackOf(ctx, c, parts, op.DryRun, t, id)
	if report.Problem == "" && !op.DryRun {
		h.tellLater(report)
	}
	return report, done
}

// rewind takes back what this session did to files in a turn and after it.
func (h *Executor) rewind(ctx context.Context, t protocol.TurnID, ask Ask) (protocol.UndoReport, committed) {
	c := changes.Choice{Session: h.o.Origin.Session, Turn: string(t), Later: true}
	var stopped bool
	if c.Unproven, stopped = h.askUnseen(ctx, c, ask); stopped {
		return undoreport.Stopped, committed{}
	}
	report, done := h.takeBack(ctx, c, false, "", "")
	if report.Problem == "" {
		h.tellLater(report)
	}
	return report, done
}

// Ask puts a question to the user; nil has nobody to ask.
type Ask func(context.Context, protocol.Approval) turn.Reply

// askUnseen asks, once and naming the files, whether an undo takes along what nobody
// saw being changed; stopped says that the undo is not wanted at all. Where there is
// nobody to ask, the answer is no.
func (h *Executor) askUnseen(ctx context.Context, c changes.Choice, ask Ask) (take, stopped bool) {
	r, look := h.reader(), present.In(h.o.Work.Tree, h.o.Base)
	seen, err := r.Plan(c, look)
	if ask == nil || err != nil || len(seen.Left) == 0 {
		return false, false
	}
	c.Unproven = true
	all, err := r.Plan(c, look)
	if err != nil {
		return false, false
	}
	var names []string
	left := map[string]bool{}
	for _, l := range seen.Left {
		left[l.Path] = true
		names = append(names, h.files.Relative(l.Path))
	}
	all.Set = slices.DeleteFunc(all.Set, func(c delta.Change) bool { return !left[c.Path] })
	section, err := r.Diff(all)
	if err != nil {
		return false, false
	}
	reply := ask(ctx, protocol.Approval{
		Reason: "nobody saw who changed " + strings.Join(names, ", ") + "; take these changes back, too?",
		Change: &protocol.ChangeApproval{Changes: h.files.PathChanges(all.Set), Diff: string(section), Unseen: true}})
	return reply.Answer.Decision.Allows(), reply.Answer.Decision == protocol.Abort
}

func (h *Executor) choice(op protocol.Undo) changes.Choice {
	c := changes.Choice{Redo: op.Redo, Session: h.o.Origin.Session, Turn: string(op.Turn), Call: string(op.Call),
		Conflicts: undoreport.Way(op)}
	if h.o.Parent != nil {
		c.Session, _, c.Call = h.record.rooted(c.Session, "", c.Call)
		c.Turn = "" // the ledger knows the parent's
	}
	if c.Session == "" || h.o.Parent != nil {
		c.Client = h.o.Origin.Client
	}
	for _, p := range op.Paths {
		c.Paths = append(c.Paths, h.real(p))
	}
	return c
}

// reader reads the ledger of the workspace.
func (h *Executor) reader() changes.Reader {
	return changes.Reader{Ledger: h.o.Work.Ledger, Images: h.o.Work.Store, Base: h.o.Base,
		Elsewhere: workspace.InGit()}
}

// real is the path of a file as the ledger names it.
func (h *Executor) real(path string) string {
	if abs, err := h.o.Tree.Resolve(path); err == nil {
		return h.files.Real(abs)
	}
	return path
}

// takeBack plans an undo and carries it out.
func (h *Executor) takeBack(ctx context.Context, c changes.Choice, dry bool, t protocol.TurnID,
	id protocol.CallID) (protocol.UndoReport, committed) {
	return h.takeBackOf(ctx, c, nil, dry, t, id)
}

// takeBackOf is takeBack, narrowed to single edits if there are any. What it does counts
// for no turn.
func (h *Executor) takeBackOf(ctx context.Context, c changes.Choice, edits map[string]diff.Part, dry bool,
	t protocol.TurnID, id protocol.CallID) (protocol.UndoReport, committed) {
	report := protocol.UndoReport{Redo: c.Redo, DryRun: dry}
	r := h.reader()
	var plan *changes.Plan
	var err error
	if len(edits) > 0 {
		plan, err = r.PlanEdits(c, edits, present.In(h.o.Work.Tree, h.o.Base))
	} else {
		plan, err = r.Plan(c, present.In(h.o.Work.Tree, h.o.Base))
	}
	if err == nil {
		report, err = undoreport.Of(r, plan)
		report.DryRun = dry
	}
	if err != nil {
		report.Problem = err.Error()
		return report, committed{}
	}
	if dry || report.Problem != "" {
		return report, committed{set: plan.Set}
	}
	origin := h.record.origin(RunOptions{Turn: t, Tool: "undo"}, id)
	out, err := plan.Commit(ctx, h.o.Work, origin)
	done := h.record.wrote(id, ledger.CauseTool, out.Committed, out.Exact, out.Entry, "")
	done.strays = out.Strays()
	for _, ch := range out.Committed {
		h.record.roots.Note(ch.Path, ch.Post)
		h.files.Forget(ch.Path) // the model has not seen this state
	}
	if err != nil {
		report.Problem = err.Error()
	}
	return report, done
}

// judgeUndo decides about an undo that the model proposes, as about any change; a
// user who is asked sees what it would do.
func (h *Executor) judgeUndo(p *turn.Prepared, c tool.Call, a tool.Undo, rules policy.Rules) {
	report, planned := h.takeBack(context.Background(), h.undoChoice(a), true, "", c.ID)
	body := protocol.FileChange{Call: c.ID, Changes: undoreport.Changes(report)}
	p.Body = body
	if report.Problem != "" {
		body.Error = tool.Fail(undoreport.Refusal(report)).Text()
		p.Outcome = &turn.Outcome{Text: body.Error, Body: body}
		return
	}
	switch j := rules.Change(planned.set.Paths(), h.files.ControlFiles(planned.set)); j.Verdict {
	case policy.Refuse:
		p.Outcome = &turn.Outcome{Text: tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason)).Text(), Declined: true,
			Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = &protocol.Approval{Reason: j.Reason,
			Change: &protocol.ChangeApproval{Changes: body.Changes, Diff: report.Diff}}
	}
}

// undoChoice is what the model means: without names, the last call.
func (h *Executor) undoChoice(a tool.Undo) changes.Choice {
	c := h.choice(protocol.Undo{Turn: protocol.TurnID(a.Turn), Call: protocol.CallID(a.Call), Redo: a.Redo})
	c.ByCall = true
	return c
}

// undo carries out the model's own undo.
func (h *Executor) undo(ctx context.Context, id protocol.CallID, a tool.Undo, m RunOptions) turn.Outcome {
	report, done := h.takeBack(ctx, h.undoChoice(a), false, m.Turn, id)
	if len(done.records) > 0 {
		h.record.keepChange(done.set, done.counts)
	}
	var r tool.Result
	if report.Problem != "" {
		r = tool.Fail(undoreport.Refusal(report))
	} else {
		r = tool.Result{Success: true, Output: undoreport.Text(report, h.files.Relative)}
	}
	r.Warnings = tool.Warn(strayCode, done.strays)
	o := turn.Outcome{Text: r.Text(), Success: r.Error == nil, Changes: done.records, Warnings: done.strays}
	body := protocol.FileChange{Call: id, Changes: h.files.Committed(done.set, done.records), Diff: done.diff}
	if r.Error != nil {
		body.Error = o.Text
	}
	o.Body = h.withTexts(body, done.set)
	return o
}

// tellLater keeps what the user did for the model, which is told before its next
// request.
func (h *Executor) tellLater(r protocol.UndoReport) {
	text := undoreport.ForModel(r, h.files.Relative)
	if text == "" {
		return
	}
	h.mu.Lock()
	h.notes = append(h.notes, text)
	h.mu.Unlock()
}

// takeNotes returns what the model is to be told of changes that were undone, once.
func (h *Executor) takeNotes() []*model.Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	var items []*model.Item
	for _, n := range h.notes {
		items = append(items, &model.Item{Kind: model.Message, Role: "developer", Content: []model.Part{{Text: n}}})
	}
	h.notes = nil
	return items
}

// Settle finds out what the turn changed.
func (h *Executor) Settle(ctx context.Context, e turn.Settle) turn.Settled {
	h.record.strays()
	h.record.markTurn(e.Turn)
	s := turn.Settled{Turn: e.Turn, Diff: h.record.turnDiff(ctx), Changes: h.record.takeMerged(),
		Unrecorded: h.o.Unrecorded.Take()}
	if running, _ := h.commands.Processes(); s.Diff != nil {
		s.Diff.Running = len(running) > 0
	}
	return s
}

// Undo takes back one call or turn, or all turns since the oldest of e.Turns. An
// undo that began is finished: half of it would help nobody. Ask may be nil.
func (h *Executor) Undo(ctx context.Context, e turn.Undo, ask Ask) turn.Undone {
	in, done := turn.Undone{ID: e.ID}, committed{}
	ctx = context.WithoutCancel(ctx)
	if n := len(e.Turns); n > 0 {
		in.Report, done = h.rewind(ctx, e.Turns[n-1], ask)
		if strings.HasPrefix(in.Report.Problem, "nothing to undo") {
			in.Report.Problem = "" // the files are as they were; the conversation may still go back
		}
	} else {
		in.Report, done = h.undoOp(ctx, e.Op, ask)
	}
	in.Changes, in.Warnings = done.records, done.strays
	return in
}
