// Package wire has the messages of the Language Server Protocol that Kerf uses, and reads
// them within bounds: what a server writes is believed in nothing.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// The bounds of what is read.
const (
	maxMessage = 32 << 20 // bytes of one message
	maxHeader  = 4 << 10  // bytes of all its header lines
)

// maxQueue is how many bytes may wait for a server to read them.
const maxQueue = 64 << 20

// Stream carries messages of JSON-RPC under headers that tell their length. It is an
// ObjectStream of package jsonrpc2, whose own has no bounds.
//
// A goroutine writes what waits, so that neither the caller nor the one that reads ever
// waits for a server that does not read; it ends when the stream is closed.
type Stream struct {
	in  io.ReadCloser  // of the server's output
	out io.WriteCloser // of its input
	r   *bufio.Reader

	mu     sync.Mutex // guards what follows
	queue  [][]byte
	bytes  int
	closed bool
	more   chan struct{} // has one element when there is something to write, or the end
	done   chan struct{} // closed when the writer has ended
}

// NewStream returns a stream.
func NewStream(in io.ReadCloser, out io.WriteCloser) *Stream {
	s := &Stream{in: in, out: out, r: bufio.NewReaderSize(in, maxHeader), more: make(chan struct{}, 1), done: make(chan struct{})}
	go s.write()
	return s
}

// write writes what waits.
func (s *Stream) write() {
	defer close(s.done)
	for range s.more {
		for {
			s.mu.Lock()
			queue, closed := s.queue, s.closed
			s.queue, s.bytes = nil, 0
			s.mu.Unlock()
			if closed {
				return
			}
			if len(queue) == 0 {
				break
			}
			for _, b := range queue {
				if _, err := s.out.Write(b); err != nil {
					return // the reader sees the end, too
				}
			}
		}
	}
}

// wake has the writer look. The lock is held.
func (s *Stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// WriteObject has one message written. It fails when too much waits.
func (s *Stream) WriteObject(obj any) error {
	body, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	b := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return io.ErrClosedPipe
	case s.bytes+len(b) > maxQueue:
		return errors.New("the server does not read what it is told")
	}
	s.queue, s.bytes = append(s.queue, b), s.bytes+len(b)
	s.wake()
	return nil
}

// ReadObject reads the next message.
func (s *Stream) ReadObject(v any) error {
	length, left := -1, maxHeader
	for {
		line, err := s.r.ReadSlice('\n')
		if left -= len(line); err != nil || left < 0 {
			if errors.Is(err, bufio.ErrBufferFull) || err == nil {
				err = errors.New("the header of a message is too long")
			}
			return err
		}
		name, value, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		if name == "" {
			break
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 {
				return errors.New("the length of a message is no number")
			}
		}
	}
	switch {
	case length < 0:
		return errors.New("a message has no length")
	case length > maxMessage:
		return fmt.Errorf("a message has %d bytes; at most %d are read", length, maxMessage)
	}
	var body bytes.Buffer // grows as the bytes come: a length alone takes no memory
	if _, err := io.CopyN(&body, s.r, int64(length)); err != nil {
		return err
	}
	return json.Unmarshal(body.Bytes(), v)
}

// Close closes both directions, and waits for the writer.
func (s *Stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.wake()
	s.mu.Unlock()
	err := errors.Join(s.in.Close(), s.out.Close())
	<-s.done
	return err
}
