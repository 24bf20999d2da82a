// Package serve plays a scenario as a model provider on the loopback interface,
// in whichever wire protocol it is asked.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
)

// Server is a running provider: request k gets round k.
type Server struct {
	// URL is the base_url of the provider.
	URL string

	scenario *script.Scenario
	http     *http.Server
	serving  sync.WaitGroup // the goroutine of http, which Close ends
	mu       sync.Mutex
	played   int // guarded by mu
}

// Start serves s until Close.
func Start(s *script.Scenario) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted server: %w", err)
	}
	server := &Server{URL: "http://" + listener.Addr().String() + "/v1", scenario: s}
	server.http = &http.Server{Handler: http.HandlerFunc(server.serve), ReadHeaderTimeout: 10 * time.Second}
	server.serving.Go(func() { _ = server.http.Serve(listener) }) // it ends with Close
	return server, nil
}

// Close ends all connections and waits for the server.
func (s *Server) Close() {
	_ = s.http.Close() // only the listener can complain, and it is gone
	s.serving.Wait()
}

// maxBody bounds a request.
const maxBody = 256 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	api, ok := dialect.Of(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client left, or sends without end
	}
	k := s.next()
	if k > len(s.scenario.Rounds) {
		s.refuse(w, api, &script.Failure{Kind: model.BadCall,
			Message: fmt.Sprintf("scenario %q has %d rounds, request %d has no answer", s.scenario.Title,
				len(s.scenario.Rounds), k)})
		return
	}
	round := s.scenario.Rounds[k-1]
	if round.Expect != nil {
		if differs := round.Expect.Check(api.Texts(body)); differs != "" {
			s.refuse(w, api, &script.Failure{Kind: model.BadCall,
				Message: fmt.Sprintf("scenario %q: round %d: %s", s.scenario.Title, k, differs)})
			return
		}
	}
	if wait(r.Context(), time.Duration(round.DelayMS)*time.Millisecond) != nil {
		return
	}
	if round.Error != nil && len(round.Items) == 0 {
		s.refuse(w, api, round.Error)
		return
	}
	play(w, api.Render(round, k), round.Cut)
}

func (s *Server) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played++
	return s.played
}

func (s *Server) refuse(w http.ResponseWriter, api dialect.API, f *script.Failure) {
	status, body := api.Refusal(f)
	w.Header().Set("Content-Type", "application/json")
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(f.RetryAfter, 'f', -1, 64))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the client may leave
}

func play(w http.ResponseWriter, events []string, cut bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for _, e := range events {
		if _, err := io.WriteString(w, e); err != nil {
			return
		}
		if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
	}
	if cut {
		panic(http.ErrAbortHandler) // closes the connection without the end of the body
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
