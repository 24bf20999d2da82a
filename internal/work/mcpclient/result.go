package mcpclient

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is what a call returned, bounded.
type Result struct {
	Text   string
	Images []string // data: URLs
	// Structured is the structured content, whole, or nil. Text has it, too.
	Structured json.RawMessage
	Failed     bool // the tool said so
}

// textLimit and imageLimit bound one result, in bytes.
const (
	textLimit  = 1 << 20
	imageLimit = 10 << 20
)

// call calls one tool. When its time is up the server is told that nobody waits
// any more.
func (c *connection) call(ctx context.Context, session *mcp.ClientSession, name string,
	args json.RawMessage) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.ToolTimeout,
		fmt.Errorf("the tool did not answer within %s (tool_timeout_sec)", c.ToolTimeout))
	defer cancel()
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		err = c.lost(ctx, session, err)
		return Result{}, fmt.Errorf("MCP server %s, tool %s: %w", c.Name, name, errors.New(oneLine(err.Error())))
	}
	return resultOf(res), nil
}

// resultOf is the content of a result in the forms that models take. Structured
// content follows the text, unless the text is the same said once more.
func resultOf(res *mcp.CallToolResult) Result {
	r := Result{Failed: res.IsError}
	var b strings.Builder
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			line(&b, c.Text)
		case *mcp.ImageContent:
			if strings.HasPrefix(c.MIMEType, "image/") && len(c.Data) <= imageLimit {
				r.Images = append(r.Images, "data:"+c.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(c.Data))
			} else {
				line(&b, fmt.Sprintf("[an image of type %q with %d bytes is left out]", c.MIMEType, len(c.Data)))
			}
		case *mcp.AudioContent:
			line(&b, fmt.Sprintf("[audio of type %q with %d bytes is left out]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			line(&b, fmt.Sprintf("[resource %s: %s]", c.URI, c.Name))
		case *mcp.EmbeddedResource:
			line(&b, contents(c.Resource))
		}
	}
	if res.StructuredContent != nil {
		if s, err := json.Marshal(res.StructuredContent); err == nil {
			if !sameJSON(b.String(), s) {
				line(&b, string(s))
			}
			if len(s) <= textLimit {
				r.Structured = s
			}
		}
	}
	r.Text = bounded(b.String())
	return r
}

// sameJSON reports whether text is JSON with the value of s.
func sameJSON(text string, s []byte) bool {
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal(s, &b) == nil && reflect.DeepEqual(a, b)
}

func line(b *strings.Builder, text string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(text)
}

func contents(r *mcp.ResourceContents) string {
	switch {
	case r == nil:
		return "[an empty resource]"
	case len(r.Blob) > 0 && !utf8.Valid(r.Blob):
		return fmt.Sprintf("[resource %s of type %q with %d bytes is no text]", r.URI, r.MIMEType, len(r.Blob))
	case len(r.Blob) > 0:
		return string(r.Blob)
	}
	return r.Text
}

// bounded makes valid text of what a server sent and cuts it in the middle.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= textLimit {
		return s
	}
	half := textLimit / 2
	head, tail := strings.ToValidUTF8(s[:half], ""), strings.ToValidUTF8(s[len(s)-half:], "")
	return head + fmt.Sprintf("\n[%d bytes are left out here]\n", len(s)-len(head)-len(tail)) + tail
}

// Resources lists the resources and templates of a server, one a line.
func (m *Manager) Resources(ctx context.Context, server string) (string, error) {
	c, err := m.named(server)
	if err != nil {
		return "", err
	}
	session, err := c.ready(ctx)
	if err != nil {
		return "", fmt.Errorf("MCP server %s: %w", server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.ToolTimeout)
	defer cancel()
	var b strings.Builder
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return "", fmt.Errorf("MCP server %s: %w", server, err)
		}
		line(&b, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", r.URI, r.Name, oneLine(r.Description))))
	}
	for t, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			break // not every server has templates
		}
		line(&b, strings.TrimSpace(fmt.Sprintf("%s (template %s) %s", t.URITemplate, t.Name, oneLine(t.Description))))
	}
	if b.Len() == 0 {
		return "the server has no resources", nil
	}
	return bounded(b.String()), nil
}

// ReadResource reads one resource.
func (m *Manager) ReadResource(ctx context.Context, server, uri string) (Result, error) {
	c, err := m.named(server)
	if err != nil {
		return Result{}, err
	}
	session, err := c.ready(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("MCP server %s: %w", server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.ToolTimeout)
	defer cancel()
	res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return Result{}, fmt.Errorf("MCP server %s: %w", server, errors.New(oneLine(c.lost(ctx, session, err).Error())))
	}
	var b strings.Builder
	var r Result
	for _, part := range res.Contents {
		if strings.HasPrefix(part.MIMEType, "image/") && len(part.Blob) > 0 && len(part.Blob) <= imageLimit {
			r.Images = append(r.Images, "data:"+part.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(part.Blob))
			continue
		}
		line(&b, contents(part))
	}
	r.Text = bounded(b.String())
	return r, nil
}
