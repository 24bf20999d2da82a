package wire

import (
	"bytes"
	"encoding/json"
	"io"
)

// Body is a request body made of pieces, so that a long conversation need not
// be copied to be sent. The pieces must not change while a call is under way.
type Body struct{ pieces [][]byte }

// NewBody returns the body of the joined pieces.
func NewBody(pieces ...[]byte) *Body { return &Body{pieces} }

// Len returns the length in bytes.
func (b *Body) Len() int64 {
	var n int64
	for _, p := range b.pieces {
		n += int64(len(p))
	}
	return n
}

// Bytes returns a copy of the whole body.
func (b *Body) Bytes() []byte { return bytes.Join(b.pieces, nil) }

func (b *Body) reader() io.Reader {
	readers := make([]io.Reader, len(b.pieces))
	for i, p := range b.pieces {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}

func compactJSON(raw json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}
