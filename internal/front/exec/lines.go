package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// lines prints events as JSON, one object a line, each written at once. The
// shapes are those of doc/exec-events.md.
type lines struct {
	w      io.Writer
	failed error
	ids    map[protocol.ItemID]string
	next   int
	// open items were started and not completed, in that order.
	pending []*entry
	todo    *entry
	thread  protocol.SessionID
	review  bool // the last message is the review in words
	undo    *coverage
}

// entry is an item as it was last printed.
type entry struct {
	item protocol.ItemID
	id   string
	last item
}

func newLines(w io.Writer) *lines { return &lines{w: w, ids: map[protocol.ItemID]string{}} }

// line is one line of output; only the fields of its type are set.
type line struct {
	Type     string          `json:"type"`
	ThreadID string          `json:"thread_id,omitempty"`
	Message  *string         `json:"message,omitempty"`
	Usage    *protocol.Usage `json:"usage,omitempty"`
	Error    *errorText      `json:"error,omitempty"`
	Undo     *coverage       `json:"undo,omitempty"`
	Item     item            `json:"item,omitempty"`
}

// coverage is what an undo of the turn covers.
type coverage struct {
	Everything bool     `json:"everything"`
	NotCovered []string `json:"not_covered"`
}

type errorText struct {
	Message string `json:"message"`
}

// item is the payload of an item line: one of the types below.
type item interface{ named(id string) item }

type head struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

type textItem struct {
	head
	Text string `json:"text"`
}

type searchItem struct {
	head
	Query string `json:"query"`
}

func (i searchItem) named(id string) item { i.ID = id; return i }

type errorItem struct {
	head
	Message string `json:"message"`
}

type commandItem struct {
	head
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Exit    *int   `json:"exit_code"`
	Status  string `json:"status"`
	Check   bool   `json:"check,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

type fileItem struct {
	head
	Changes []fileEntry `json:"changes"`
	Status  string      `json:"status"`
}

type fileEntry struct {
	Path pathname.Path       `json:"path"`
	Kind protocol.ChangeKind `json:"kind"`
	// ControlFile marks a file that agents, editors or build machines obey.
	ControlFile bool `json:"steers,omitempty"`
	// Certainty is what is known of who made the change, once it is made.
	Certainty protocol.Certainty `json:"certainty,omitempty"`
}

type toolItem struct {
	head
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"arguments"`
	Result *toolResult     `json:"result"`
	Error  *errorText      `json:"error"`
	Status string          `json:"status"`
}

type toolResult struct {
	Content    []toolContent   `json:"content"`
	Structured json.RawMessage `json:"structured_content"`
}

// toolContent is a text, or a picture in base64.
type toolContent struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	Data string  `json:"data,omitempty"`
	MIME string  `json:"mimeType,omitempty"`
}

type todoItem struct {
	head
	Items []todoEntry `json:"items"`
}

type todoEntry struct {
	Text      string `json:"text"`
	Completed bool   `json:"completed"`
}

func (i textItem) named(id string) item    { i.ID = id; return i }
func (i errorItem) named(id string) item   { i.ID = id; return i }
func (i commandItem) named(id string) item { i.ID = id; return i }
func (i fileItem) named(id string) item    { i.ID = id; return i }
func (i toolItem) named(id string) item    { i.ID = id; return i }
func (i todoItem) named(id string) item    { i.ID = id; return i }

func (l *lines) broken() error { return l.failed }

func (l *lines) print(x line) {
	if l.failed != nil {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		panic(fmt.Sprintf("exec: a line that is not JSON: %v", err))
	}
	_, l.failed = l.w.Write(ascii(b.Bytes()))
}

// ascii escapes what JSON may hold as it is but a terminal should not get: DEL,
// C1 controls, bidi and other invisible characters. The value stays the same.
func ascii(b []byte) []byte {
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

func hidden(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) && r != 0x200d }

func (l *lines) open(id protocol.SessionID, _ []protocol.Input) {
	l.thread = id
	l.print(line{Type: "thread.started", ThreadID: string(id)})
}

func (l *lines) show(m protocol.Msg) {
	switch m := m.(type) {
	case protocol.TurnStarted:
		l.print(line{Type: "turn.started"})
	case protocol.ItemStarted:
		l.started(m.Item)
	case protocol.ItemUpdated:
		l.updated(m.Item)
	case protocol.ItemCompleted:
		l.completed(m.Item)
	case protocol.ItemDropped:
		l.dropped(m.Item)
	case protocol.Retrying:
		l.error(fmt.Sprintf("Reconnecting... %d/%d (%s)", m.Attempt, m.Max, visible.ClipRunes(m.Cause, 4000)))
	case protocol.TurnDiff:
		l.undo = nil
		if m.Coverage() != "" {
			l.undo = &coverage{Everything: len(m.NotCovered) == 0 && !m.Running, NotCovered: append([]string{}, m.NotCovered...)}
		}
	case protocol.Warning:
		l.whole("", errorItem{head{Type: "error"}, m.Message})
	}
}

func (l *lines) error(message string) { l.print(line{Type: "error", Message: &message}) }

// started prints items that take time; text is printed once it is whole.
func (l *lines) started(i protocol.Item) {
	if t, ok := i.Body.(protocol.TodoList); ok {
		l.plan(t)
		return
	}
	if l.find(i.ID) != nil {
		return
	}
	if p := l.payload(i, "in_progress"); takesTime(p) {
		l.begin(i.ID, p)
	}
}

func (l *lines) begin(item protocol.ItemID, p item) *entry {
	e := &entry{item: item, id: l.id(item)}
	e.last = p.named(e.id)
	l.pending = append(l.pending, e)
	l.print(line{Type: "item.started", Item: e.last})
	return e
}

// updated only tells of plans: output grows in the completed item.
func (l *lines) updated(i protocol.Item) {
	if t, ok := i.Body.(protocol.TodoList); ok {
		l.plan(t)
	} else if e := l.find(i.ID); e != nil {
		e.last = l.payload(i, "in_progress").named(e.id)
	}
}

func (l *lines) completed(i protocol.Item) {
	if t, ok := i.Body.(protocol.TodoList); ok {
		l.plan(t)
		return
	}
	p := l.payload(i, "")
	if _, ok := p.(reviewItem); ok {
		l.review = true
	}
	if t, ok := p.(textItem); p == nil || ok && t.Text == "" {
		return
	}
	if !takesTime(p) {
		l.whole(i.ID, p)
		return
	}
	e := l.find(i.ID)
	if e == nil {
		e = l.begin(i.ID, l.payload(unfinished(i), "in_progress"))
	}
	l.finish(e, p)
	if list := changedBy(i); len(list) > 0 {
		l.whole("", filePayload(list, string(protocol.Completed)))
	}
}

// changedBy are the files that a command changed, or one that a call waited for.
func changedBy(i protocol.Item) []protocol.PathChange {
	switch b := i.Body.(type) {
	case protocol.Command:
		return b.Changes
	case protocol.ToolCall:
		return b.Changes
	}
	return nil
}

func filePayload(list []protocol.PathChange, status string) fileItem {
	p := fileItem{head{Type: "file_change"}, []fileEntry{}, status}
	for _, c := range list {
		p.Changes = append(p.Changes, fileEntry{pathname.Path(c.Path), c.Kind, c.ControlFile, c.Certainty})
	}
	return p
}

// unfinished is i as it was before anything came of it.
func unfinished(i protocol.Item) protocol.Item {
	switch b := i.Body.(type) {
	case protocol.Command:
		b.Output, b.ExitCode = "", nil
		i.Body = b
	case protocol.SubAgent:
		b.Agents, b.Error = nil, ""
		i.Body = b
	}
	return i
}

// whole prints an item that is only ever completed.
func (l *lines) whole(item protocol.ItemID, p item) {
	l.print(line{Type: "item.completed", Item: p.named(l.id(item))})
}

func (l *lines) finish(e *entry, p item) {
	l.pending = slices.DeleteFunc(l.pending, func(x *entry) bool { return x == e })
	l.print(line{Type: "item.completed", Item: p.named(e.id)})
}

// dropped closes an item that the broken stream withdrew; what is said again
// is a new item.
func (l *lines) dropped(item protocol.ItemID) {
	if e := l.find(item); e != nil {
		l.finish(e, failed(e.last))
	}
	delete(l.ids, item)
}

// plan prints the plan of the turn, which is one item however often it changes.
func (l *lines) plan(t protocol.TodoList) {
	p := todoItem{head: head{Type: "todo_list"}, Items: []todoEntry{}}
	for _, s := range t.Steps {
		p.Items = append(p.Items, todoEntry{s.Step, s.Status == "completed"})
	}
	if l.todo == nil {
		l.todo = l.begin("", p)
		return
	}
	p.ID = l.todo.id
	if old, ok := l.todo.last.(todoItem); ok && slices.Equal(old.Items, p.Items) {
		return
	}
	l.todo.last = p
	l.print(line{Type: "item.updated", Item: p})
}

func (l *lines) end(e ending) {
	for _, open := range slices.Clone(l.pending) {
		l.finish(open, failed(open.last))
	}
	l.todo = nil
	if l.review && e.done != nil {
		l.whole("", textItem{head{Type: "agent_message"}, e.done.LastMessage})
	}
	switch {
	case e.done != nil:
		l.print(line{Type: "turn.completed", Usage: &e.done.Usage, Undo: l.undo})
	case e.interrupted:
		l.print(line{Type: "turn.failed", Error: &errorText{e.message}, Undo: l.undo})
	default:
		l.error(e.message)
		l.print(line{Type: "turn.failed", Error: &errorText{e.message}, Undo: l.undo})
	}
}

func (l *lines) find(item protocol.ItemID) *entry {
	for _, e := range l.pending {
		if e.item == item && item != "" {
			return e
		}
	}
	return nil
}

// id names an item: item_N, counted per process.
func (l *lines) id(item protocol.ItemID) string {
	if id, ok := l.ids[item]; ok && item != "" {
		return id
	}
	id := fmt.Sprintf("item_%d", l.next)
	l.next++
	l.ids[item] = id
	return id
}

func takesTime(p item) bool {
	switch p.(type) {
	case commandItem, fileItem, toolItem, todoItem, collabItem:
		return true
	}
	return false
}

// failed is p as it ends when nothing more will be heard of it.
func failed(p item) item {
	switch p := p.(type) {
	case commandItem:
		p.Status = "failed"
		return p
	case fileItem:
		p.Status = "failed"
		return p
	case collabItem:
		p.Status = "failed"
		return p
	case toolItem:
		p.Status = "failed"
		if p.Error == nil {
			p.Error = &errorText{"ended before it finished"}
		}
		return p
	}
	return p
}

// payload is the printed form of i, nil for what is not printed. A status given
// replaces the item's own.
func payload(i protocol.Item, status string) item {
	if status == "" {
		status = string(i.Status)
		if i.Status == "" || i.Status == protocol.InProgress {
			status = string(protocol.Completed)
		}
	}
	switch b := i.Body.(type) {
	case protocol.AgentMessage:
		return textItem{head{Type: "agent_message"}, b.Text}
	case protocol.Reasoning:
		return textItem{head{Type: "reasoning"}, b.Text}
	case protocol.ProposedPlan:
		return textItem{head{Type: "plan"}, b.Text}
	case protocol.WebSearch:
		return searchItem{head{Type: "web_search"}, b.Query}
	case protocol.Problem:
		return errorItem{head{Type: "error"}, b.Message}
	case protocol.Command:
		if b.ExitCode != nil && *b.ExitCode != 0 && b.Verdict == "" && status == string(protocol.Completed) {
			status = string(protocol.Failed)
		}
		return commandItem{head{Type: "command_execution"}, b.Command, b.Output, b.ExitCode, status, b.Check, b.Verdict}
	case protocol.FileChange:
		return filePayload(b.Changes, refused(status))
	case protocol.ToolCall:
		return toolPayload(b, refused(status))
	case protocol.SubAgent:
		return collabPayload(b, refused(status))
	case protocol.ReviewResult:
		findings := b.Findings
		if findings == nil {
			findings = []protocol.Finding{}
		}
		return reviewItem{head{Type: "review"}, b.Text, findings}
	}
	return nil
}

// refused maps a status to those that file_change and mcp_tool_call have.
func refused(status string) string {
	if status == string(protocol.Declined) {
		return string(protocol.Failed)
	}
	return status
}

func toolPayload(b protocol.ToolCall, status string) item {
	p := toolItem{head: head{Type: "mcp_tool_call"}, Server: b.Server, Tool: b.Tool, Args: b.Args, Status: status}
	if p.Server == "" {
		p.Server = "kerf"
	}
	if !json.Valid(p.Args) {
		p.Args, _ = json.Marshal(string(b.Args)) // a string always has a JSON form
	}
	switch {
	case status == string(protocol.InProgress):
	case b.Error != "":
		p.Error = &errorText{b.Error}
		p.Status = string(protocol.Failed)
	case status == string(protocol.Failed):
		p.Error = &errorText{b.Output}
	default:
		p.Result = &toolResult{Content: []toolContent{{Type: "text", Text: &b.Output}}, Structured: b.Structured}
		for _, url := range b.Images {
			kind, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
			p.Result.Content = append(p.Result.Content, toolContent{Type: "image", Data: data, MIME: kind})
		}
	}
	return p
}
