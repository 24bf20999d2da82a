// Package codex makes sessions of the rollouts that Codex writes.
package codex

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// maxLine bounds a line of a file that is imported.
const maxLine = 64 << 20

// Imported tells what an import made.
type Imported struct {
	ID      protocol.SessionID `json:"id"`
	Title   string             `json:"title"`
	Turns   int                `json:"turns"`
	Records int                `json:"records"`
	Skipped int                `json:"skipped"` // lines that could not be read
}

// Options say where the session goes.
type Options struct {
	Sessions string // the directory of sessions
	Rollout  rollout.Options
	Version  string // of Kerf
	Source   string // what the metadata name as the session's source: the agent it comes from
}

// ErrAgain says that there is a session of a rollout.
var ErrAgain = errors.New("was imported already")

// Import makes a session of a rollout that Codex wrote, or that was made of another agent's
// session in the same form; path is the file that it comes from. It keeps the id
// where that is free. Messages, reasoning summaries, calls with their outputs,
// compactions and tokens are taken over; what Codex told its model of the
// surroundings is not: Kerf tells its own.
func Import(path string, f io.Reader, o Options) (Imported, error) {
	c := reader{o: o, outputs: map[string]output{}}
	if err := c.read(f); err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", path, err)
	}
	if len(c.items) == 0 {
		return Imported{}, fmt.Errorf("import %s: it has no line of a session", path)
	}
	return c.write(path)
}

// line is one line of such a rollout.
type line struct {
	Timestamp time.Time       `json:"timestamp"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

// payload has the fields of all payloads that count.
type payload struct {
	Type    string
	ID      string
	Cwd     string
	Model   string
	Role    string
	Message string
	Name    string
	Input   string
	CallID  string `json:"call_id"`
	Content []struct {
		Type     string
		Text     string
		ImageURL string `json:"image_url"`
	}
	// Summary is a list of texts, of a turn's settings a word.
	Summary json.RawMessage
	// Arguments is a text that holds JSON; Output a text, or an object or list.
	Arguments   string
	Output      json.RawMessage
	Action      *struct{ Command []string }
	Replacement []json.RawMessage `json:"replacement_history"`
	Provider    string            `json:"model_provider"`
	Turns       int               `json:"num_turns"` // that were taken back
	Git         *struct {
		Branch string
		URL    string `json:"repository_url"`
		Commit string `json:"commit_hash"`
	}
	Info *struct {
		Last struct {
			Input     int `json:"input_tokens"`
			Cached    int `json:"cached_input_tokens"`
			Output    int `json:"output_tokens"`
			Reasoning int `json:"reasoning_output_tokens"`
		} `json:"last_token_usage"`
	}
}

type item struct {
	at   time.Time
	kind string // of the line
	payload
}

type output struct {
	text string
	ok   bool
}

type reader struct {
	o       Options
	items   []item
	outputs map[string]output
	meta    payload
	began   time.Time
	skipped int

	w      *rollout.Writer
	now    time.Time
	model  string
	turn   protocol.TurnID
	turns  int
	round  int
	index  int
	spoke  bool // the model spoke in this round and no output came since
	title  string
	tokens int
	count  int
}

func (c *reader) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > maxLine {
			c.skipped++
		} else if len(line) > 1 {
			c.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *reader) line(b []byte) {
	var l line
	if json.Unmarshal(b, &l) != nil || l.Type == "" {
		c.skipped++
		return
	}
	it := item{at: l.Timestamp, kind: l.Type}
	// What has another form than here is left out, and the rest counts.
	var other *json.UnmarshalTypeError
	if err := json.Unmarshal(l.Payload, &it.payload); err != nil && !errors.As(err, &other) {
		c.skipped++
		return
	}
	if c.began.IsZero() {
		c.began = l.Timestamp
	}
	switch {
	case l.Type == "session_meta":
		if c.meta.ID == "" {
			c.meta = it.payload
		}
	case strings.HasSuffix(it.Type, "_output"):
		c.outputs[it.CallID] = outputOf(it.Output)
	}
	switch l.Type {
	case "session_meta", "turn_context", "response_item", "compacted", "event_msg":
		if it.Type == "thread_rolled_back" {
			c.takeBack(it.Turns)
			return
		}
		c.items = append(c.items, it)
	}
}

// takeBack leaves out what was said since the user's last words, n times.
func (c *reader) takeBack(n int) {
	for i := len(c.items) - 1; i >= 0 && n > 0; i-- {
		if it := c.items[i]; it.kind == "response_item" && it.byUser() {
			n--
			c.items = c.items[:i]
		}
	}
}

// text is the text of a message.
func (p payload) text() (text string) {
	for _, part := range p.Content {
		text += part.Text
	}
	return text
}

// byUser reports whether the user said it.
func (p payload) byUser() bool {
	return p.Type == "message" && p.Role == "user" && !surroundings(p.text())
}

// outputOf is the text of a tool's output in any of its forms.
func outputOf(raw json.RawMessage) output {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var parts []struct{ Text string }
		var object struct {
			Content string
			Success *bool
		}
		switch {
		case json.Unmarshal(raw, &parts) == nil:
			for _, p := range parts {
				text += p.Text
			}
			return output{text, true}
		case json.Unmarshal(raw, &object) == nil:
			return output{object.Content, object.Success == nil || *object.Success}
		}
		return output{string(raw), true}
	}
	var shell struct { // older shells answer with JSON in the text
		Output   *string
		Metadata struct {
			Exit int `json:"exit_code"`
		}
	}
	if json.Unmarshal([]byte(text), &shell) == nil && shell.Output != nil {
		return output{fmt.Sprintf("exit code %d\noutput:\n%s", shell.Metadata.Exit, *shell.Output), shell.Metadata.Exit == 0}
	}
	return output{text, true}
}

// write makes the session.
func (c *reader) write(path string) (Imported, error) {
	id := c.meta.ID
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		fresh, err := uuid.NewV7()
		if err != nil {
			return Imported{}, err
		}
		id = fresh.String()
	}
	dir := filepath.Join(c.o.Sessions, id)
	if _, err := os.Lstat(dir); err == nil {
		return Imported{}, fmt.Errorf("%s %w: session %s (delete it to import it again)", path, ErrAgain, id)
	}
	o := c.o.Rollout
	o.Now = func() time.Time { return c.now }
	var err error
	if c.w, err = rollout.Create(dir, o); err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	if err = c.fill(id); err == nil {
		err = c.w.SaveMetadata(c.metadata(id))
	}
	if err = errors.Join(err, c.w.Close()); err != nil {
		_ = os.RemoveAll(dir) // half a session helps nobody
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	return Imported{ID: protocol.SessionID(id), Title: c.title, Turns: c.turns, Records: c.count, Skipped: c.skipped}, nil
}

func (c *reader) metadata(id string) rollout.Metadata {
	m := rollout.Metadata{ID: id, Title: c.title, Cwd: c.meta.Cwd, Model: c.model, Provider: c.meta.Provider,
		Created: c.began.UTC(), Updated: c.now.UTC(), Turns: c.turns, Tokens: c.tokens, Source: c.o.Source}
	if g := c.meta.Git; g != nil {
		m.Git = rollout.Git{Branch: g.Branch, Commit: g.Commit, Remote: g.URL}
	}
	return m
}

func (c *reader) put(r history.Record) error {
	c.count++
	return c.w.Append(rollout.Entry{Type: r.Type(), Body: r})
}

func (c *reader) fill(id string) error {
	c.now = c.began
	meta := history.SessionMeta{ID: protocol.SessionID(id), Cwd: c.meta.Cwd, Source: c.o.Source, Version: c.o.Version,
		Provider: c.meta.Provider}
	if err := c.put(meta); err != nil {
		return err
	}
	for _, it := range c.items {
		if it.at.After(c.now) {
			c.now = it.at
		}
		if err := c.item(it); err != nil {
			return err
		}
	}
	return c.endTurn(history.TurnCompleted)
}

func (c *reader) item(it item) error {
	switch it.kind {
	case "turn_context":
		if it.Model != "" {
			c.model = it.Model
		}
		return nil
	case "compacted":
		return c.compacted(it)
	case "event_msg":
		return c.event(it)
	case "response_item":
		return c.response(it)
	}
	return nil
}

func (c *reader) event(it item) error {
	switch it.Type {
	case "turn_aborted":
		return c.endTurn(history.TurnAborted)
	case "token_count":
		if it.Info == nil || c.turn == "" {
			return nil
		}
		u := it.Info.Last
		c.tokens += u.Input + u.Output
		return c.put(history.TokenUsage{Turn: c.turn, Round: c.round,
			Usage: protocol.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}})
	}
	return nil
}

func (c *reader) response(it item) error {
	text := it.text()
	var images []string
	for _, p := range it.Content {
		if strings.HasPrefix(p.ImageURL, "data:") {
			images = append(images, p.ImageURL)
		}
	}
	switch it.Type {
	case "message":
		switch {
		case it.Role == "assistant":
			c.speak()
			return c.put(history.AssistantMessage{Turn: c.turn, Round: c.round, Index: c.next(), Text: text})
		case it.byUser():
			return c.said(text, images)
		}
	case "reasoning":
		var parts []struct{ Text string }
		_ = json.Unmarshal(it.Summary, &parts) // another form has none
		var sum []string
		for _, s := range parts {
			sum = append(sum, s.Text)
		}
		if len(sum) > 0 && c.turn != "" {
			c.speak()
			return c.put(history.Reasoning{Turn: c.turn, Round: c.round, Index: c.next(), Summary: sum})
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		return c.call(it)
	}
	return nil
}

// surroundings reports whether a message of the user is one that Codex wrote.
func surroundings(text string) bool {
	marks := []string{"<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions", "<turn_aborted>",
		"<skill"}
	return slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(strings.TrimSpace(text), m) })
}

// said opens a turn with what the user said; what follows another message of the
// user belongs to the same turn.
func (c *reader) said(text string, images []string) error {
	if c.turn == "" || c.round > 0 && c.spoke {
		if err := c.endTurn(history.TurnCompleted); err != nil {
			return err
		}
		c.turns++
		c.turn = protocol.TurnID(fmt.Sprintf("turn-%d", c.turns))
		set := protocol.Settings{Model: c.model, Cwd: c.meta.Cwd}
		if err := c.put(history.TurnContext{Turn: c.turn, Settings: set}); err != nil {
			return err
		}
	}
	if c.title == "" {
		c.title = visible.Excerpt(text)
	}
	return c.put(history.UserInput{Turn: c.turn, Text: text, Images: images})
}

func (c *reader) call(it item) error {
	c.speak()
	name, input, style := it.Name, it.Arguments, model.Function
	switch it.Type {
	case "custom_tool_call":
		input, style = it.Input, model.Freeform
	case "local_shell_call":
		var command []string
		if it.Action != nil {
			command = it.Action.Command
		}
		b, err := json.Marshal(map[string]any{"command": command})
		if err != nil {
			return err
		}
		name, input = "local_shell", string(b)
	}
	if it.CallID == "" {
		it.CallID = fmt.Sprintf("call_%d_%d", c.round, c.index)
	}
	args, exact := history.SplitInput(style, input)
	out, ok := c.outputs[it.CallID]
	if !ok {
		out.text = history.Aborted
	}
	err := c.put(history.ToolCall{Turn: c.turn, Round: c.round, Index: c.next(), Call: protocol.CallID(it.CallID),
		Name: name, Args: args, Input: exact, Style: style, Result: out.text, Success: out.ok})
	c.spoke = false
	return err
}

func (c *reader) compacted(it item) error {
	var items []*model.Item
	var words []int
	for _, raw := range it.Replacement {
		var p payload
		if json.Unmarshal(raw, &p) != nil || p.Type != "message" || p.Role != "user" && p.Role != "assistant" {
			continue
		}
		text := p.text()
		if surroundings(text) {
			continue
		}
		if p.Role == "user" {
			words = append(words, len(items))
		}
		items = append(items, &model.Item{Kind: model.Message, Role: p.Role, Content: []model.Part{{Text: text}}})
	}
	if len(items) == 0 {
		items = []*model.Item{model.UserText(it.Message)}
	}
	return c.put(history.Compacted{Turn: c.turn, Summary: it.Message, Items: items, Words: words})
}

// speak makes sure that a round is open: calls of one response stay together
// until the model says something else.
func (c *reader) speak() {
	if !c.spoke {
		c.round++
		c.index = 0
	}
	c.spoke = true
}

func (c *reader) next() int {
	c.index++
	return c.index - 1
}

func (c *reader) endTurn(how string) error {
	if c.turn == "" {
		return nil
	}
	err := c.put(history.EventRecord{Turn: c.turn, What: how})
	c.turn, c.spoke = "", false
	return err
}
