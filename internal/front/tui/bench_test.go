package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/protocol"
)

// BenchmarkKeyWhileStreaming measures from a key press to its bytes at the
// terminal while an answer of 1,000 tokens a second comes in: between two keys
// 100 ms of it are drawn. p50 and p99 are reported beside the mean.
func BenchmarkKeyWhileStreaming(b *testing.B) {
	s := story(b, 120, 40)
	s.event("t", protocol.TurnStarted{}, started("m", answer("")))
	words := []string{"some ", "`code` ", "and **bold** ", "text ", "with ", "lines\n", "in ", "it. ", "\n\n", "- item "}
	var took []time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		for range 3 { // 33 tokens a frame
			var sb strings.Builder
			for range 33 {
				n++
				sb.WriteString(words[n%len(words)])
			}
			s.event("t", delta("m", sb.String()))
		}
		s.vt.Forget()
		if n%2000 == 0 {
			s.keys("ctrl+u")
		}
		s.clock = s.clock.Add(100 * time.Millisecond)
		b.StartTimer()
		from := time.Now()
		s.send(press("x"))
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkStream measures what one second of an answer of 1,000 tokens a second
// costs; a tenth of a core is 100 ms.
func BenchmarkStreamSecond(b *testing.B) {
	s := story(b, 120, 40)
	s.event("t", protocol.TurnStarted{}, started("m", answer("")))
	n := 0
	for b.Loop() {
		for range 30 {
			var sb strings.Builder
			for range 33 {
				n++
				sb.WriteString([]string{"word ", "`code` ", "and ", "text.\n", "\n", "**bold** ", "x "}[n%7])
			}
			s.event("t", delta("m", sb.String()))
		}
		s.vt.Forget()
	}
}

// BenchmarkOpenLongSession opens a session of 10,000 items.
func BenchmarkOpenLongSession(b *testing.B) {
	var turns []protocol.PastTurn
	for i := range 2000 {
		turns = append(turns, protocol.PastTurn{ID: protocol.TurnID(fmt.Sprint(i)),
			Items: []protocol.Item{{Body: user("do it")}, {Body: answer(strings.Repeat("A paragraph of an answer. ", 20))},
				{Status: protocol.Completed, Body: ran("go test ./...", strings.Repeat("ok pkg\n", 50), 0)},
				{Status: protocol.Completed, Body: edited()}, {Body: call("read_file", `{"file_path":"a.go"}`)}}})
	}
	for b.Loop() {
		s := unopened(b, 120, 40, func(o *Options) { o.Open.Resume = "long" })
		s.m.shown.Replay(turns)
		s.m.paint(true)
	}
}

// BenchmarkTranscript opens the transcript of 10,000 items.
func BenchmarkTranscript(b *testing.B) {
	s := story(b, 120, 40)
	for i := range 10_000 {
		s.m.shown.Transcript.Add(protocol.Item{ID: protocol.ItemID(fmt.Sprint(i)),
			Body: answer("A paragraph of an **answer** with `code`.")})
	}
	for b.Loop() {
		s.keys("ctrl+t", "pgup", "q")
	}
}
