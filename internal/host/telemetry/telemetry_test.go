package telemetry

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/internal/protocol"
)

// What cannot be sent is bounded and thrown away, and nobody waits for it.
func TestAStuckCollectorBoundsWhatIsKept(t *testing.T) {
	stuck := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer server.Close()
	defer close(stuck)
	w := Start(Options{Endpoint: server.URL, Signals: []string{"traces", "metrics", "logs"}})
	s := w.Session("id", "openai", "m")
	turn(s, 3*maxWaiting)
	e := w.exporter
	e.mu.Lock()
	spans, logs, dropped := len(e.spans), len(e.logs), e.dropped
	e.mu.Unlock()
	if spans > maxWaiting || logs > maxWaiting || dropped == 0 {
		t.Errorf("%d spans and %d records wait, %d were thrown away", spans, logs, dropped)
	}
	w.Close()
}

// turn is a turn with n calls and n warnings.
func turn(s *Session, n int) {
	now := time.Now()
	s.Event(protocol.Event{Time: now, Msg: protocol.TurnStarted{}})
	for range n {
		s.Event(protocol.Event{Time: now, Msg: protocol.Warning{Message: "SECRET"}})
		s.Event(protocol.Event{Time: now, Msg: protocol.ItemCompleted{Item: protocol.Item{
			Body: protocol.Command{Command: "SECRET", Output: "SECRET"}}}})
	}
	s.Event(protocol.Event{Time: now, Msg: protocol.TurnCompleted{LastMessage: "SECRET"}})
}

// All that fits the buffers arrives, whole, each part once, and with what it belongs to.
func TestACollectorGetsAll(t *testing.T) {
	var mu sync.Mutex
	ids, parents := map[string]int{}, map[string]string{}
	records := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []logRecord }
			}
		}
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil || strings.Contains(string(text), "SECRET") {
			t.Errorf("%v: %s", err, text)
		}
		for _, rs := range body.ResourceSpans {
			for _, sp := range rs.ScopeSpans[0].Spans {
				ids[sp.ID]++
				parents[sp.ID] = sp.Parent
			}
		}
		for _, rl := range body.ResourceLogs {
			records += len(rl.ScopeLogs[0].LogRecords)
		}
	}))
	defer server.Close()
	w := Start(Options{Endpoint: server.URL, Signals: []string{"traces", "logs"}})
	const calls = 1000
	turn(w.Session("id", "openai", "m"), calls)
	w.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(ids) != calls+1 || records != calls {
		t.Errorf("%d spans and %d records arrived, want %d and %d", len(ids), records, calls+1, calls)
	}
	for id, n := range ids {
		if parent := parents[id]; n != 1 || parent != "" && ids[parent] != 1 {
			t.Errorf("span %s arrived %d times, its parent %q %d times", id, n, parent, ids[parent])
		}
	}
}
