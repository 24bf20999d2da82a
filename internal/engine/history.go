package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/author"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/workspace"
)

// historyTool is a tool of the engine that reads the ledger or takes changes back.
type historyTool struct {
	protocol.EngineTool
	run func(context.Context, *conn, json.RawMessage) tool.Result
}

const (
	noArguments = `{"type":"object","properties":{},"additionalProperties":false}`
	logLimit    = 20
)

func historyTools() []historyTool {
	make := func(name, words, schema string, readOnly bool,
		run func(context.Context, *conn, json.RawMessage) tool.Result) historyTool {
		return historyTool{protocol.EngineTool{Name: name, Description: words, Input: json.RawMessage(schema),
			ReadOnly: readOnly, Destructive: !readOnly}, run}
	}
	return []historyTool{
		make("undo", "Takes back the changes of your last call that changed something and is not undone yet. Edits that "+
			"others made to the same files since are kept.",
			noArguments, false, func(ctx context.Context, c *conn, raw json.RawMessage) tool.Result { return c.undo(ctx, raw) }),
		make("diff", "Shows what you changed, all your calls together, as a unified diff.",
			noArguments, true, func(_ context.Context, c *conn, raw json.RawMessage) tool.Result { return c.diff(raw) }),
		make("log", "Lists what was changed in the workspace, newest first: paths, tool, client and cause.",
			`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"description":"How many entries (default 20)."}},"additionalProperties":false}`,
			true, func(_ context.Context, c *conn, raw json.RawMessage) tool.Result { return c.log(raw) }),
		make("blame", "Tells of each line of a file which client and tool wrote it, or that it was not Kerf.",
			`{"type":"object","properties":{"file_path":{"type":"string","description":"The file. Relative paths start at the first root."}},"required":["file_path"],"additionalProperties":false}`,
			true, func(_ context.Context, c *conn, raw json.RawMessage) tool.Result { return c.blame(raw) }),
	}
}

// arguments decodes the arguments of a history tool, which knows no others.
func arguments(name string, raw json.RawMessage, into any) *tool.Error {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return tool.Refuse(tool.InvalidArguments, "%s: %v", name, err)
	}
	return nil
}

// undo takes back the connection's last call.
func (c *conn) undo(ctx context.Context, raw json.RawMessage) tool.Result {
	if refused := arguments("undo", raw, &struct{}{}); refused != nil {
		return tool.Fail(refused)
	}
	report := c.exec.Undo(ctx, turn.Undo{}, nil).Report
	switch {
	case report.Problem == changes.ErrNothing.Error():
		return tool.Fail(tool.Refuse(tool.NoChange, "%s", report.Problem))
	case report.Problem != "":
		return tool.Fail(tool.Refuse(tool.VersionMismatch, "%s", report.Problem))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "undone: %s", report.What)
	for _, f := range report.Files {
		fmt.Fprintf(&b, "\n%s: %s", c.relative(f.Path), f.Outcome)
		if f.Note != "" {
			fmt.Fprintf(&b, " (%s)", f.Note)
		}
	}
	return tool.Result{Success: true, Output: b.String()}
}

// diff is the net of what the connection changed.
func (c *conn) diff(raw json.RawMessage) tool.Result {
	if refused := arguments("diff", raw, &struct{}{}); refused != nil {
		return tool.Fail(refused)
	}
	d, err := changes.Reader{Ledger: c.ws.Ledger, Images: c.ws.Store, Base: c.set.Cwd}.Session(string(c.id))
	if err != nil {
		return failed(err)
	}
	return tool.Result{Success: true, Output: string(d)}
}

// ledger uses a reader of the nearest ledger from the first root upwards.
func (c *conn) ledger(use func(changes.Reader) error) error {
	root := workspace.Find(c.Home, c.set.Cwd)
	if root == c.set.Cwd || c.check != nil && c.check(root) != nil { // that one is not for this client
		return use(c.ws.Changes())
	}
	ws, err := c.Open(root, nil, "", c.check)
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(ws.Changes())
}

func (c *conn) log(raw json.RawMessage) tool.Result {
	a := struct{ Limit int }{logLimit}
	if refused := arguments("log", raw, &a); refused != nil {
		return tool.Fail(refused)
	}
	var list []row.Entry
	if err := c.ledger(func(r changes.Reader) (err error) {
		list, err = r.Log(changes.Filter{Limit: max(a.Limit, 1)})
		return err
	}); err != nil {
		return failed(err)
	}
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "#%d %s %s", e.Seq, e.Time.UTC().Format("2006-01-02T15:04:05Z"), e.Cause)
		for _, word := range []string{e.Tool, e.Client} {
			if word != "" && word != e.Cause {
				b.WriteString(" " + visible.Plain(word))
			}
		}
		if e.Undone {
			b.WriteString(" (undone)")
		}
		for _, ch := range e.Changes {
			fmt.Fprintf(&b, "\n  %s %s", ch.Operation, visible.Plain(c.relative(string(ch.Path))))
		}
		b.WriteByte('\n')
	}
	if len(list) == 0 {
		b.WriteString("nothing was changed here yet\n")
	}
	return tool.Result{Success: true, Output: b.String()}
}

func (c *conn) blame(raw json.RawMessage) tool.Result {
	var a struct {
		FilePath string `json:"file_path"`
	}
	if refused := arguments("blame", raw, &a); refused != nil {
		return tool.Fail(refused)
	}
	path, err := c.exec.Resolve(a.FilePath)
	var outside *tool.Error
	if errors.As(err, &outside) {
		return tool.Fail(outside)
	}
	if err != nil {
		return failed(err)
	}
	// The tree reads what it asks the plan about, and nothing by its path afterwards.
	real, err := c.ws.Tree.Target(path)
	if err != nil {
		return failed(err)
	}
	img, err := c.ws.Tree.Read(real, author.Largest)
	if err != nil {
		return failed(err)
	}
	if img == nil {
		return tool.Fail(tool.Refuse(tool.NotFound, "%s: there is no such file", c.relative(path)))
	}
	var list []author.Line
	if err := c.ledger(func(r changes.Reader) (err error) {
		list, err = workspace.Blame(c.Home, workspace.Find(c.Home, c.set.Cwd), r,
			author.File{Path: workspace.Real(c.set.Cwd, real), Content: img.Data}, c.check)
		return err
	}); err != nil {
		return tool.Fail(tool.Refuse(tool.NotFound, "%v", err))
	}
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s %d) %s\n", writer(l), l.Line, strings.TrimRight(l.Text, "\r\n"))
	}
	return tool.Result{Success: true, Output: b.String()}
}

// writer names who wrote a line. Tool and client stand there only where it was
// Kerf.
func writer(l author.Line) string {
	switch l.Origin {
	case "other":
		return "not Kerf"
	case "unknown":
		return "unknown"
	}
	words := []string{fmt.Sprintf("#%d", l.Seq)}
	for _, w := range []string{l.Tool, l.Client} {
		if w != "" {
			words = append(words, visible.Plain(w))
		}
	}
	return strings.Join(words, " ")
}
