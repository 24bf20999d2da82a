package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/front/web"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/author"
	"kerf/internal/work/changes/moment"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/changes/single"
	"kerf/internal/work/workspace"
)

// data is what the pages show: the recorded sessions and the histories of their
// workspaces.
type data struct {
	h     *host.Host
	store *sessions.Store

	used      sessions.Known
	counting  *counting
	searching *searching
	checks    checks

	mu      sync.Mutex
	ends    map[string]endAt // by session
	kept    map[protocol.SessionID]*sessions.Outline
	prompts map[asked]string
}

// asked is a turn of a session.
type asked struct{ session, turn string }

type endAt struct {
	updated time.Time
	ended   string
}

func newData(h *host.Host) *data {
	d := &data{h: h, store: h.Sessions(), ends: map[string]endAt{}, kept: map[protocol.SessionID]*sessions.Outline{},
		prompts: map[asked]string{}, counting: begin(),
		searching: beginSearching(h.Sessions())}
	d.used.Outline = d.outline
	return d
}

// close ends what is done behind the pages.
func (d *data) close() {
	d.counting.close()
	d.searching.close()
	d.checks.g.Wait()
}

// found makes an error of a store one that pages know.
func found(err error) error {
	if errors.Is(err, protocol.ErrNoSession) {
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	}
	return err
}

// Sessions is [web.Data].
func (d *data) Sessions(ctx context.Context, q web.SessionQuery) ([]protocol.SessionInfo, bool, error) {
	f := protocol.Filter{Search: q.Words, Archived: q.Archived, Cursor: q.After, Limit: q.Limit + 1}
	if q.Root != "" {
		f.Limit = 0
	}
	list, err := d.store.List(ctx, f)
	if err != nil {
		return nil, false, err
	}
	if q.Root != "" {
		list = slices.DeleteFunc(list, func(i protocol.SessionInfo) bool { return d.root(i.Cwd) != q.Root })
	}
	more := len(list) > q.Limit
	return list[:min(q.Limit, len(list))], more, nil
}

// Search is [web.Data].
func (d *data) Search(ctx context.Context, words string, limit int) (web.Found, error) {
	return d.searching.find(ctx, words, limit)
}

// Session is [web.Data].
func (d *data) Session(ctx context.Context, id string) (protocol.SessionInfo, error) {
	if id == "" {
		return protocol.SessionInfo{}, fmt.Errorf("%w: no session is named", web.ErrNotFound)
	}
	info, err := d.store.Find(ctx, id)
	return info, found(err)
}

// Outcome is [web.Data].
func (d *data) Outcome(ctx context.Context, id string) string {
	info, err := d.store.Find(ctx, id)
	if err != nil {
		return ""
	}
	d.mu.Lock()
	known, ok := d.ends[id]
	d.mu.Unlock()
	if !ok || !known.updated.Equal(info.Updated) {
		known = endAt{info.Updated, d.store.Ended(info.ID)}
		d.mu.Lock()
		d.ends[id] = known
		d.mu.Unlock()
	}
	return known.ended
}

// patience is how long a page waits for what sessions used. That of one that is not long is
// counted in less.
const patience = 100 * time.Millisecond

// Cost is [web.Data].
func (d *data) Cost(ctx context.Context, id string) (web.UsageLine, error) {
	if id == "" {
		return web.UsageLine{}, fmt.Errorf("%w: no session is named", web.ErrNotFound)
	}
	report, err := d.store.Usage(ctx, sessions.UsageOptions{Session: id, Known: &d.used,
		Soon: time.Now().Add(patience)})
	if err == nil && report.Open > 0 {
		r, err := d.Reading(ctx, id) // reads it
		if err == nil && !r.Enough {
			err = fmt.Errorf("%w: %d of %d bytes", web.ErrReading, r.Known, r.Size)
		}
		return web.UsageLine{}, err
	}
	return usageLine(report.Total), found(err)
}

// root is the workspace that a directory lies in.
func (d *data) root(dir string) string { return workspace.Find(d.h.Config.Home, dir) }

// Workspaces is [web.Data].
func (d *data) Workspaces(ctx context.Context) ([]string, error) {
	all, err := d.store.List(ctx, protocol.Filter{Agents: true})
	if err != nil {
		return nil, err
	}
	roots := []string{d.root(d.h.Config.Cwd)}
	seen := map[string]bool{}
	for _, i := range all {
		if i.Cwd == "" || seen[i.Cwd] {
			continue
		}
		seen[i.Cwd] = true
		if r := d.root(i.Cwd); !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	slices.Sort(roots[1:])
	return roots, nil
}

// reading uses the workspace of a root to look at it.
func (d *data) reading(root string, use func(changes.Reader, present.Look) error) error {
	if _, err := os.Stat(root); err != nil { // its directory is gone; the history is not
		return workspace.Read(d.h.Config.Home, root, func(r changes.Reader) error { return use(r, nowhere) })
	}
	ws, err := d.h.OpenWorkspace(host.WorkspaceOptions{Root: root, Reading: true})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(ws.Changes(), present.In(ws.Tree, ws.Base()))
}

// nowhere looks at a directory that is gone.
var nowhere = present.Nothing()

// Log is [web.Data].
func (d *data) Log(ctx context.Context, root string, q web.LogQuery) (list []web.Entry, more bool, err error) {
	f := changes.Filter{Session: q.Session, Limit: q.Limit + 1, Fits: func(e row.Entry) bool {
		return (q.Cause == "" || e.Cause == q.Cause) && (q.Before == 0 || e.Seq < q.Before)
	}}
	if q.Path != "" {
		f.Paths = []string{q.Path}
	}
	if q.Limit == 0 {
		f.Limit = 0
	}
	err = d.reading(root, func(r changes.Reader, _ present.Look) error {
		rows, err := r.Log(f)
		if q.Limit > 0 && len(rows) > q.Limit {
			rows, more = rows[:q.Limit], true
		}
		list = d.asked(ctx, entries(rows))
		return err
	})
	return list, more, err
}

// asked adds to entries what the user asked for.
func (d *data) asked(ctx context.Context, list []web.Entry) []web.Entry {
	turns := make([]asked, len(list))
	for i, e := range list {
		turns[i] = asked{e.Session, e.Turn}
	}
	found := d.prompted(ctx, turns)
	for i := range list {
		list[i].Prompt = found[turns[i]]
	}
	return list
}

// entries are rows as pages show them.
func entries(rows []row.Entry) []web.Entry {
	list := make([]web.Entry, 0, len(rows))
	for _, e := range rows {
		v := web.Entry{Seq: e.Seq, Time: e.Time, Cause: e.Cause, Certainty: e.Certainty, Tool: e.Tool, Client: e.Client,
			Session: e.Session, Turn: e.Turn, Call: e.Call, Running: e.Running,
			Undone: e.Undone, Note: e.Note, Undoes: e.Undoes, Diff: e.Diff}
		for _, c := range e.Changes {
			w := web.Change{Path: string(c.Path), Operation: c.Operation, From: string(c.From)}
			if c.ModeFrom != "" {
				w.Modes = "mode " + c.ModeFrom + " to " + c.ModeTo
			}
			v.Changes = append(v.Changes, w)
		}
		for _, p := range e.Dirs {
			v.Directories = append(v.Directories, string(p))
		}
		for _, p := range e.Gone {
			v.Removed = append(v.Removed, string(p))
		}
		for _, m := range e.Modes {
			v.Changes = append(v.Changes, web.Change{Path: string(m.Path) + "/", Operation: "modified",
				Modes: "mode " + m.From + " to " + m.To})
		}
		list = append(list, v)
	}
	return list
}

// maxPrompts bounds how many are remembered.
const maxPrompts = 50_000

// Prompt is [web.Data].
func (d *data) Prompt(ctx context.Context, session, turn string) string {
	return d.prompted(ctx, []asked{{session, turn}})[asked{session, turn}]
}

// prompted is what the user asked for in turns. Of a session whose record has to be read first
// it is what is known already.
func (d *data) prompted(ctx context.Context, turns []asked) map[asked]string {
	found, open := map[asked]string{}, map[string]map[protocol.TurnID]bool{}
	d.mu.Lock()
	for _, t := range turns {
		text, known := d.prompts[t]
		switch {
		case known:
			found[t] = text
		case t.session != "" && t.turn != "":
			if open[t.session] == nil {
				open[t.session] = map[protocol.TurnID]bool{}
			}
			open[t.session][protocol.TurnID(t.turn)] = true
		}
	}
	d.mu.Unlock()
	for session, ids := range open {
		if !d.recorded(session) {
			continue // it was removed
		}
		p := d.pagesOf(protocol.SessionInfo{ID: protocol.SessionID(session)})
		texts, err := p.Asked(ctx, ids)
		_ = p.known(err) // what is known is shown
		d.mu.Lock()
		if len(d.prompts) > maxPrompts {
			clear(d.prompts)
		}
		for id, text := range texts {
			found[asked{session, string(id)}] = text
			if text != "" { // a turn that began just now may have none yet
				d.prompts[asked{session, string(id)}] = text
			}
		}
		d.mu.Unlock()
	}
	return found
}

// recorded reports whether there is a session with this whole id.
func (d *data) recorded(id string) bool {
	if len(id) != len("00000000-0000-0000-0000-000000000000") || strings.ContainsAny(id, `/\`) {
		return false
	}
	_, err := os.Stat(d.store.DirOf(protocol.SessionID(id)))
	return err == nil
}

// Entry is [web.Data].
func (d *data) Entry(ctx context.Context, root string, seq int64) (web.Entry, error) {
	var list []web.Entry
	err := d.reading(root, func(r changes.Reader, _ present.Look) error {
		rows, err := r.Log(changes.Filter{Limit: 1, Diffs: true, Fits: func(e row.Entry) bool { return e.Seq == seq }})
		list = d.asked(ctx, entries(rows))
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: the history has no change #%d", web.ErrNotFound, seq)
	}
	if err != nil {
		return web.Entry{}, err
	}
	return list[0], nil
}

// Undo is [web.Data].
func (d *data) Undo(ctx context.Context, root string, c web.Choice, confirm func(web.Report) bool) (web.Report, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return web.Report{Redo: c.Redo, Problem: "the directory is gone, so nothing can be taken back in it"}, nil
	}
	ws, err := d.h.OpenWorkspace(host.WorkspaceOptions{Root: root, Sandbox: protocol.SandboxFull, Reading: confirm == nil})
	if err != nil {
		return web.Report{}, err
	}
	defer ws.Close()
	choice := changes.Choice{Redo: c.Redo, Session: c.Session, Turn: c.Turn, Call: c.Call, Entry: c.Entry, Paths: c.Paths,
		Unproven: c.Unproven, Conflicts: settle.Way(c.Conflicts)}
	r := ws.Changes()
	o := changes.UndoOptions{DryRun: confirm == nil}
	var planned web.Report
	if confirm != nil {
		if why := ws.Unrecordable(); why != "" {
			return web.Report{}, fmt.Errorf("nothing was written, because it could not be recorded: %s; kerf undo does it without a record", why)
		}
		o.Confirm = func(report changes.Report) (bool, error) {
			planned = reported(report)
			return confirm(planned), nil
		}
	}
	var report changes.Report
	if len(c.Edits) > 0 {
		report, err = single.Undo(ctx, r, ws.Txn, c.Entry, c.Edits, o)
	} else {
		report, err = r.Undo(ctx, ws.Txn, choice, o)
	}
	switch {
	case errors.Is(err, changes.ErrNothing):
		report.Problem = err.Error()
	case errors.Is(err, changes.ErrDeclined):
		return planned, nil
	case errors.Is(err, changes.ErrConflict) && confirm != nil: // somebody was faster; perhaps another tab
		now, err := d.Undo(ctx, root, c, nil)
		now.Stale = true
		return now, err
	case err != nil:
		return web.Report{}, err
	}
	out := reported(report)
	conflict := func(f web.FilePlan) bool { return f.Outcome == changes.Conflict }
	if c.Conflicts == "" && len(c.Edits) == 0 && slices.ContainsFunc(out.Files, conflict) {
		choice.Conflicts = settle.Merge
		both, err := r.Undo(ctx, ws.Txn, choice, changes.UndoOptions{DryRun: true})
		if err == nil {
			out.Sides = sides(r.Base, out.Files, both.Diff)
		}
	}
	return out, nil
}

// Edits is [web.Data].
func (d *data) Edits(_ context.Context, root string, seq int64) (list []web.FileEdits, err error) {
	err = d.reading(root, func(r changes.Reader, _ present.Look) error {
		files, err := single.Of(r, seq)
		for _, f := range files {
			list = append(list, web.FileEdits{Path: f.Path, Diff: f.Diff})
		}
		return err
	})
	return list, err
}

// sides are the parts of a diff that write both sides of a conflict.
func sides(base string, files []web.FilePlan, diff string) (list []web.Side) {
	for _, f := range shown.Files(diff) {
		for _, plan := range files {
			if plan.Outcome == changes.Conflict && changes.Relative(base, plan.Path) == f.Name {
				list = append(list, web.Side{Path: plan.Path, Diff: f.Section})
			}
		}
	}
	return list
}

func reported(r changes.Report) web.Report {
	out := web.Report{Redo: r.Redo, What: r.What, Problem: r.Problem, Warnings: r.Warnings, Diff: r.Diff, Whole: r.Whole()}
	for _, f := range r.Files {
		out.Files = append(out.Files, web.FilePlan{Path: f.Path, Outcome: f.Outcome, Note: f.Note, Removed: f.Removed})
	}
	for _, l := range r.Left {
		out.Left = append(out.Left, web.Left{Path: l.Path, Entry: l.Entry})
	}
	return out
}

// Blame is [web.Data].
func (d *data) Blame(ctx context.Context, root, path string) (list []web.BlameLine, err error) {
	err = d.reading(root, func(r changes.Reader, look present.Look) error {
		if img, err := look.At(path); err != nil || img == nil || img.Kind != "file" || !pathname.Inside(root, path) {
			return cmp.Or(err, fmt.Errorf("%w: %s is no file of this workspace", web.ErrNotFound, visible.Line(path)))
		}
		f, err := author.Open(path)
		if err != nil {
			return err
		}
		lines, err := workspace.Blame(d.h.Config.Home, root, r, f, nil)
		models := map[string]string{}
		for _, l := range lines {
			v := web.BlameLine{Line: l.Line, Text: l.Text, Origin: l.Origin, Seq: l.Seq, Cause: l.Cause, Tool: l.Tool,
				Client: l.Client, Session: l.Session, Turn: l.Turn, Call: l.Call, Root: cmp.Or(l.Root, root)}
			if l.Time != nil {
				v.Time = *l.Time
			}
			if _, known := models[l.Session]; !known && l.Session != "" {
				info, _ := d.store.Find(ctx, l.Session)
				models[l.Session] = info.Model
			}
			v.Model = models[l.Session]
			list = append(list, v)
		}
		return err
	})
	turns := make([]asked, len(list))
	for i, l := range list {
		turns[i] = asked{l.Session, l.Turn}
	}
	found := d.prompted(ctx, turns)
	for i := range list {
		list[i].Prompt = found[turns[i]]
	}
	return list, err
}

// Find is [web.Data].
func (d *data) Find(ctx context.Context, root, words string, limit int) ([]string, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) { // its directory is gone; the history is not
		return nil, nil
	}
	return d.h.Query().Files(ctx, root, words, limit)
}

// Moments is [web.Data].
func (d *data) Moments(ctx context.Context, id string) (string, []web.Entry, error) {
	info, err := d.Session(ctx, id)
	if err != nil {
		return "", nil, err
	}
	root := d.root(info.Cwd)
	var list []web.Entry
	err = d.reading(root, func(r changes.Reader, _ present.Look) error {
		rows, err := r.Log(changes.Filter{})
		rows = since(rows, string(info.ID), info.Created)
		slices.Reverse(rows)
		list = entries(slices.DeleteFunc(rows, func(e row.Entry) bool { return len(e.Changes) == 0 }))
		return err
	})
	return root, list, err
}

// since are those of the newest rows that were entered since a session began, the newest first.
// The clock may have been set back meanwhile: what the session itself did came after its beginning.
func since(rows []row.Entry, session string, began time.Time) []row.Entry {
	n := 0
	for i, e := range rows {
		if e.Session == session || n == i && !e.Time.Before(began) {
			n = i + 1
		}
	}
	return rows[:n]
}

// FileAt is [web.Data].
func (d *data) FileAt(_ context.Context, root, path string, seq int64) (c web.Content, err error) {
	err = d.reading(root, func(r changes.Reader, look present.Look) error {
		f, err := moment.At(r, look, path, seq)
		c = web.Content{There: f.There, Known: f.Known, Bytes: f.Data, Note: f.Note}
		return err
	})
	return c, err
}

// Usage is [web.Data].
func (d *data) Usage(ctx context.Context, days int) (web.Usage, error) {
	report, err := d.store.Usage(ctx, sessions.UsageOptions{Days: days, Now: time.Now(), Known: &d.used,
		Soon: time.Now().Add(patience)})
	if err != nil {
		return web.Usage{}, err
	}
	for _, info := range report.Unread {
		_ = d.counting.want(info.ID, d.pagesOf(info).Pages) // it stays open, and is told as that
	}
	if report.Open > len(report.Unread) {
		d.counting.all(d)
	}
	u := web.Usage{Total: usageLine(report.Total), Days: usageLines(report.Days), Models: usageLines(report.Models),
		Sessions: usageLines(report.Sessions), Open: report.Open, Of: report.Of}
	all, err := d.store.All(ctx, protocol.Filter{Agents: true})
	if err != nil {
		return web.Usage{}, err
	}
	where, roots := map[string]string{}, map[string]string{}
	for _, i := range all {
		if _, known := roots[i.Cwd]; !known {
			roots[i.Cwd] = d.root(i.Cwd)
		}
		where[string(i.ID)] = roots[i.Cwd]
	}
	sums := map[string]*web.UsageLine{}
	for _, l := range u.Sessions {
		root := where[l.Name]
		if sums[root] == nil {
			sums[root] = &web.UsageLine{Name: cmp.Or(root, "unknown")}
		}
		sum := sums[root]
		sum.Requests, sum.Usage = sum.Requests+l.Requests, sum.Usage.Add(l.Usage)
		sum.Cost, sum.Unpriced = sum.Cost+l.Cost, sum.Unpriced+l.Unpriced
	}
	for _, l := range sums {
		u.Repositories = append(u.Repositories, *l)
	}
	order.By(u.Repositories, func(a, b web.UsageLine) int {
		return cmp.Or(cmp.Compare(b.Usage.Total(), a.Usage.Total()), cmp.Compare(a.Name, b.Name))
	})
	return u, nil
}

func usageLines(list []sessions.UsageLine) []web.UsageLine {
	out := make([]web.UsageLine, 0, len(list))
	for _, l := range list {
		out = append(out, usageLine(l))
	}
	return out
}

func usageLine(l sessions.UsageLine) web.UsageLine {
	return web.UsageLine{Name: l.Name, Title: l.Title, Requests: l.Requests, Usage: l.Usage, Cost: l.Cost, Unpriced: l.Unpriced}
}
