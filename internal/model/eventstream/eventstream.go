// Package eventstream reads the frames in which Amazon Bedrock streams answers, as
// server-sent events: the event of a frame becomes one of a line, and what the service
// refuses amid an answer becomes an error.
//
// A frame is: its length (4 bytes), the length of its headers (4), a checksum of both (4),
// headers, payload, and a checksum of all before it (4), in the order of the network.
package eventstream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// maxFrame is what the service sends at most.
const maxFrame = 24 << 20

// ErrDamaged is a frame whose checksums or lengths are wrong.
var ErrDamaged = errors.New("a frame of the answer is damaged")

const (
	preludeSize  = 12
	checksumSize = 4
)

// NewReader returns the events of src as an event stream. A frame is read whole before any
// of it is passed on.
func NewReader(src io.Reader) io.Reader { return &reader{src: src} }

type reader struct {
	src  io.Reader
	left bytes.Buffer // of an event that is passed on
}

func (r *reader) Read(p []byte) (int, error) {
	for r.left.Len() == 0 {
		headers, payload, err := r.frame()
		if err != nil {
			return 0, err
		}
		if err := r.take(headers, payload); err != nil {
			return 0, err
		}
	}
	return r.left.Read(p)
}

// frame reads one frame. At a clean end it returns io.EOF.
func (r *reader) frame() (headers map[string]string, payload []byte, err error) {
	var prelude [preludeSize]byte
	if _, err := io.ReadFull(r.src, prelude[:]); err != nil {
		return nil, nil, err
	}
	size, inHeaders := binary.BigEndian.Uint32(prelude[:]), binary.BigEndian.Uint32(prelude[4:])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) || size > maxFrame ||
		uint64(size) < uint64(inHeaders)+preludeSize+checksumSize {
		return nil, nil, ErrDamaged
	}
	rest := make([]byte, size-preludeSize)
	if _, err := io.ReadFull(r.src, rest); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	body, sum := rest[:len(rest)-checksumSize], binary.BigEndian.Uint32(rest[len(rest)-checksumSize:])
	if crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, body) != sum {
		return nil, nil, ErrDamaged
	}
	headers, err = headersOf(body[:inHeaders])
	return headers, body[inHeaders:], err
}

// sizes are those of the values of headers that have a fixed one, by their type.
var sizes = map[byte]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// headersOf are the headers that are texts; the others are passed over.
func headersOf(b []byte) (map[string]string, error) {
	all := map[string]string{}
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < n+2 {
			return nil, ErrDamaged
		}
		name, kind := string(b[1:n+1]), b[n+1]
		b = b[n+2:]
		size, fixed := sizes[kind]
		if !fixed {
			if kind != 6 && kind != 7 || len(b) < 2 {
				return nil, ErrDamaged
			}
			size, b = int(binary.BigEndian.Uint16(b)), b[2:]
		}
		if len(b) < size {
			return nil, ErrDamaged
		}
		if kind == 7 {
			all[name] = string(b[:size])
		}
		b = b[size:]
	}
	return all, nil
}

// take makes an event of a frame.
func (r *reader) take(headers map[string]string, payload []byte) error {
	switch headers[":message-type"] {
	case "exception":
		return r.refused(headers[":exception-type"], message(payload))
	case "error":
		return r.refused(headers[":error-code"], headers[":error-message"])
	}
	var chunk struct {
		Bytes []byte `json:"bytes"` // an event of the model's own protocol
	}
	if err := json.Unmarshal(payload, &chunk); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(chunk.Bytes) == 0 {
		r.left.WriteString(": " + headers[":event-type"] + "\n")
		return nil
	}
	var line bytes.Buffer
	if err := json.Compact(&line, chunk.Bytes); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	r.left.WriteString("data: ")
	r.left.Write(line.Bytes())
	r.left.WriteString("\n\n")
	return nil
}

// refused passes on why the service ends the answer.
func (r *reader) refused(kind, words string) error {
	line, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": words}})
	if err != nil {
		return err
	}
	r.left.WriteString("data: ")
	r.left.Write(line)
	r.left.WriteString("\n\n")
	return nil
}

func message(payload []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &said) != nil || said.Message == "" {
		return strings.TrimSpace(string(payload))
	}
	return said.Message
}
