package diff

import (
	"bytes"
	"hash/maphash"
)

// maxSimilar is the size above which texts are similar only when equal.
const maxSimilar = 16 << 20

// Similarity returns how much of the larger of two contents is found in the
// other, in percent: the bytes of common pieces, wherever they stand, where a
// piece is a line or 64 bytes of one. It is 100 for equal contents only. It
// takes time linear in the sizes, and gives 0 beyond 16 MiB.
func Similarity(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 100
	}
	large := max(len(a), len(b))
	if min(len(a), len(b)) == 0 || large > maxSimilar {
		return 0
	}
	seed := maphash.MakeSeed()
	have := make(map[uint64]int)
	pieces(a, func(p []byte) { have[maphash.Bytes(seed, p)] += len(p) })
	common := 0
	pieces(b, func(p []byte) {
		if sum := maphash.Bytes(seed, p); have[sum] >= len(p) {
			have[sum] -= len(p)
			common += len(p)
		}
	})
	return min(99, common*100/large)
}

func pieces(b []byte, yield func([]byte)) {
	for len(b) > 0 {
		n := min(64, len(b))
		if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
			n = i + 1
		}
		yield(b[:n])
		b = b[n:]
	}
}
