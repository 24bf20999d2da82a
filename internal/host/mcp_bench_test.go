package host

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kerf/internal/config"
	"kerf/internal/protocol"
)

// troubled are ten servers of which none comes up: some never answer, some end at
// once, some are not there.
func troubled() map[string]config.MCPServer {
	kinds := []config.MCPServer{
		{Command: "/bin/sh", Args: []string{"-c", "sleep 600"}},
		{Command: "/bin/sh", Args: []string{"-c", "echo broken >&2; exit 3"}},
		{Command: "/no/such/program"},
		{URL: "http://127.0.0.1:1/mcp"},
		{Command: "/bin/sh", Args: []string{"-c", "echo hello; cat >/dev/null"}},
	}
	all := map[string]config.MCPServer{}
	for i := range 10 {
		s := kinds[i%len(kinds)]
		s.Enabled, s.StartupTimeout, s.ToolTimeout = true, 30*time.Second, time.Minute
		all[fmt.Sprint("server", i)] = s
	}
	return all
}

// BenchmarkFirstRequest measures from Open to the first request that reaches the
// model, without MCP servers and with ten slow or broken ones.
func BenchmarkFirstRequest(b *testing.B) {
	for name, servers := range map[string]map[string]config.MCPServer{"alone": nil, "ten broken servers": troubled()} {
		b.Run(name, func(b *testing.B) {
			asked := make(chan bool)
			h := scripted(b, nil)
			h.Client = stuck{asked}
			h.Config.MCPServers = servers
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				s, err := h.Open(b.Context(), protocol.OpenOptions{Ephemeral: true})
				if err != nil {
					b.Fatal(err)
				}
				drained := make(chan bool)
				go func() {
					defer close(drained)
					for range s.Events() {
					}
				}()
				if err := s.Submit(b.Context(), protocol.Submission{Op: protocol.UserInput{Items: []protocol.Input{{Text: "go"}}}}); err != nil {
					b.Fatal(err)
				}
				<-asked
				took = append(took, time.Since(began))
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				<-drained
				b.StartTimer()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
		})
	}
}

// TestBrokenServersDoNotHoldUpTheFirstRequest: the request is made while a server
// that never answers is still starting.
func TestBrokenServersDoNotHoldUpTheFirstRequest(t *testing.T) {
	asked := make(chan bool, 1)
	h := scripted(t, nil)
	h.Client = stuck{asked}
	h.Config.MCPServers = troubled()
	s := open(t, h, protocol.OpenOptions{Ephemeral: true})
	s.submit(protocol.UserInput{Items: []protocol.Input{{Text: "go"}}})
	select {
	case <-asked:
	case <-t.Context().Done():
		t.Fatal("no request was made")
	}
}
