package browser

import (
	"context"
	"errors"
	"sync"
	"time"

	"kerf/internal/front/serve/client"
	"kerf/internal/front/serve/hub"
	"kerf/internal/front/web"
	"kerf/internal/protocol"
)

// running finds the sessions of `kerf serve`. However many pages follow a session, it is
// followed once.
type running struct {
	client client.Client
	hub    *hub.Hub

	opening sync.Mutex
	next    joiner // opens the next session; guarded by opening
}

// Open hands on to the joiner of the session that is being opened.
func (r *running) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	return r.next.Open(ctx, o)
}

// left is how long a session is followed that no page follows any more.
const left = 10 * time.Second

func newRunning(home string) *running {
	r := &running{client: client.Client{Home: home}}
	r.hub = hub.New(hub.Options{Sessions: r, Idle: left,
		Find: func(_ context.Context, o protocol.OpenOptions) (protocol.SessionID, error) {
			return protocol.SessionID(o.Resume), nil
		}})
	return r
}

func (r *running) close() { r.hub.Close() }

// List is [web.Live].
func (r *running) List(ctx context.Context) ([]web.LiveSession, error) {
	list, err := r.client.List(ctx)
	if err != nil {
		if client.Gone(err) {
			err = nil
		}
		return nil, err
	}
	out := make([]web.LiveSession, 0, len(list))
	for _, s := range list {
		out = append(out, web.LiveSession{ID: s.ID, Title: s.Title, Cwd: s.Cwd, Model: s.Model, State: s.State,
			Questions: s.Questions, Processes: s.Processes, Faces: s.Faces, Opened: time.Unix(s.Opened, 0)})
	}
	return out, nil
}

// Join is [web.Live].
func (r *running) Join(ctx context.Context, id protocol.SessionID) (protocol.Session, error) {
	face, err := r.hub.Join(id)
	if err == nil {
		return face, nil
	}
	if !errors.Is(err, protocol.ErrNoSession) {
		return nil, err
	}
	j := joiner{client: r.client, turn: new(protocol.TurnID)}
	r.opening.Lock()
	defer r.opening.Unlock()
	r.next = j
	if face, err = r.hub.OpenAt(ctx, protocol.OpenOptions{Resume: string(id)}); err != nil {
		return nil, err
	}
	return first{face, *j.turn}, nil
}

// first is the face that began to follow a session, which knows the running turn before its
// first event has come.
type first struct {
	*hub.Face
	turn protocol.TurnID
}

// Running is the turn that runs.
func (f first) Running() protocol.TurnID { return f.turn }

// joiner opens sessions by joining them: it never begins one.
type joiner struct {
	client client.Client
	turn   *protocol.TurnID
}

// Open joins a session of the server.
func (j joiner) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	s, err := j.client.Join(context.WithoutCancel(ctx), protocol.SessionID(o.Resume))
	if err != nil {
		return nil, err
	}
	*j.turn = s.Running()
	return s, nil
}
