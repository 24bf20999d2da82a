// Package mcpserver offers Kerf to other programs over the Model Context
// Protocol: the file engine, whose calls carry versions and can be taken back,
// and the agent itself.
//
// A connection is a client of its own: what it saw, what it changed and the
// sessions it runs are remembered until it ends. The newest revision has no
// connections: there a client is told by its name and its roots.
package mcpserver

//lint:file-ignore SA1019 roots, sampling and logging are deprecated from the newest revision on; older ones have them

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/front/frames"
	"kerf/internal/protocol"
)

// Options say what is served.
type Options struct {
	Engine   protocol.Engine
	Sessions protocol.Sessions
	Version  string
	// Open is where sessions of the agent start from.
	Open protocol.OpenOptions
}

// Revisions are the protocol revisions that are spoken, newest first.
func Revisions() []string {
	return []string{sessionless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

//go:embed instructions.md
var instructions string

// frameLimit bounds one message of a client, in bytes.
const frameLimit = 64 << 20

// Stdio serves one client over two streams until they end or ctx is done.
func Stdio(ctx context.Context, o Options, in io.ReadCloser, out io.WriteCloser) error {
	c := &conn{o: o, visitors: newVisitors(o)}
	defer c.close()
	defer c.visitors.close()
	whole, messages := io.Pipe()
	both := frames.NewWriter(out)
	defer whole.Close()
	go func() { // ends with in, or with the first message after the connection
		_ = messages.CloseWithError(frames.Filter{In: bufio.NewReader(in), Out: both, Limit: frameLimit, Batches: true,
			Check: readable}.Copy(messages))
	}()
	err := c.server().Run(ctx, &mcp.IOTransport{Reader: whole, Writer: stream{both, out}, MaxLineLength: frameLimit + 2})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// readable says what the library would not read of a message.
func readable(message []byte) error {
	_, err := jsonrpc.DecodeMessage(message)
	return err
}

// stream writes whole messages and closes what they are written to.
type stream struct {
	io.Writer
	io.Closer
}

// server makes the server of one connection.
func (c *conn) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "kerf", Title: "Kerf", Version: c.o.Version}, &mcp.ServerOptions{
		Instructions:              instructions,
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SupportedProtocolVersions: Revisions(),
		RootsListChangedHandler:   func(context.Context, *mcp.RootsListChangedRequest) { c.rootsMoved() },
		InitializedHandler: func(_ context.Context, r *mcp.InitializedRequest) {
			go func() {
				_ = r.Session.Wait()
				c.close()
			}()
		},
	})
	c.addFileTools(s)
	if c.o.Sessions != nil {
		c.addAgentTools(s)
	}
	return s
}
