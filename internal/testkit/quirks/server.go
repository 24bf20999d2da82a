package quirks

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is the emulated servers of a case.
type Server struct {
	URL string

	of       *Case
	http     *httptest.Server
	mu       sync.Mutex
	requests []*Request // guarded by mu
	refused  []string   // guarded by mu
}

// Start starts the servers of a case. The path of a request begins with the name of
// its provider.
func Start(c *Case) (*Server, error) {
	s := &Server{of: c}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	if !c.Closed {
		return s, nil
	}
	s.http.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.URL = "http://" + free.Addr().String()
	return s, free.Close()
}

// Close ends the servers.
func (s *Server) Close() {
	if !s.of.Closed {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// Requests are those for answers, in order, and the words with which requests were
// refused.
func (s *Server) Requests() ([]*Request, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...), append([]string(nil), s.refused...)
}

// Read makes a request of what arrived.
func Read(path string, h http.Header, body []byte) *Request {
	r := &Request{Header: h, Body: body}
	r.Provider, r.Path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	_ = json.Unmarshal(body, &r.JSON) // no object is no request, which the rules see
	return r
}

func (s *Server) serve(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client left
	}
	r := Read(hr.URL.Path, hr.Header, body)
	if doc, ok := s.of.Gets["/"+r.Path]; ok {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, doc) // the client may leave
		return
	}
	if hr.Method != http.MethodPost {
		http.NotFound(w, hr)
		return
	}
	s.answer(w, hr, s.admit(r))
}

// admit records a request and picks its answer.
func (s *Server) admit(r *Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.of.Refuses != nil {
		if words := s.of.Refuses(r); words != "" {
			s.refused = append(s.refused, words)
			return refusal(400, words)
		}
	}
	n := len(s.requests) - len(s.refused) - 1
	switch {
	case n < len(s.of.Answers):
		return s.of.Answers[n]
	case s.of.Repeat && len(s.of.Answers) > 0:
		return s.of.Answers[len(s.of.Answers)-1]
	}
	return refusal(400, fmt.Sprintf("no answer left for request %d", n+1))
}

func refusal(status int, words string) Answer {
	b, err := json.Marshal(map[string]any{"type": "error",
		"error": map[string]any{"message": words, "type": "invalid_request_error", "code": nil}})
	if err != nil {
		panic(err) // words are a string
	}
	return Answer{Status: status, Body: string(b)}
}

func (s *Server) answer(w http.ResponseWriter, hr *http.Request, a Answer) {
	if a.Wait > 0 {
		select {
		case <-time.After(a.Wait):
		case <-hr.Context().Done():
			return
		}
	}
	status, kind := a.Status, "application/json"
	if status == 0 || status == 200 {
		status, kind = 200, "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	body := a.Body
	if a.Gzip {
		w.Header().Set("Content-Encoding", "gzip")
		body = compressed(body)
	}
	w.WriteHeader(status)
	a.write(w, hr, body)
	switch {
	case a.Endless != "":
		for hr.Context().Err() == nil {
			a.write(w, hr, a.Endless)
		}
	case a.Stall:
		<-hr.Context().Done()
	case a.Cut:
		panic(http.ErrAbortHandler) // closes the connection without the end of the body
	}
}

// write sends text in the pieces of an answer.
func (a Answer) write(w http.ResponseWriter, hr *http.Request, text string) {
	n := len(text)
	if a.Piece > 0 {
		n = a.Piece
	}
	for text != "" && hr.Context().Err() == nil {
		n = min(n, len(text))
		_, _ = io.WriteString(w, text[:n])        // the client may leave
		_ = http.NewResponseController(w).Flush() // likewise
		text = text[n:]
		time.Sleep(a.Gap)
	}
}

func compressed(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		panic(err) // a builder takes everything
	}
	if err := w.Close(); err != nil {
		panic(err) // likewise
	}
	return b.String()
}
