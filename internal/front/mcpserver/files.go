package mcpserver

//lint:file-ignore SA1019 roots, sampling and logging are deprecated from the newest revision on; older ones have them

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
)

// conn is one client.
type conn struct {
	o        Options
	visitors *visitors // the clients without a connection that send requests here
	// Of a client without a connection: its name, and its roots. The name of others is empty.
	name  string
	roots []string

	mu      sync.Mutex
	engine  protocol.EngineConn
	moved   bool // the client's roots changed since they were asked for
	closed  bool
	threads []*thread // newest last

	ending sync.Once
}

// result is the schema of what every file tool returns, success or not.
const result = `{"type":"object","properties":{
"success":{"type":"boolean"},
"output":{"type":"string"},
"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"}},"required":["code","message"]},
"warnings":{"type":"array","items":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},"suggestion":{"type":"string"}},"required":["code","message"]}},
"versionInfo":{"type":"object","properties":{"version":{"type":"integer"},"contentHash":{"type":"string"},"lineEnding":{"type":"string"},"encoding":{"type":"string"}}},
"updatedFileStates":{"type":"object","additionalProperties":{"type":"object"}}},
"required":["success"]}`

func (c *conn) addFileTools(s *mcp.Server) {
	no := false
	for _, t := range c.o.Engine.Tools() {
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: json.RawMessage(result),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: &t.Destructive, OpenWorldHint: &no},
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if without(r) {
				return c.visitors.file(ctx, r)
			}
			return c.file(ctx, r)
		})
	}
}

// file runs one call of a file tool.
func (c *conn) file(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	engine, err := c.connect(ctx, r.Session)
	if err != nil {
		return failure("CONNECTION", err.Error()), nil
	}
	args := r.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	a := engine.Call(ctx, r.Params.Name, args)
	content := []mcp.Content{&mcp.TextContent{Text: a.Text}}
	for _, u := range a.Images {
		if img := image(u); img != nil {
			content = append(content, img)
		}
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: a.Object, IsError: a.Failed}, nil
}

// failure is the result of a call that did not reach its tool.
func failure(code, message string) *mcp.CallToolResult {
	object, err := json.Marshal(map[string]any{"success": false, "output": "", "warnings": []string{},
		"error": map[string]string{"code": code, "message": message}})
	if err != nil {
		object = json.RawMessage(`{"success":false}`)
	}
	return &mcp.CallToolResult{IsError: true, StructuredContent: json.RawMessage(object),
		Content: []mcp.Content{&mcp.TextContent{Text: code + ": " + message}}}
}

// image decodes a data: URL, or returns nil.
func image(u string) *mcp.ImageContent {
	head, data, ok := strings.Cut(strings.TrimPrefix(u, "data:"), ";base64,")
	raw, err := base64.StdEncoding.DecodeString(data)
	if !ok || err != nil {
		return nil
	}
	return &mcp.ImageContent{MIMEType: head, Data: raw}
}

// connect opens the engine at the first call and follows the client's roots.
func (c *conn) connect(ctx context.Context, ss *mcp.ServerSession) (protocol.EngineConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, context.Canceled
	}
	if c.engine != nil && !c.moved {
		return c.engine, nil
	}
	c.moved = false
	client, roots := c.name, c.roots
	if client == "" {
		client, roots = clientName(ss), clientRoots(ctx, ss)
	}
	if c.engine != nil {
		return c.engine, c.engine.SetRoots(ctx, roots)
	}
	engine, err := c.o.Engine.Connect(ctx, protocol.EngineOptions{Client: client, Roots: roots})
	c.engine = engine
	return engine, err
}

func (c *conn) rootsMoved() {
	c.mu.Lock()
	c.moved = true
	c.mu.Unlock()
}

// clientRoots asks for the directories the client works in; none when it does
// not say.
func clientRoots(ctx context.Context, ss *mcp.ServerSession) []string {
	p := ss.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.RootsV2 == nil {
		return nil
	}
	list, err := ss.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	return rootPaths(list)
}

// rootPaths are the directories of a list of roots.
func rootPaths(list *mcp.ListRootsResult) []string {
	var roots []string
	for _, r := range list.Roots {
		if r == nil {
			continue
		}
		if path := filePath(r.URI); path != "" {
			roots = append(roots, path)
		}
	}
	return roots
}

// filePath is the path of a file: URI, empty for anything else.
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

func clientName(ss *mcp.ServerSession) string {
	p := ss.InitializeParams()
	if p == nil || p.ClientInfo == nil || p.ClientInfo.Name == "" {
		return "mcp"
	}
	return p.ClientInfo.Name
}

// close ends all that the connection holds. It may be called more than once, and returns
// when all has ended.
func (c *conn) close() { c.ending.Do(c.end) }

func (c *conn) end() {
	c.mu.Lock()
	engine, threads := c.engine, c.threads
	c.closed, c.engine, c.threads = true, nil, nil
	c.mu.Unlock()
	if engine != nil {
		_ = engine.Close()
	}
	for _, t := range threads {
		t.close()
	}
}
