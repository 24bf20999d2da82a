package langserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"kerf/internal/work/boundary"
	"kerf/internal/work/langserver/position"
	"kerf/internal/work/langserver/wire"
)

// Client is a running server. One caller at a time uses it, between Hold and its release.
//
// Its goroutines are those of the process and two of the connection; all end with it.
type Client struct {
	server Server
	root   string
	run    *process
	conn   *jsonrpc2.Conn
	can    wire.Abilities
	held   chan struct{} // full while somebody uses it

	docs map[string]*document // by path; the holder's
	seen map[string]stamp     // files as they were told last; the holder's
	uses int

	mu     sync.Mutex // guards what follows
	news   chan struct{}
	pushed map[string]wire.Published // the newest of each open file
	busy   map[string]bool           // what the server says that it works on
	asked  map[string]bool           // methods that it registered later
	ready  bool                      // see Server.Reports
}

// document is a file that is open in the server.
type document struct {
	version int
	sum     [sha256.Size]byte
	stamp   stamp
	used    int
}

// maxOpen is how many files are kept open.
const maxOpen = 256

// dial starts a server and greets it.
func dial(ctx context.Context, s Server, root string, policy boundary.Policy, env []string,
	end func()) (*Client, error) {
	run, err := start(ctx, s, root, policy, env)
	if err != nil {
		return nil, err
	}
	run.after = end
	c := &Client{server: s, root: root, run: run, held: make(chan struct{}, 1), docs: map[string]*document{},
		news: make(chan struct{}), pushed: map[string]wire.Published{}, busy: map[string]bool{}, asked: map[string]bool{}}
	c.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), wire.NewStream(run.out, run.in), c,
		jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	if err := c.greet(ctx); err != nil {
		c.end()
		if words := run.words(); words != "" {
			err = fmt.Errorf("%w (%s)", err, words)
		}
		return nil, err
	}
	return c, nil
}

// end ends the server. It may be called again.
func (c *Client) end() {
	_ = c.conn.Close()
	c.run.end()
}

// lost is closed when the server is gone.
func (c *Client) lost() <-chan struct{} { return c.conn.DisconnectNotify() }

// gone reports whether the server is gone.
func (c *Client) gone() bool {
	select {
	case <-c.lost():
		return true
	default:
		return false
	}
}

// Hold waits until nobody else uses the server.
func (c *Client) Hold(ctx context.Context) (release func(), err error) {
	select {
	case c.held <- struct{}{}:
		return func() { <-c.held }, nil
	case <-ctx.Done():
		return nil, ErrLate
	}
}

// Name is the name of the server, Root the directory of its project.
func (c *Client) Name() string { return c.server.Name }

// Root is the directory of the project.
func (c *Client) Root() string { return c.root }

// Encoding is what its columns count.
func (c *Client) Encoding() position.Encoding {
	switch c.can.Encoding {
	case position.UTF8, position.UTF32:
		return c.can.Encoding
	}
	return position.UTF16
}

func (c *Client) greet(ctx context.Context) error {
	on := wire.Object{}
	folder := wire.Object{"uri": uriOf(c.root), "name": "project"}
	params := wire.Object{
		"processId": nil, // it sees no process of ours
		"rootUri":   uriOf(c.root), "rootPath": c.root, "workspaceFolders": []wire.Object{folder},
		"clientInfo":            wire.Object{"name": "kerf"},
		"initializationOptions": c.server.Options,
		"capabilities": wire.Object{
			"general": wire.Object{"positionEncodings": []position.Encoding{position.UTF8, position.UTF16, position.UTF32}},
			"workspace": wire.Object{"configuration": true, "workspaceFolders": true, "symbol": on, "executeCommand": on,
				"didChangeWatchedFiles": wire.Object{"dynamicRegistration": true},
				"diagnostics":           wire.Object{"refreshSupport": true},
				// Files that a server wants made, moved or removed are refused, and it is told so.
				"workspaceEdit": wire.Object{"documentChanges": true, "resourceOperations": []string{}, "failureHandling": "abort"}},
			"textDocument": wire.Object{
				"synchronization":    wire.Object{"didSave": true},
				"publishDiagnostics": wire.Object{"versionSupport": true},
				"diagnostic":         wire.Object{"dynamicRegistration": true},
				"definition":         wire.Object{"linkSupport": true}, "references": on, "rename": on,
				"documentSymbol": wire.Object{"hierarchicalDocumentSymbolSupport": true}},
			"window":       wire.Object{"workDoneProgress": true},
			"experimental": wire.Object{"serverStatusNotification": true},
		},
	}
	var answer struct {
		Capabilities wire.Abilities `json:"capabilities"`
	}
	if err := c.call(ctx, "initialize", params, &answer); err != nil {
		return err
	}
	c.can = answer.Capabilities
	if err := c.notify("initialized", on); err != nil {
		return err
	}
	if len(c.server.Settings) > 0 {
		return c.notify("workspace/didChangeConfiguration", wire.Object{"settings": c.server.Settings})
	}
	return nil
}

// call asks the server something.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	w, err := c.conn.DispatchCall(ctx, method, params)
	if err == nil {
		err = w.Wait(ctx, result)
	}
	return c.because(ctx, err)
}

// because is an error as callers know it. What a server says is told as its words.
func (c *Client) because(ctx context.Context, err error) error {
	var said *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said):
		return &SaidError{said.Code, said.Message}
	case ctx.Err() != nil:
		return ErrLate
	case errors.Is(err, jsonrpc2.ErrClosed):
		return errors.New("it ended")
	}
	return err
}

func (c *Client) notify(method string, params any) error {
	return c.because(context.Background(), c.conn.Notify(context.Background(), method, params))
}

// SaidError is a refusal in the words of the server.
type SaidError struct {
	Code    int64
	Message string
}

// Error gives the words.
func (e *SaidError) Error() string { return e.Message }

// maxNames bounds what is remembered of the names that a server makes up.
const maxNames = 1000

// Handle takes what the server says by itself. It is called by the goroutine that reads.
func (c *Client) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	if !r.Notif {
		answer, err := c.answer(r.Method, params)
		if err != nil {
			_ = conn.ReplyWithError(ctx, r.ID, err)
		} else {
			_ = conn.Reply(ctx, r.ID, answer)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Method {
	case "textDocument/publishDiagnostics":
		var p wire.Published
		if json.Unmarshal(params, &p) != nil || p.Version == nil {
			return // what is of no version may be of an old one
		}
		path, ok := pathOf(p.URI)
		if old, open := c.pushed[path]; ok && open && (old.Version == nil || *old.Version <= *p.Version) {
			c.pushed[path] = p
			c.tell()
		}
	case "$/progress":
		var p struct {
			Token json.RawMessage              `json:"token"`
			Value struct{ Kind, Title string } `json:"value"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		switch token := string(p.Token); {
		case slices.Contains(c.server.States, p.Value.Title): // it lasts until somebody mends the project
		case p.Value.Kind == "begin" && len(c.busy) < maxNames && len(token) < maxNames:
			c.busy[token] = true
		case p.Value.Kind == "end":
			delete(c.busy, token)
			c.tell()
		}
	case "experimental/serverStatus":
		var p struct{ Quiescent bool }
		if json.Unmarshal(params, &p) == nil {
			c.ready = p.Quiescent
			c.tell()
		}
	}
}

// tell wakes those who wait for news. The lock is held.
func (c *Client) tell() {
	close(c.news)
	c.news = make(chan struct{})
}

// await waits until holds is true, which is asked under the lock.
func (c *Client) await(ctx context.Context, holds func() bool) bool {
	for {
		c.mu.Lock()
		done, news := holds(), c.news
		c.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-news:
		case <-c.lost():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// answer is what a server gets that asks something. It may change nothing.
func (c *Client) answer(method string, params json.RawMessage) (any, *jsonrpc2.Error) {
	switch method {
	case "workspace/configuration":
		var p struct {
			Items []struct{ Section string }
		}
		if json.Unmarshal(params, &p) != nil || len(p.Items) > maxNames {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "no items"}
		}
		list := make([]any, len(p.Items))
		for i, item := range p.Items {
			list[i] = section(c.server.Settings, item.Section)
		}
		return list, nil
	case "client/registerCapability":
		var p struct {
			Registrations []struct{ Method string }
		}
		if json.Unmarshal(params, &p) == nil {
			c.mu.Lock()
			for _, r := range p.Registrations {
				if len(c.asked) < maxNames && len(r.Method) < maxNames {
					c.asked[r.Method] = true
				}
			}
			c.mu.Unlock()
		}
		return nil, nil
	case "workspace/workspaceFolders":
		return []wire.Object{{"uri": uriOf(c.root), "name": "project"}}, nil
	case "workspace/applyEdit":
		return wire.Object{"applied": false, "failureReason": "this client applies only what it asked for"}, nil
	case "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh",
		"workspace/codeLens/refresh":
		return nil, nil
	case "window/showDocument":
		return wire.Object{"success": false}, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: method + " is not known here"}
}

// section is the part of settings that a dotted name means.
func section(settings map[string]any, name string) any {
	if name == "" {
		return settings
	}
	var at any = settings
	for _, part := range strings.Split(name, ".") {
		table, _ := at.(map[string]any)
		if at = table[part]; at == nil {
			return nil
		}
	}
	return at
}

// Settled waits until the server says no more that it works on something. It needs no Hold.
func (c *Client) Settled(ctx context.Context) error {
	switch {
	case c.settled(ctx):
		return nil
	case c.gone():
		return errors.New("it ended")
	}
	return ErrLate
}

// settled waits until the server says no more that it works on something, and, where it
// reports that, has read the project.
func (c *Client) settled(ctx context.Context) bool {
	return c.await(ctx, func() bool { return len(c.busy) == 0 && (c.ready || !c.server.Reports) })
}

// Busy reports whether the server says that it works on something, or has not read the
// project yet.
func (c *Client) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.busy) > 0 || c.server.Reports && !c.ready
}
