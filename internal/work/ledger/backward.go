package ledger

import (
	"bytes"
	"errors"
	"io"
)

const firstChunk = 16 << 10

// linesBackward calls yield with each non-empty line of the first size bytes of r,
// without its newline, and with the offset of its first byte, from the last line to
// the first, until yield returns false. A line is valid only during the call.
func linesBackward(r io.ReaderAt, size int64, yield func(line []byte, at int64) bool) error {
	chunk := int64(firstChunk)
	var rest []byte // the beginning of what was read: the end of a line that starts earlier
	for pos := size; pos > 0; {
		n := min(chunk, pos)
		pos -= n
		b := make([]byte, n+int64(len(rest)))
		if _, err := r.ReadAt(b[:n], pos); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		copy(b[n:], rest)
		for {
			i := bytes.LastIndexByte(b, '\n')
			if i < 0 {
				break
			}
			if line := b[i+1:]; len(line) > 0 && !yield(line, pos+int64(i)+1) {
				return nil
			}
			b, chunk = b[:i], firstChunk
		}
		// Doubling keeps the copying of one huge line linear.
		rest, chunk = b, chunk*2
	}
	if len(rest) > 0 {
		yield(rest, 0)
	}
	return nil
}
