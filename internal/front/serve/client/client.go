// Package client opens sessions in `kerf serve` and follows them. Each session has a
// connection of its own, so that a front end that takes its events slowly holds up
// nobody else.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"kerf/internal/front/serve/endpoint"
	"kerf/internal/front/serve/message"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
)

// Client reaches the server of one Kerf home. It is a protocol.Sessions.
type Client struct{ Home string }

var _ protocol.Sessions = Client{}

// Open opens a session in the server, or joins it where it is live already. Closing the
// session leaves it running there.
func (c Client) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	o.Client = nil // what only a program of this process can do
	s, err := c.follow(ctx, message.Open, message.OpenParams{Options: o})
	if err != nil {
		return nil, err // not a session that is none: who closes what was opened would not see it
	}
	return s, nil
}

// Attach attaches to a live session, behind the event with the number since.
func (c Client) Attach(ctx context.Context, id protocol.SessionID, since uint64) (*Session, error) {
	return c.follow(ctx, message.Attach, message.AttachParams{Session: id, Since: since})
}

// Join joins a live session at its running turn.
func (c Client) Join(ctx context.Context, id protocol.SessionID) (*Session, error) {
	return c.follow(ctx, message.Attach, message.AttachParams{Session: id, Join: true})
}

func (c Client) follow(ctx context.Context, method string, params any) (*Session, error) {
	l, err := c.dial(ctx, false)
	if err != nil {
		return nil, err
	}
	var res message.AttachResult
	if err := l.call(ctx, method, params, &res); err != nil {
		_ = l.c.Close()
		return nil, err
	}
	s := newSession(c, l, res)
	go s.run()
	return s, nil
}

// List lists the live sessions.
func (c Client) List(ctx context.Context) ([]message.Session, error) {
	var res message.SessionsResult
	err := c.once(ctx, message.Sessions, struct{}{}, &res)
	return res.Sessions, err
}

// End ends a live session for all its front ends.
func (c Client) End(ctx context.Context, id protocol.SessionID) error {
	return c.once(ctx, message.End, message.SessionParams{Session: id}, &struct{}{})
}

// Stop ends the server with all its sessions.
func (c Client) Stop(ctx context.Context) error {
	return c.once(ctx, message.Stop, struct{}{}, &struct{}{})
}

// Hello tells what the server says of itself.
func (c Client) Hello(ctx context.Context) (message.HelloResult, error) {
	l, err := c.dial(ctx, false)
	if err != nil {
		return message.HelloResult{}, err
	}
	return l.hello, l.c.Close()
}

// ACP returns a connection over which the server speaks the Agent Client Protocol.
func (c Client) ACP(ctx context.Context) (net.Conn, error) {
	l, err := c.dial(ctx, true)
	if err != nil {
		return nil, err
	}
	return l.c, nil // the server says nothing before it is asked, so nothing was read beyond
}

func (c Client) once(ctx context.Context, method string, params, result any) error {
	l, err := c.dial(ctx, false)
	if err != nil {
		return err
	}
	defer l.c.Close()
	return l.call(ctx, method, params, result)
}

// line is one connection.
type line struct {
	c     net.Conn
	in    *bufio.Reader
	hello message.HelloResult

	mu sync.Mutex // of writes
	n  int        // requests so far
}

func (c Client) dial(ctx context.Context, acp bool) (*line, error) {
	conn, e, err := endpoint.Dial(ctx, c.Home)
	if err != nil {
		return nil, err
	}
	l := &line{c: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	err = l.call(ctx, message.Hello, message.HelloParams{Version: message.Version, Token: e.Token, ACP: acp}, &l.hello)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return l, nil
}

// call sends a request and waits for its answer; what else comes meanwhile is of nobody's
// concern yet.
func (l *line) call(ctx context.Context, method string, params, result any) error {
	defer context.AfterFunc(ctx, func() { _ = l.c.Close() })()
	l.n++
	id := json.RawMessage(fmt.Sprint(l.n))
	if err := l.send(id, method, params); err != nil {
		return l.why(ctx, err)
	}
	for {
		f, err := l.read()
		switch {
		case err != nil:
			return l.why(ctx, err)
		case !bytes.Equal(f.ID, id) && !(f.Error != nil && string(f.ID) == "null"):
			continue
		case f.Error != nil:
			return f.Error
		}
		return wire.Unmarshal(f.Result, result)
	}
}

func (l *line) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the connection to kerf serve broke: %w", err)
}

// send writes a request, or a notification where id is nil.
func (l *line) send(id json.RawMessage, method string, params any) error {
	p, err := wire.Marshal(params)
	if err != nil {
		return err
	}
	b, err := json.Marshal(message.Frame{JSONRPC: "2.0", ID: id, Method: method, Params: p})
	if err != nil {
		return err
	}
	if len(b) > message.Limit {
		return fmt.Errorf("the message has %d bytes, more than %d", len(b), message.Limit)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.c.Write(append(b, '\n'))
	return err
}

func (l *line) read() (message.Frame, error) {
	var f message.Frame
	b, err := l.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	return f, err
}

// Gone reports whether err says that no server runs.
func Gone(err error) bool { return errors.Is(err, endpoint.ErrNone) }
