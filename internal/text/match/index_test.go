package match

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestIndexIsThatOfBytes searches texts of few kinds of bytes, and passages at their ends.
func TestIndexIsThatOfBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		text := make([]byte, long+random.IntN(2*long))
		kinds := 1 + random.IntN(60)
		for i := range text {
			text[i] = byte('a' + random.IntN(kinds))
		}
		passage := make([]byte, 1+random.IntN(200))
		for i := range passage {
			passage[i] = byte('a' + random.IntN(kinds+1))
		}
		switch at := random.IntN(len(text) - len(passage) + 1); n % 4 {
		case 0:
			copy(text[at:], passage)
		case 1:
			copy(text[len(text)-len(passage):], passage)
		case 2:
			copy(text, passage)
		}
		off := rarest(text, passage)
		if got, want := index(text, passage, off), bytes.Index(text, passage); got != want {
			t.Fatalf("%d: index is %d, not %d; %d bytes at most of %d kinds, off %d", n, got, want, len(passage), kinds, off)
		}
	}
}

// BenchmarkExact is the search for a line in 10 MB of others.
func BenchmarkExact(b *testing.B) {
	text := bytes.Repeat([]byte("// a line of the file that says little, but says it\n"), 200_000)
	for _, passage := range []string{"the other 17", "the one", "says it\n// a line of file"} {
		b.Run(passage[:7], func(b *testing.B) {
			for b.Loop() {
				if exact(text, []byte(passage)) != nil {
					b.Fatal("found")
				}
			}
		})
	}
}
