// Package modeltest is a model provider for tests: a server on the loopback
// interface that answers request n with round n and remembers every request.
//
// It speaks the wire protocols over server-sent events, by the path of the
// request, and breaks them in every way that a test asks for. It is never part of the program.
package modeltest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is a running provider. Its methods may be called at any time.
type Server struct {
	// URL is the base_url of the provider.
	URL string
	// OnRequest, when set before the first request, is called for each; the
	// answer waits for it.
	OnRequest func(*Request)
	// Repeat starts over after the last round. Set it before the first request.
	Repeat bool

	rounds   []Round
	http     *http.Server
	serving  sync.WaitGroup
	mu       sync.Mutex
	requests []*Request   // guarded by mu
	extra    []Round      // added later; guarded by mu
	given    map[int]bool // rounds kept for certain requests that were played; guarded by mu
}

// Start serves rounds until the test ends.
func Start(t TB, rounds ...Round) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", rounds...)
	if err != nil {
		t.Fatalf("model server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Serve serves rounds on addr until Close.
func Serve(addr string, rounds ...Round) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String() + "/v1", rounds: rounds}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener is ours alone
		}
	})
	return s, nil
}

// Close ends all connections and waits for the server.
func (s *Server) Close() {
	_ = s.http.Close() // only the listener can complain, and it is gone
	s.serving.Wait()
}

// Add appends rounds.
func (s *Server) Add(rounds ...Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = append(s.extra, rounds...)
}

// Requests returns the requests for answers so far, in order.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Request returns request n (from 0) and ends the test if there is none.
func (s *Server) Request(t TB, n int) *Request {
	t.Helper()
	all := s.Requests()
	if n >= len(all) {
		t.Fatalf("model request %d was not made, there are %d", n, len(all))
	}
	return all[n]
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`) // the client may leave
		return
	}
	req := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body,
		Remote: r.RemoteAddr}
	k, round := s.admit(req)
	if s.OnRequest != nil {
		s.OnRequest(req)
	}
	send(w, r, round.ready(k, req))
}

// admit records req and picks its round, counted from 1.
func (s *Server) admit(req *Request) (int, Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	all := append(s.rounds[:len(s.rounds):len(s.rounds)], s.extra...)
	var rounds []Round // for any request
	for i, r := range all {
		switch {
		case len(r.For) == 0:
			rounds = append(rounds, r)
		case !s.given[i] && r.suits(req):
			if s.given == nil {
				s.given = map[int]bool{}
			}
			s.given[i] = true
			return len(s.requests), r
		}
	}
	k := len(s.requests) - len(s.given)
	switch {
	case k <= len(rounds):
		return k, rounds[k-1]
	case s.Repeat && len(rounds) > 0:
		return k, rounds[(k-1)%len(rounds)]
	}
	return k, refusal(req.api(), &script.Failure{Kind: model.BadCall,
		Message: fmt.Sprintf("no round left: request %d of %d", k, len(rounds))})
}

// send writes the answer with its faults.
func send(w http.ResponseWriter, r *http.Request, a answer) {
	if !pause(r, a.Delay) {
		return
	}
	status, contentType := a.Status, "application/json"
	if status == 0 || status == http.StatusOK {
		status, contentType = http.StatusOK, "text/event-stream"
	}
	w.Header().Set("Content-Type", contentType)
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	flush(w)
	body, end := a.Body, -1
	if a.CutAt != nil {
		end = min(*a.CutAt, len(body))
	}
	if a.StallAt != nil {
		end = min(*a.StallAt, len(body))
	}
	if end >= 0 {
		body = body[:end]
	}
	if !write(w, r, body, a.Slow) {
		return
	}
	switch {
	case a.StallAt != nil:
		<-r.Context().Done()
	case a.CutAt != nil || a.cut:
		panic(http.ErrAbortHandler) // closes the connection without the end of the body
	}
}

// write sends body, byte by byte when slow, and reports false when the client
// left.
func write(w http.ResponseWriter, r *http.Request, body string, slow time.Duration) bool {
	if slow <= 0 {
		_, err := io.Copy(w, strings.NewReader(body))
		flush(w)
		return err == nil
	}
	for i := range len(body) {
		if !pause(r, slow) {
			return false
		}
		if _, err := io.WriteString(w, body[i:i+1]); err != nil {
			return false
		}
		flush(w)
	}
	return true
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}
