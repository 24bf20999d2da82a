package rollout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindPassesLongLines finds records by their numbers among long lines, and reads little for that:
// where a long line ends is known.
func TestFindPassesLongLines(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	type span struct{ from, end int64 }
	var spans []span
	var starts []int64
	for n := range 60 {
		from := int64(b.Len())
		starts = append(starts, from)
		size := 50
		if n%7 == 3 {
			size = 300_000
		}
		fmt.Fprintf(&b, `{"seq":%d,"timestamp":"2026-01-01T00:00:00.000Z","type":"x","prev":"p","a":"%s"}`+"\n", n+1, strings.Repeat("x", size))
		if size > 1000 {
			spans = append(spans, span{from, int64(b.Len())})
		}
	}
	if err := os.WriteFile(filepath.Join(dir, rolloutName), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	past := func(at int64) int64 {
		for _, s := range spans {
			if s.from <= at && at < s.end {
				return s.end
			}
		}
		return 0
	}
	for n, want := range starts {
		for _, p := range []func(int64) int64{nil, past} {
			if got, ok := Find(dir, int64(n+1), 0, 0, p); !ok || got != want {
				t.Errorf("%d is at %d, %t, want %d", n+1, got, ok, want)
			}
		}
	}
	for _, n := range []int64{0, 61, -1} {
		if _, ok := Find(dir, n, 0, 0, past); ok {
			t.Errorf("%d is found", n)
		}
	}
}
