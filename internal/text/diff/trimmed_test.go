package diff

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestTrimmedHunksAreThoseOfWholeTexts: what is alike at the ends changes nothing but
// the time, headings and line numbers included.
func TestTrimmedHunksAreThoseOfWholeTexts(t *testing.T) {
	trimmed := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"func f() {\n", "\tx := 1\n", "\ty := 2\n", "\n", "}\n", "\tif a {\n", "_ = y\n",
			"  - item\n"})
		var b strings.Builder
		for i := range rapid.IntRange(0, 12).Draw(t, "groups") {
			l := line.Draw(t, "line")
			for range rapid.SampledFrom([]int{1, 1, 30, 2500}).Draw(t, "times") {
				b.WriteString(l)
			}
			if rapid.Bool().Draw(t, "marked") {
				fmt.Fprintf(&b, "\tmark %d\n", i)
			}
		}
		old := b.String()
		at := rapid.IntRange(0, len(old)).Draw(t, "at")
		end := min(len(old), at+rapid.SampledFrom([]int{0, 1, 12, 60}).Draw(t, "cut"))
		fill := rapid.SampledFrom([]string{"", "z", "new line\n", "\tx := 1\n", "func g() {\n\n}\n"}).Draw(t, "fill")
		new := old[:at] + fill + old[end:]
		var got, want bytes.Buffer
		writeHunks(&got, []byte(old), []byte(new))
		writeHunksWithin(&want, []byte(old), []byte(new), 0, 0)
		if d := cmp.Diff(want.String(), got.String()); d != "" {
			t.Fatal(d)
		}
		if head, _ := common([]byte(old), []byte(new)); head > 0 {
			trimmed++
		}
	})
	if trimmed == 0 {
		t.Error("nothing was ever left out")
	}
}
