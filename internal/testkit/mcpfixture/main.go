// Command mcpfixture serves the fixed tools, resources and prompts that the
// official MCP conformance suite asks for, at http://127.0.0.1:$PORT/mcp and
// through the code that serves kerf mcp-server.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/front/mcpserver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mcpfixture:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := mcpserver.Listen(ctx, "127.0.0.1:"+os.Getenv("PORT"), "")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	return mcpserver.Serve(ctx, newServer, l, "")
}

// newServer makes the server of one connection.
func newServer() *mcp.Server {
	var watched sync.Map
	s := mcp.NewServer(&mcp.Implementation{Name: "kerf-fixture", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: mcpserver.Revisions(),
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"test"}, Total: 1}}, nil
		},
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			watched.Store(r.Params.URI, true)
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error {
			watched.Delete(r.Params.URI)
			return nil
		},
	})
	addTools(s)
	addResources(s)
	addPrompts(s)
	return s
}
