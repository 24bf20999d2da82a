// Package serve lets front ends attach to sessions that live in a process of their own,
// over a unix socket: sessions go on without a front end, a second one sees the same
// events, and one that comes back goes on at the event it had.
package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"kerf/internal/front/frames"
	"kerf/internal/front/serve/hub"
	"kerf/internal/front/serve/message"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
)

// Options say what is served.
type Options struct {
	Hub *hub.Hub
	// Token is what a client must know.
	Token   string
	Version string // of Kerf
	// Stop ends the server; a client may ask for it.
	Stop func()
	// ACP serves an editor over a connection that asks for it; may be nil.
	ACP func(ctx context.Context, in io.Reader, out io.Writer) error
	// Patience is how long a client may be silent in the middle of a message, and take
	// nothing of what is sent, before it counts as gone. 0 means 30 s.
	Patience time.Duration
}

// strangers is how long the first message may be, in bytes.
const strangers = 64 << 10

// Serve serves the clients of ln until ctx is done. It closes ln and the connections, and
// leaves the sessions as they are.
func Serve(ctx context.Context, ln net.Listener, o Options) error {
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel() // before the clients are waited for
	for {
		c, err := ln.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // too many open files, for one: the next one may fit
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		clients.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			newPeer(o, c).serve(ctx)
		})
	}
}

// peer is one connection.
type peer struct {
	o   Options
	c   *timely
	out *frames.Writer

	under sync.WaitGroup // of its faces, and of sessions that are being opened
	mu    sync.Mutex
	faces map[protocol.SessionID]*hub.Face
	gone  bool
}

func newPeer(o Options, c net.Conn) *peer {
	t := newTimely(c, o.Patience)
	return &peer{o: o, c: t, out: frames.NewWriter(t), faces: map[protocol.SessionID]*hub.Face{}}
}

// serve answers until the connection ends.
func (c *peer) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := bufio.NewReader(c.c)
	acp, ok := c.hello(in)
	if !ok {
		return
	}
	if acp {
		_ = c.o.ACP(ctx, in, c.c)
		return
	}
	messages, lines := io.Pipe()
	go func() {
		_ = lines.CloseWithError(frames.Filter{In: in, Out: c.out, Limit: message.Limit}.Copy(lines))
	}()
	defer messages.Close()
	r := bufio.NewReader(messages)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var f message.Frame
		if json.Unmarshal(line, &f) == nil && f.Method != "" {
			c.answer(ctx, f)
		}
	}
	cancel()
	c.leave()
}

// leave closes what the client was attached to.
func (c *peer) leave() {
	_ = c.c.Close() // who writes to it stops waiting
	c.mu.Lock()
	c.gone = true
	for _, f := range c.faces {
		_ = f.Close()
	}
	c.mu.Unlock()
	c.under.Wait()
}

// hello reads the first message. It reports whether the client is an editor, and whether
// it may go on.
func (c *peer) hello(in *bufio.Reader) (acp, ok bool) {
	line, err := firstLine(in)
	if err != nil {
		return false, false
	}
	c.c.greeted()
	var f message.Frame
	var p message.HelloParams
	refuse := func(format string, args ...any) (bool, bool) {
		c.send(message.Frame{ID: idOf(f), Error: &message.Error{Code: message.CodeHello,
			Message: fmt.Sprintf(format, args...)}})
		return false, false
	}
	if json.Unmarshal(line, &f) != nil || f.Method != message.Hello || wire.Unmarshal(f.Params, &p) != nil {
		return refuse("the first message must be %s with version and token", message.Hello)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(p.Token), []byte(c.o.Token)) != 1:
		return refuse("the token is wrong")
	case p.Version != message.Version:
		return refuse("this server speaks version %d of the protocol, not %d; it is kerf %s: stop it with "+
			"kerf serve stop, and start it again", message.Version, p.Version, c.o.Version)
	case p.ACP && c.o.ACP == nil:
		return refuse("this server does not serve editors")
	}
	c.result(f, message.HelloResult{Version: message.Version, Kerf: c.o.Version, PID: os.Getpid()})
	return p.ACP, true
}

// firstLine reads a line of bearable length.
func firstLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > strangers:
			return nil, errors.New("too long")
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// answer carries out one request or notification. Opening a session may take long, so
// others do not wait for it.
func (c *peer) answer(ctx context.Context, f message.Frame) {
	switch f.Method {
	case message.Open:
		c.under.Go(func() { c.open(ctx, f) })
	case message.Attach:
		c.attach(f)
	case message.Detach:
		handle(c, f, func(p message.SessionParams) (any, error) { return struct{}{}, c.detach(p.Session) })
	case message.Submit:
		handle(c, f, func(p message.SubmitParams) (any, error) {
			if p.Op == nil {
				return nil, &message.Error{Code: message.CodeParams, Message: "op is missing"}
			}
			return struct{}{}, c.o.Hub.Submit(ctx, p.Session, protocol.Submission{ID: p.ID, Op: p.Op})
		})
	case message.End:
		c.under.Go(func() {
			handle(c, f, func(p message.SessionParams) (any, error) { return struct{}{}, c.o.Hub.End(p.Session) })
		})
	case message.Sessions:
		c.result(f, list(c.o.Hub))
	case message.Stop:
		c.result(f, struct{}{})
		c.o.Stop()
	default:
		c.fail(f, &message.Error{Code: message.CodeMethod, Message: fmt.Sprintf("there is no method %q", f.Method)})
	}
}

// handle decodes the params of a request, and answers with what do returns.
func handle[P any](c *peer, f message.Frame, do func(P) (any, error)) {
	var p P
	if err := params(f, &p); err != nil {
		c.fail(f, err)
		return
	}
	res, err := do(p)
	if err != nil {
		c.fail(f, err)
		return
	}
	c.result(f, res)
}

func params(f message.Frame, to any) error {
	raw := f.Params
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := wire.Unmarshal(raw, to); err != nil {
		return &message.Error{Code: message.CodeParams, Message: err.Error()}
	}
	return nil
}

func (c *peer) open(ctx context.Context, f message.Frame) {
	var p message.OpenParams
	if err := params(f, &p); err != nil {
		c.fail(f, err)
		return
	}
	face, err := c.o.Hub.OpenAt(ctx, p.Options)
	if err != nil {
		c.fail(f, err)
		return
	}
	c.follow(f, face)
}

func (c *peer) attach(f message.Frame) {
	var p message.AttachParams
	if err := params(f, &p); err != nil {
		c.fail(f, err)
		return
	}
	var face *hub.Face
	var err error
	if p.Join {
		face, err = c.o.Hub.Join(p.Session)
	} else {
		face, err = c.o.Hub.Attach(p.Session, p.Since)
	}
	if err == nil && p.Life != "" && p.Life != face.Life {
		_ = face.Close()
		err = message.ErrAnew
	}
	if err != nil {
		c.fail(f, err)
		return
	}
	c.follow(f, face)
}

// follow answers that the client is attached, and sends the events from then on. A client
// that was attached already starts anew.
func (c *peer) follow(f message.Frame, face *hub.Face) {
	id := face.ID()
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		_ = face.Close()
		return
	}
	if before := c.faces[id]; before != nil {
		_ = before.Close()
	}
	c.faces[id] = face
	c.mu.Unlock()
	c.result(f, message.AttachResult{Session: id, Running: face.Turn, Last: face.Last, First: face.First,
		Life: face.Life})
	c.under.Go(func() {
		for e := range face.Events() {
			c.notify(message.Event, message.EventParams{Session: id, Event: e})
		}
		_ = face.Close()
		c.mu.Lock()
		latest := c.faces[id] == face
		if latest {
			delete(c.faces, id)
		}
		c.mu.Unlock()
		if latest {
			c.notify(message.Left, message.SessionParams{Session: id})
		}
	})
}

func (c *peer) detach(id protocol.SessionID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	face := c.faces[id]
	if face == nil {
		return fmt.Errorf("%w %q is attached to", protocol.ErrNoSession, id)
	}
	return face.Close()
}

func list(h *hub.Hub) message.SessionsResult {
	var res message.SessionsResult
	for _, i := range h.List() {
		res.Sessions = append(res.Sessions, message.Session{ID: i.ID, Title: i.Title, Cwd: i.Settings.Cwd,
			Model: i.Settings.Model, State: string(i.State), Questions: i.Questions, Processes: i.Processes, Faces: i.Faces,
			Events: i.Events, Opened: i.Opened.Unix()})
	}
	return res
}

func (c *peer) result(f message.Frame, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		c.fail(f, err)
		return
	}
	if len(f.ID) > 0 {
		c.send(message.Frame{ID: f.ID, Result: b})
	}
}

// fail answers with an error. A notification has nobody to tell.
func (c *peer) fail(f message.Frame, err error) {
	if len(f.ID) == 0 {
		return
	}
	var told *message.Error
	if !errors.As(err, &told) {
		told = &message.Error{Code: message.CodeOf(err), Message: err.Error()}
	}
	c.send(message.Frame{ID: f.ID, Error: told})
}

func (c *peer) notify(method string, v any) {
	if b, err := wire.Marshal(v); err == nil {
		c.send(message.Frame{Method: method, Params: b})
	}
}

// send writes one message. Who does not take it is left.
func (c *peer) send(f message.Frame) {
	f.JSONRPC = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(f) != nil {
		return
	}
	_, _ = c.out.Write(b.Bytes())
}

func idOf(f message.Frame) json.RawMessage {
	if len(f.ID) == 0 {
		return json.RawMessage("null")
	}
	return f.ID
}
