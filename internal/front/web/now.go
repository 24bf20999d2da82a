package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"kerf/internal/front/web/carry"
	"kerf/internal/front/web/item"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/question"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// before is how many turns stand above a session that is watched.
const before = 5

// running lists the sessions that run, with the titles that their records have.
func (s *Server) running(ctx context.Context) ([]LiveSession, error) {
	list, err := s.o.Live.List(ctx)
	for i, l := range list {
		if l.Title == "" {
			info, _ := s.o.Data.Session(ctx, string(l.ID)) // a new session has no record yet
			list[i].Title = info.Title
		}
	}
	return list, err
}

func (s *Server) now(w http.ResponseWriter, r *http.Request) error {
	list, err := s.running(r.Context())
	if err != nil {
		return err
	}
	p := struct{ List []LiveSession }{list}
	if r.URL.Query().Get("part") != "" {
		return s.part(w, "running", p)
	}
	return s.render(w, r, "now", "Running now", p)
}

// join follows a running session.
func (s *Server) join(r *http.Request, id string) (LiveSession, protocol.Session, error) {
	list, err := s.running(r.Context())
	if err != nil {
		return LiveSession{}, nil, err
	}
	for _, l := range list {
		if string(l.ID) == id {
			face, err := s.o.Live.Join(r.Context(), l.ID)
			return l, face, err
		}
	}
	return LiveSession{}, nil, fmt.Errorf("%w: session %s does not run any more; its record is below Sessions", ErrNotFound,
		visible.Line(id))
}

type watchPage struct {
	Info  LiveSession
	Turns []turnView
	Last  protocol.TurnID // the newest of them
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request) error {
	l, face, err := s.join(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	defer face.Close()
	p, err := s.past(r.Context(), l, face, room)
	if err != nil {
		return err
	}
	name := l.Title
	if name == "" {
		name = string(l.ID)
	}
	return s.render(w, r, "watch", name, p)
}

// past is what the record has of a running session and the events of face do not tell, as far
// as there is room.
func (s *Server) past(ctx context.Context, l LiveSession, face protocol.Session, room Room) (watchPage, error) {
	p := watchPage{Info: l}
	page, err := s.o.Data.Page(ctx, string(l.ID), 0, before, room)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrReading) { // a new session has no record yet
		return p, err
	}
	parts := page.Turns
	past := make([]protocol.PastTurn, len(parts))
	for i, t := range parts {
		past[i] = t.PastTurn
	}
	info := protocol.SessionInfo{ID: l.ID, Cwd: l.Cwd}
	p.Turns = views(info, parts[:len(protocol.Before(face, past))], false)
	if n := len(p.Turns); n > 0 {
		p.Last = p.Turns[n-1].ID
	}
	return p, nil
}

// stream tells a browser what happens in a session.
type stream struct {
	s       *Server
	out     carry.Out
	session protocol.SessionID
	last    protocol.TurnID              // the newest turn that the page has from the record
	running bool                         // a turn runs, so its tokens may be told as the state
	asked   map[protocol.ApprovalID]bool // questions that are open
	err     error
}

// events tells a browser what happens in a session, as it happens.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	l, face, err := s.join(r, r.PathValue("id"))
	if err == nil {
		x := &stream{s: s, out: carry.New(w), session: l.ID, last: protocol.TurnID(r.FormValue("last"))}
		x.follow(r.Context(), l, face)
	}
	return err
}

// carried begins or ends a stream over a connection that the browser has already.
func (s *Server) carried(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		return query.Misuse(r.PathValue("n") + ": give the number of a stream")
	}
	connection, session := r.PathValue("connection"), r.FormValue("session")
	if session == "" {
		s.carriers.Leave(connection, n)
	} else {
		l, face, err := s.join(r, session)
		if err != nil {
			return err
		}
		x := &stream{s: s, session: l.ID, last: protocol.TurnID(r.FormValue("last"))}
		err = s.carriers.Carry(connection, n, func(ctx context.Context, out carry.Out) {
			x.out = out
			x.follow(ctx, l, face)
		})
		if err != nil {
			_ = face.Close()
			http.Error(w, err.Error(), http.StatusGone)
			return nil
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// follow tells what happens in a session until its events or ctx end, or the browser is gone.
func (x *stream) follow(ctx context.Context, l LiveSession, face protocol.Session) {
	defer face.Close()
	x.begin(ctx, l, face)
	tick := time.NewTicker(carry.Interval)
	defer tick.Stop()
	for x.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			x.err = x.out.Beat()
			continue
		case e, ok := <-face.Events():
			if !ok {
				x.send("end", map[string]string{"text": "the session has ended"})
				_ = x.out.Flush()
				return
			}
			x.event(e)
		}
		if x.err == nil {
			x.err = x.out.Flush()
		}
	}
}

// begin tells what was so when the session was joined: turns that the page does not have yet,
// and whether a turn runs, which the list of sessions may not know yet.
func (x *stream) begin(ctx context.Context, l LiveSession, face protocol.Session) {
	first := map[string]string{}
	if p, err := x.s.past(ctx, l, face, Room{}); err == nil && p.Last != x.last {
		if p, err = x.s.past(ctx, l, face, room); err == nil {
			first["turns"] = x.html("past", p)
		}
	}
	x.send("begin", first)
	state := "idle"
	if j, ok := face.(protocol.Joined); ok && j.Running() != "" {
		x.running, state = true, "running"
	}
	x.send("state", map[string]string{"text": state})
	if x.err == nil {
		x.err = x.out.Flush()
	}
}

// send sends one event.
func (x *stream) send(name string, data any) {
	if x.err == nil {
		x.err = x.out.Send(name, data)
	}
}

// html is a template as a string.
func (x *stream) html(name string, data any) string {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	defer buffers.Put(b)
	if err := x.s.pages.Execute(b, name, data); err != nil && x.err == nil {
		x.err = err
	}
	return b.String()
}

// name keeps the items of sub-agents apart from the session's own.
func name(e protocol.Event, id protocol.ItemID) string {
	return string(e.Agent) + "/" + string(e.Turn) + "/" + string(id)
}

func (x *stream) item(e protocol.Event, i protocol.Item) {
	v := item.Of(i)
	v.ID = name(e, i.ID)
	if e.Agent != "" {
		v.Kind = strings.TrimSpace(v.Kind + " (sub-agent)")
	}
	x.send("item", map[string]string{"id": v.ID, "html": x.html("item", v)})
}

// event tells one event.
func (x *stream) event(e protocol.Event) {
	say := func(format string, args ...any) {
		if e.Agent == "" {
			x.send("state", map[string]string{"text": fmt.Sprintf(format, args...)})
		}
	}
	switch m := e.Msg.(type) {
	case protocol.TurnStarted:
		if e.Agent == "" {
			x.running = true
			x.send("turn", map[string]string{"html": x.html("turn", turnView{ID: e.Turn, Began: e.Time})})
			say("running")
		}
	case protocol.ItemStarted:
		x.item(e, m.Item)
	case protocol.ItemUpdated:
		x.item(e, m.Item)
	case protocol.ItemCompleted:
		x.item(e, m.Item)
	case protocol.ItemDelta:
		x.send("delta", map[string]string{"id": name(e, m.Item), "text": render.Output(m.Text)})
	case protocol.ItemDropped:
		x.send("drop", map[string]string{"id": name(e, m.Item)})
	case protocol.ApprovalRequested:
		q := question.Of(x.session, m.Approval, x.s.o.Control)
		x.send("question", map[string]string{"id": q.ID, "shown": q.Shown, "html": x.html("question", q)})
		x.asks(m.Approval.ID, true)
	case protocol.ApprovalResolved:
		x.send("answered", map[string]string{"id": string(m.Approval)})
		x.asks(m.Approval, false)
	case protocol.Retrying:
		say("the request failed (%s); trying again, %d of %d", visible.OneLine(m.Cause, 200), m.Attempt, m.Max)
	case protocol.TokensUsed: // of an idle session the last ones are told, too
		if x.running && len(x.asked) == 0 {
			say("running · %d tokens in this turn", m.Turn.Total())
		}
	default:
		x.ending(e, say)
	}
}

// asks notes that a question is open, or not any more; those of sub-agents wait for the user,
// too.
func (x *stream) asks(id protocol.ApprovalID, open bool) {
	if x.asked == nil {
		x.asked = map[protocol.ApprovalID]bool{}
	}
	delete(x.asked, id)
	if open {
		x.asked[id] = true
	}
	switch {
	case len(x.asked) > 0:
		x.send("state", map[string]string{"text": "waiting for an answer"})
	case x.running:
		x.send("state", map[string]string{"text": "running"})
	}
}

func (x *stream) ending(e protocol.Event, say func(string, ...any)) {
	switch e.Msg.(type) {
	case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
		x.running = x.running && e.Agent != ""
	}
	switch m := e.Msg.(type) {
	case protocol.TurnCompleted:
		say("idle · the turn took %s", m.Duration.Round(100*time.Millisecond))
	case protocol.TurnFailed:
		say("idle · the turn failed: %s", visible.OneLine(m.Error.Message, 400))
	case protocol.TurnAborted:
		say("idle · %s", m.Reason)
	case protocol.SessionEnded:
		x.send("end", map[string]string{"text": "the session has ended"})
	case protocol.Warning:
		v := item.View{ID: fmt.Sprintf("warning/%d", e.Seq), Class: "problem", Text: m.Message}
		x.send("item", map[string]string{"id": v.ID, "html": x.html("item", v)})
	case protocol.TurnDiff:
		if m.Diff != "" && e.Agent == "" {
			v := item.View{ID: "diff/" + string(e.Turn), Class: "change", Kind: "Changed by this turn", Open: true, Note: m.Coverage()}
			v.Show(m.Diff)
			x.send("item", map[string]string{"id": v.ID, "html": x.html("item", v)})
		}
	}
}

// said is the answer to a form: a line for the script, or the page again.
func (s *Server) said(w http.ResponseWriter, r *http.Request, words string) error {
	if strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := fmt.Fprintln(w, words)
		return err
	}
	http.Redirect(w, r, "/now/"+r.PathValue("id"), http.StatusSeeOther)
	return nil
}

// submit hands an Op to the session that a request names.
func (s *Server) submit(r *http.Request, op protocol.Op) error {
	_, face, err := s.join(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	defer face.Close()
	return face.Submit(r.Context(), protocol.Submission{Op: op})
}

func (s *Server) steer(w http.ResponseWriter, r *http.Request) error {
	text := strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n")
	if strings.TrimSpace(text) == "" {
		return query.Misuse("write a message first")
	}
	if err := s.submit(r, protocol.UserInput{Items: []protocol.Input{{Text: text}}}); err != nil {
		return err
	}
	return s.said(w, r, "sent")
}

func (s *Server) interrupt(w http.ResponseWriter, r *http.Request) error {
	if err := s.submit(r, protocol.Interrupt{}); err != nil {
		return err
	}
	return s.said(w, r, "asked to stop")
}

// answering is how long an answer may take to arrive.
const answering = 5 * time.Second

// answer answers a question, if it is still the one that the page showed.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	_, face, err := s.join(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	defer face.Close()
	late := time.NewTimer(answering)
	defer late.Stop()
	id, sent := protocol.ApprovalID(r.PostFormValue("question")), false
	for {
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-late.C:
			return query.Misuse("this question is not open any more")
		case e, ok := <-face.Events():
			if !ok {
				return query.Misuse("the session has ended")
			}
			switch m := e.Msg.(type) {
			case protocol.ApprovalRequested:
				if m.Approval.ID != id || sent {
					continue
				}
				op, err := question.Decide(r.PostForm, m.Approval)
				if err != nil {
					return query.Misuse(err.Error())
				}
				if err := face.Submit(r.Context(), protocol.Submission{Op: op}); err != nil {
					return err
				}
				sent = true
			case protocol.ApprovalResolved:
				if m.Approval == id && sent {
					return s.said(w, r, "answered: "+string(m.Decision))
				}
			}
		}
	}
}
