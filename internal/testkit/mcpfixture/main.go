// Command mcpfixture serves the fixed tools, resources and prompts that the
// official MCP conformance suite asks for, at http://127.0.0.1:$PORT/mcp and
// through the code that serves kerf mcp-server.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

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
	l, err := mcpserver.Listen(ctx, "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	served := mcpserver.Handler(newServer, token)
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+token) // the suite does not know it
			served.ServeHTTP(w, r)
		})}
	go func() { <-ctx.Done(); _ = s.Close() }() // ends with the program
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// token is what the server wants of every request.
const token = "fixture"

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
	addRounds(s)
	addResources(s)
	addPrompts(s)
	return s
}
