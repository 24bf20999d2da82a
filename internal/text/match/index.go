package match

import "bytes"

const (
	// long is the size from which a text is worth a sample.
	long = 64 << 10
	// pieces of a text, each of some bytes, are the sample.
	pieces, piece = 16, 256
)

// rarest returns where in a passage the byte is that the text has the fewest of, as far as a sample
// tells; 0 for short texts.
func rarest(text, passage []byte) int {
	if len(text) < long {
		return 0
	}
	var times [256]int
	for i := range pieces {
		at := i * (len(text) - piece) / (pieces - 1)
		for _, b := range text[at : at+piece] {
			times[b]++
		}
	}
	off := 0
	for i, b := range passage {
		if times[b] < times[passage[off]] {
			off = i
		}
	}
	return off
}

// index is bytes.Index. It looks for one byte of the passage, the one at off, as long as the text
// has few of them: that goes over a text some times faster than the search for all.
func index(text, passage []byte, off int) int {
	if len(text) < long {
		return bytes.Index(text, passage)
	}
	const few, room = 32, 128 // at first, and for each so many bytes one more
	for at, vain := 0, 0; ; vain++ {
		if vain > few+at/room {
			if i := bytes.Index(text[at:], passage); i >= 0 {
				return at + i
			}
			return -1
		}
		if len(text)-at < len(passage) {
			return -1
		}
		i := bytes.IndexByte(text[at+off:], passage[off])
		if i < 0 {
			return -1
		}
		if at += i; bytes.HasPrefix(text[at:], passage) {
			return at
		}
		at++
	}
}
