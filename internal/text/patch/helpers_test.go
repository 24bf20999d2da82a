package patch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/patch"
)

// checkStream holds the law of streams: any cut into pieces gives what the whole
// gives, and that is what the parser says.
func checkStream(t *testing.T, text []byte, p *patch.Patch) {
	t.Helper()
	for _, size := range []int{1, 3, 17, len(text) + 1} {
		var s patch.Stream
		for at := 0; at < len(text); at += size {
			s.Write(text[at:min(at+size, len(text))])
		}
		s.Close()
		if d := cmp.Diff(p.Stats(), s.Stats()); d != "" {
			t.Errorf("pieces of %d:\n%s", size, d)
		}
	}
}
