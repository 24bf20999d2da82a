package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// BenchmarkGrowth measures a round at the end of histories of 10 to 10,000 rounds
// (1,000 without KERF_LONG=1), what the record grows by, and the heap.
func BenchmarkGrowth(b *testing.B) {
	sizes := []int{10, 100, 1000}
	if os.Getenv("KERF_LONG") != "" {
		sizes = append(sizes, 2000, 10_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := scripted(b, &talker{})
			s := open(b, h, protocol.OpenOptions{})
			round := func(i int) {
				op := protocol.UserInput{Items: []protocol.Input{{Text: "a message of the usual length, about one thing"}}}
				if err := s.Submit(b.Context(), protocol.Submission{ID: fmt.Sprintf("turn-%d", i), Op: op}); err != nil {
					b.Fatal(err)
				}
				s.until(is[protocol.TurnCompleted])
			}
			for i := range n {
				round(i)
			}
			path := filepath.Join(h.SessionsDir(), string(s.ID()), "rollout.jsonl")
			size := func() int64 {
				st, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				return st.Size()
			}
			before, i := size(), n
			for b.Loop() {
				round(i)
				i++
			}
			b.ReportMetric(float64(size()-before)/float64(i-n), "bytes/round")
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
		})
	}
}

// BenchmarkOpenLarge opens a session of 100 MB, of 1 GB with KERF_LONG=1, and waits
// for its first request. It reports the heap beyond that of a fresh session.
func BenchmarkOpenLarge(b *testing.B) {
	size := int64(100 << 20)
	if os.Getenv("KERF_LONG") != "" {
		size = 1 << 30
	}
	h := scripted(b, &talker{})
	id := largeSession(b, h, size)
	for name, o := range map[string]protocol.OpenOptions{"fresh": {Ephemeral: true}, "resumed": {Resume: id}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := open(b, h, o)
				s.say("go on")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
				shut(b, s)
				runtime.GC()
			}
		})
	}
}

// largeSession makes a session that was compacted every 4 MB.
func largeSession(b *testing.B, h *Host, size int64) string {
	b.Helper()
	const id = "01990000-0000-7000-8000-000000000001"
	dir := filepath.Join(h.SessionsDir(), id)
	w, err := rollout.Create(dir, h.Sessions().Rollout())
	if err != nil {
		b.Fatal(err)
	}
	put := func(r history.Record) {
		if err := w.Append(rollout.Entry{Type: r.Type(), Body: r}); err != nil {
			b.Fatal(err)
		}
	}
	result := strings.Repeat("a line of the output of some tool\n", 500)
	put(history.SessionMeta{ID: id, Model: "m", Cwd: h.Config.Cwd})
	written, since := int64(0), 0
	for n := 0; written < size; n++ {
		turn := protocol.TurnID(fmt.Sprintf("turn-%d", n))
		put(history.TurnContext{Turn: turn, Settings: protocol.Settings{Model: "m", Cwd: h.Config.Cwd}})
		put(history.UserInput{Turn: turn, Text: "words"})
		for i := range 10 {
			put(history.ToolCall{Turn: turn, Round: 10*n + i, Call: protocol.CallID(fmt.Sprintf("call_%d_%d", n, i)),
				Name: "grep",
				Args: json.RawMessage(`{"pattern":"x"}`), Style: model.Function, Result: result, Success: true})
			written += int64(len(result))
		}
		put(history.EventRecord{Turn: turn, What: history.TurnCompleted})
		if since++; since == 24 {
			since = 0
			put(history.Compacted{Turn: turn, Summary: "much",
				Items: []*model.Item{model.UserText("words"), model.UserText("much")}, Words: []int{0}})
		}
	}
	if err := w.SaveMetadata(rollout.Metadata{ID: id, Cwd: h.Config.Cwd, Model: "m"}); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return id
}
