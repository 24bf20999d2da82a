package mcpclient

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// broken reports whether err says no more than that a connection broke.
func broken(err error) bool {
	for _, is := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE,
		mcp.ErrConnectionClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// told is err, or what a program said at its end, where err only says that it is gone.
func (c *connection) told(err error, words string) error {
	switch {
	case c.stream != nil && c.stream.ended() != nil:
		return c.stream.ended()
	case words != "" && broken(err):
		return errors.New(words)
	}
	return err
}

// untilKnown is how long a call waits to learn how the program ended that it was for.
const untilKnown = 3 * time.Second

// lost is the error of a request that the end of a program has cut off: how it ended, once
// that is known. Other errors are returned as they are.
func (c *connection) lost(ctx context.Context, session *mcp.ClientSession, err error) error {
	if c.Command == "" || !broken(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, untilKnown)
	defer cancel()
	for {
		c.mu.Lock()
		gone, why, turned := c.session != session, c.err, c.turned
		c.mu.Unlock()
		switch {
		case gone && why != nil:
			return why
		case gone:
			return err
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return err
		}
	}
}
