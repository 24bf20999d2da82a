//go:build linux || darwin

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kerf/internal/front/serve/endpoint"
	"kerf/internal/protocol"
)

// TestWhoStopsInTheMiddleIsLeft: a message may come and be taken in pieces, with pauses
// below patience, and nobody is hurried between messages.
func TestWhoStopsInTheMiddleIsLeft(t *testing.T) {
	const patience = 30 * time.Second
	// with runs both sides of a connection, and ends them.
	with := func(t *testing.T, them func(net.Conn), us func(*timely)) {
		synctest.Test(t, func(*testing.T) {
			ours, theirs := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() { them(theirs) })
			us(newTimely(ours, patience))
			_, _ = ours.Close(), theirs.Close()
			wg.Wait()
		})
	}
	read := func(c *timely) (string, error) {
		var b []byte
		for p := make([]byte, 8); !bytes.HasSuffix(b, []byte("\n")); {
			n, err := c.Read(p)
			if b = append(b, p[:n]...); err != nil {
				return string(b), err
			}
		}
		return string(b), nil
	}
	// say sends pieces with a pause before each.
	say := func(to net.Conn, pause time.Duration, pieces ...string) {
		for _, p := range pieces {
			time.Sleep(pause)
			_, _ = io.WriteString(to, p)
		}
	}
	for _, tt := range []struct {
		name    string
		greeted bool
		pause   time.Duration
		pieces  []string
		want    error
	}{
		{"a first message in time", false, patience / 3, []string{"he", "llo\n"}, nil},
		{"a first message that drips", false, patience * 2 / 3, []string{"he", "llo\n"}, os.ErrDeadlineExceeded},
		{"silence before a message", true, 10 * patience, []string{"hello\n"}, nil},
		{"a message that drips", true, patience * 2 / 3, []string{"he", "l", "l", "o\n"}, nil},
		{"half a message", true, 2 * patience, []string{"he", "llo\n"}, os.ErrDeadlineExceeded},
		{"half a message behind a whole one", true, 2 * patience, []string{"hello\nhe", "llo\n"}, os.ErrDeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(to net.Conn) { say(to, tt.pause, tt.pieces...) }, func(c *timely) {
				if tt.greeted {
					c.greeted()
				}
				var err error
				for got := ""; err == nil && got != strings.Join(tt.pieces, ""); {
					var more string
					more, err = read(c)
					got += more
				}
				if !errors.Is(err, tt.want) {
					t.Errorf("read: %v, want %v", err, tt.want)
				}
			})
		})
	}
	t.Run("what is taken slowly", func(t *testing.T) {
		with(t, func(from net.Conn) {
			for b := make([]byte, piece); ; time.Sleep(patience * 2 / 3) {
				if _, err := io.ReadFull(from, b); err != nil {
					return
				}
			}
		}, func(c *timely) {
			if n, err := c.Write(make([]byte, 10*piece)); n != 10*piece || err != nil {
				t.Errorf("%d of %d bytes: %v", n, 10*piece, err)
			}
		})
	})
	t.Run("what is not taken", func(t *testing.T) {
		with(t, func(from net.Conn) { _, _ = io.ReadFull(from, make([]byte, piece)) }, func(c *timely) {
			if n, err := c.Write(make([]byte, 10*piece)); n != piece || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d bytes: %v", n, err)
			}
			if _, err := c.Write([]byte("more\n")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the connection is still there: %v", err)
			}
		})
	})
}

// dialed says hello and these lines, and waits for the answers.
func dialed(t *testing.T, ln *endpoint.Listener, lines ...string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", ln.Endpoint.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, line := range append([]string{hello(ln.Endpoint.Token)}, lines...) {
		if got := talk(t, conn, line); !strings.Contains(got, `"result"`) {
			t.Fatalf("%s: %s", line, got)
		}
	}
	return conn
}

const (
	attachS1 = `{"jsonrpc":"2.0","id":2,"method":"kerf/attach","params":{"session":"s1","since":1}}`
	halfAWay = `{"jsonrpc":"2.0","method":"kerf/submit","params":{"session":"s1","op":{`
)

// TestSlowFacesHoldUpNobody: however long they are borne, those that take nothing, that stop
// in the middle of a message and that ask without end.
func TestSlowFacesHoldUpNobody(t *testing.T) {
	c, ln := servedFor(t, time.Hour)
	ctx := context.Background()
	good, err := c.Open(ctx, protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var flood sync.WaitGroup
	defer flood.Wait()
	for range 3 {
		_ = dialed(t, ln, attachS1)
		if _, err := io.WriteString(dialed(t, ln, attachS1), halfAWay); err != nil {
			t.Fatal(err)
		}
		asks := dialed(t, ln, attachS1)
		flood.Go(func() { // until it is closed
			for {
				if _, err := io.WriteString(asks, `{"jsonrpc":"2.0","id":3,"method":"kerf/sessions"}`+"\n"); err != nil {
					return
				}
			}
		})
		defer asks.Close()
	}
	other, err := c.Open(ctx, protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1<<20) // more than a socket holds
	for i := range 6 {
		for _, s := range []protocol.Session{good, other} {
			say(t, s, fmt.Sprint(text, i))
			until(t, s, fmt.Sprint(text, i))
		}
	}
	list, err := c.List(ctx)
	if err != nil || len(list) != 2 || list[0].Faces != 10 {
		t.Errorf("%+v, %v; want ten front ends at the first", list, err)
	}
}

// TestBadFacesAreCutOff: those that take nothing, and those that stop in the middle of a
// message; the silent one behind them is still served.
func TestBadFacesAreCutOff(t *testing.T) {
	c, ln := servedFor(t, time.Second)
	ctx := context.Background()
	good, err := c.Open(ctx, protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	silent := dialed(t, ln, attachS1)
	for range 3 {
		_ = dialed(t, ln, attachS1) // takes nothing from here on
		if _, err := io.WriteString(dialed(t, ln, attachS1), halfAWay); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, silent) }()
	text := strings.Repeat("x", 1<<20) // more than a socket holds
	for i := 0; ; i++ {
		say(t, good, fmt.Sprint(text, i))
		until(t, good, fmt.Sprint(text, i))
		list, err := c.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Faces == 2 {
			break
		}
	}
	_, err = fmt.Fprintln(silent, `{"jsonrpc":"2.0","method":"kerf/submit","params":{"session":"s1","op":`+
		`{"type":"user_input","items":[{"text":"still here"}]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	until(t, good, "still here")
}
