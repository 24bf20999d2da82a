package serve

import (
	"bytes"
	"net"
	"time"
)

// timely is a connection that is closed when the other side stops in the middle of a
// message, or takes nothing of what is sent, for longer than patience. Between messages
// it may be silent for as long as it likes. One goroutine reads, and one at a time writes.
type timely struct {
	net.Conn
	patience time.Duration

	// What only the reader uses. Until first the whole first message must be there; zero
	// once it was. Midst says that a message has begun.
	first time.Time
	midst bool
}

// piece is how much is written before the time to take it begins anew, in bytes.
const piece = 64 << 10

func newTimely(c net.Conn, patience time.Duration) *timely {
	return &timely{Conn: c, patience: patience, first: time.Now().Add(patience)}
}

// greeted says that the first message is there.
func (t *timely) greeted() { t.first = time.Time{} }

func (t *timely) Read(p []byte) (int, error) {
	until := t.first
	if until.IsZero() && t.midst {
		until = time.Now().Add(t.patience)
	}
	_ = t.SetReadDeadline(until)
	n, err := t.Conn.Read(p)
	if n > 0 {
		t.midst = !bytes.HasSuffix(p[:n], []byte("\n"))
	}
	return n, err
}

func (t *timely) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		_ = t.SetWriteDeadline(time.Now().Add(t.patience))
		n, err := t.Conn.Write(p[sent:min(sent+piece, len(p))])
		sent += n
		if err != nil {
			_ = t.Close() // what is there of the message is of no use
			return sent, err
		}
	}
	return sent, nil
}
