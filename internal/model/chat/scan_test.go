package chat

import (
	"runtime"
	"strings"
	"testing"

	"kerf/internal/model"
)

// TestATextCostsWhatItIsLong: a text in many parts, as models send it, takes memory in
// proportion.
func TestATextCostsWhatItIsLong(t *testing.T) {
	const parts, part = 20_000, "some words"
	s := newScanner([]model.Tool{{Name: "t"}}, true)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	shown := 0
	for range parts {
		_, more := s.add(part)
		shown += len(more)
	}
	runtime.ReadMemStats(&after)
	size := parts * len(part)
	if n := (after.TotalAlloc - before.TotalAlloc) / uint64(size); n > 100 {
		t.Errorf("%d bytes for each byte of the text", n)
	}
	if r := s.finish(false); shown+len(r.shown) != size || s.text != strings.Repeat(part, parts) {
		t.Errorf("%d bytes of %d are shown", shown+len(r.shown), size)
	}
}
