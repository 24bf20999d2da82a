package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Of are the options of a configuration. What it does not say is as the environment has it,
// by the names of OpenTelemetry.
func Of(c *config.Config, env func(string) string, version string) Options {
	t := c.Telemetry
	o := Options{Endpoint: cmp.Or(t.Endpoint, env("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), Headers: t.Headers,
		Signals: t.Signals, Content: t.Content, Version: version}
	if len(o.Signals) == 0 {
		o.Signals = []string{"traces", "metrics", "logs"}
	}
	if len(o.Headers) == 0 {
		o.Headers = map[string]string{}
		for pair := range strings.SplitSeq(env("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
			if name, text, ok := strings.Cut(pair, "="); ok {
				text, err := url.PathUnescape(strings.TrimSpace(text))
				if err == nil {
					o.Headers[strings.TrimSpace(name)] = text
				}
			}
		}
	}
	return o
}

// Join begins to watch a session and its client if the user wants it, with the Watch of its
// parent, or with a new one that ends with the session. Without one the result is nil, which
// does nothing.
func Join(w **Watch, asked *model.Client, c *config.Config, env func(string) string, id protocol.SessionID,
	provider, model string) *Session {
	begun := *w == nil && c.Telemetry.Enabled
	if begun {
		*w = Start(Of(c, env, executor.Version))
	}
	if *w == nil {
		return nil
	}
	s := (*w).Session(id, provider, model)
	s.ends, *asked = begun, s.Model(*asked)
	return s
}

// Close ends what Join began.
func (s *Session) Close() {
	if s != nil && s.ends {
		s.w.Close()
	}
}

// Observer is what the session tells its events, nil if nobody listens.
func (s *Session) Observer() func(protocol.Event) {
	if s == nil {
		return nil
	}
	return s.Event
}

// Watch sends what a session and its sub-agents do. A nil Watch does nothing.
type Watch struct {
	exporter *exporter
	content  bool
}

// Start begins to watch.
func Start(o Options) *Watch { return &Watch{exporter: newExporter(o), content: o.Content} }

// Close sends what is left, for at most five seconds. It may be called once.
func (w *Watch) Close() {
	if w != nil {
		w.exporter.close()
	}
}

// Session watches one session.
type Session struct {
	w        *Watch
	id       protocol.SessionID
	provider string
	ends     bool // the watch ends with the session

	mu    sync.Mutex // guards all below
	model string
	turn  *span // under way
	began time.Time
	items map[protocol.ItemID]time.Time
	asked string // what the user said in this turn
}

// providers are the names that the conventions have for providers.
var providers = map[string]string{"gemini": "gcp.gemini", "bedrock": "aws.bedrock", "azure": "azure.ai.openai",
	"mistral": "mistral_ai", "xai": "x_ai", "vertex": "gcp.vertex_ai"}

// Session begins to watch one session.
func (w *Watch) Session(id protocol.SessionID, provider, model string) *Session {
	return &Session{w: w, id: id, provider: cmp.Or(providers[provider], provider), model: model, items: map[protocol.ItemID]time.Time{}}
}

// maxItems bounds what is known of a turn's items that are under way.
const maxItems = 1000

// fresh are n random bytes as a name.
func fresh(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return name(b)
}

// Event notes an event of the session. It never waits.
func (s *Session) Event(e protocol.Event) {
	if e.Agent != "" { // a sub-agent is watched itself
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := e.Msg.(type) {
	case protocol.SettingsChanged:
		s.model = cmp.Or(m.Settings.Model, s.model)
	case protocol.TurnStarted:
		s.began = e.Time
		s.turn = &span{Trace: fresh(16), ID: fresh(8), Name: "invoke_agent kerf", Kind: 1}
		s.asked = ""
		clear(s.items)
	case protocol.ItemStarted:
		if len(s.items) < maxItems {
			s.items[m.Item.ID] = e.Time
		}
	case protocol.ItemDropped:
		delete(s.items, m.Item)
	case protocol.ItemCompleted:
		s.item(e.Time, m.Item)
	case protocol.ApprovalResolved:
		s.log(e.Time, 9, "kerf.approval", func(a *attrs) { a.text("kerf.decision", string(m.Decision)) })
	case protocol.Retrying:
		s.log(e.Time, 13, "kerf.retry", func(a *attrs) {
			a.int("kerf.attempt", m.Attempt)
			s.said(a, "kerf.cause", m.Cause)
		})
	case protocol.Warning:
		s.log(e.Time, 13, "kerf.warning", func(a *attrs) { s.said(a, "kerf.message", m.Message) })
	case protocol.HistoryCompacted:
		s.log(e.Time, 9, "kerf.compaction", func(a *attrs) {
			a.int("kerf.tokens.before", m.Before)
			a.int("kerf.tokens.after", m.After)
		})
	case protocol.TurnCompleted:
		s.end(e.Time, "", func(a *attrs) {
			usage(a, model.Usage(m.Usage))
			s.said(a, "gen_ai.input.messages", messages("user", s.asked))
			s.said(a, "gen_ai.output.messages", messages("assistant", m.LastMessage))
		})
	case protocol.TurnFailed:
		s.log(e.Time, 17, "kerf.turn.failed", func(a *attrs) {
			a.text("error.type", string(m.Error.Kind))
			s.said(a, "kerf.message", m.Error.Message)
		})
		s.end(e.Time, string(m.Error.Kind), nil)
	case protocol.TurnAborted:
		s.end(e.Time, string(m.Reason), nil)
	}
}

// maxContent bounds one text that is sent, in bytes.
const maxContent = 32 << 10

// said adds what somebody said or did, if the user wants that sent.
func (s *Session) said(a *attrs, key, text string) {
	if s.w.content {
		a.text(key, strings.ToValidUTF8(text[:min(len(text), maxContent)], "\uFFFD"))
	}
}

// messages is a message as the conventions have it.
func messages(role, text string) string {
	data, err := json.Marshal([]object{{"role": role, "parts": []object{{"type": "text", "content": text}}}})
	if err != nil {
		return ""
	}
	return string(data)
}

// common are the attributes of all spans of a session.
func (s *Session) common(operation string) (a attrs) {
	a.text("gen_ai.operation.name", operation)
	a.text("gen_ai.provider.name", s.provider)
	a.text("gen_ai.conversation.id", string(s.id))
	return a
}

func usage(a *attrs, u model.Usage) {
	a.int("gen_ai.usage.input_tokens", u.Input)
	a.int("gen_ai.usage.output_tokens", u.Output)
	a.int("gen_ai.usage.cache_read.input_tokens", u.Cached)
	a.int("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
}

// end ends the span of the turn.
func (s *Session) end(at time.Time, fault string, more func(*attrs)) {
	if s.turn == nil {
		return
	}
	t := *s.turn
	s.turn = nil
	t.Start, t.End, t.Attributes = nanos(s.began), nanos(at), s.common("invoke_agent")
	t.Attributes.text("gen_ai.agent.name", "kerf")
	t.Attributes.text("gen_ai.request.model", s.model)
	if more != nil {
		more(&t.Attributes)
	}
	if fault != "" {
		t.Attributes.text("error.type", fault)
		t.Status = &status{Code: failed}
	}
	s.w.exporter.span(t)
}

// log sends a record of the turn that is under way.
func (s *Session) log(at time.Time, severity int, event string, more func(*attrs)) {
	r := logRecord{Time: nanos(at), Severity: severity, Text: map[int]string{9: "INFO", 13: "WARN", 17: "ERROR"}[severity],
		Event: event}
	r.Attributes.text("gen_ai.conversation.id", string(s.id))
	more(&r.Attributes)
	if s.turn != nil {
		r.Trace, r.Span = s.turn.Trace, s.turn.ID
	}
	s.w.exporter.log(r)
}

// item sends a span of a call, and a record of each file that it changed.
func (s *Session) item(at time.Time, i protocol.Item) {
	began, ok := s.items[i.ID]
	delete(s.items, i.ID)
	if !ok {
		began = at
	}
	tool, call, args, output := "", "", "", ""
	var changes []protocol.PathChange
	switch b := i.Body.(type) {
	case protocol.UserMessage:
		for _, in := range b.Input {
			s.asked += in.Text
		}
		return
	case protocol.Command:
		tool, call, args, output, changes = "exec_command", string(b.Call), b.Command, b.Output, b.Changes
	case protocol.FileChange:
		tool, call, args, changes = "edit", string(b.Call), b.Diff, b.Changes
	case protocol.ToolCall:
		tool, call, args, output, changes = b.Tool, string(b.Call), string(b.Args), b.Output, b.Changes
		if b.Server != "" {
			tool = "mcp__" + b.Server + "__" + b.Tool
		}
	case protocol.SubAgent:
		tool, call, args = b.Operation+"_agent", string(b.Call), b.Prompt
	default:
		return
	}
	if s.turn == nil {
		return
	}
	sp := span{Trace: s.turn.Trace, ID: fresh(8), Parent: s.turn.ID, Name: "execute_tool " + tool, Kind: 1, Start: nanos(began),
		End: nanos(at), Attributes: s.common("execute_tool")}
	sp.Attributes.text("gen_ai.tool.name", tool)
	sp.Attributes.text("gen_ai.tool.type", "function")
	sp.Attributes.text("gen_ai.tool.call.id", call)
	s.said(&sp.Attributes, "gen_ai.tool.call.arguments", args)
	s.said(&sp.Attributes, "gen_ai.tool.call.result", output)
	if i.Status == protocol.Failed || i.Status == protocol.Declined {
		sp.Attributes.text("error.type", string(i.Status))
		sp.Status = &status{Code: failed}
	}
	s.w.exporter.span(sp)
	for _, c := range changes {
		s.log(at, 9, "kerf.file_operation", func(a *attrs) {
			a.text("kerf.operation", string(c.Kind))
			a.text("kerf.language", strings.TrimPrefix(filepath.Ext(c.Path), "."))
			s.said(a, "kerf.path", c.Path)
		})
	}
}

// Model watches what a session asks of a model.
func (s *Session) Model(c model.Client) model.Client { return client{c, s} }

type client struct {
	model.Client
	s *Session
}

// Stream passes a request on, and sends a span of it.
func (c client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	began := time.Now()
	var used *model.Usage
	var id string
	err := c.Client.Stream(ctx, r, func(chunk model.Chunk) error {
		if done, ok := chunk.(model.Done); ok {
			used, id = done.Usage, done.ResponseID
		}
		return emit(chunk)
	})
	c.s.answered(began, time.Now(), r.Model, id, used, err)
	return err
}

// answered sends what one request came to.
func (s *Session) answered(began, ended time.Time, name, id string, used *model.Usage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := span{ID: fresh(8), Name: "chat " + name, Kind: 3, Start: nanos(began), End: nanos(ended), Attributes: s.common("chat")}
	if s.turn != nil {
		sp.Trace, sp.Parent = s.turn.Trace, s.turn.ID
	} else {
		sp.Trace = fresh(16)
	}
	sp.Attributes.text("gen_ai.request.model", name)
	sp.Attributes.text("gen_ai.response.id", id)
	var fault string
	var known *model.Error
	switch {
	case err == nil:
	case errors.As(err, &known):
		fault = string(known.Kind)
	case errors.Is(err, context.Canceled):
		fault = "canceled"
	default:
		fault = "_OTHER"
	}
	if fault != "" {
		sp.Attributes.text("error.type", fault)
		sp.Status = &status{Code: failed}
	}
	var a attrs
	a.text("gen_ai.operation.name", "chat")
	a.text("gen_ai.provider.name", s.provider)
	a.text("gen_ai.request.model", name)
	if used != nil {
		usage(&sp.Attributes, *used)
		for kind, n := range map[string]int{"input": used.Input, "output": used.Output} {
			of := append(attrs{}, a...)
			of.text("gen_ai.token.type", kind)
			s.w.exporter.record("gen_ai.client.token.usage", float64(n), of)
		}
	}
	a.text("error.type", fault)
	s.w.exporter.record("gen_ai.client.operation.duration", ended.Sub(began).Seconds(), a)
	s.w.exporter.span(sp)
}
