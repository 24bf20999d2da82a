package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// TestManyToolsAreFoundByASearch: with 500 tools the requests stay small and begin alike;
// a tool that was found is called under its own name.
func TestManyToolsAreFoundByASearch(t *testing.T) {
	called := make(chan string, 10)
	server := mcp.NewServer(&mcp.Implementation{Name: "big", Version: "1"}, nil)
	for i := range 500 {
		about := fmt.Sprintf("Does thing number %d. %s", i, strings.Repeat("More words about it. ", 10))
		if i == 321 {
			about = "Sends a telegram."
		}
		server.AddTool(&mcp.Tool{Name: fmt.Sprintf("thing_%03d", i), Description: about,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				called <- r.Params.Name + string(r.Params.Arguments)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent"}}}, nil
			})
	}
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(srv.Close)
	call := func(id, name, args string) []*model.Item {
		return []*model.Item{{Kind: model.Call, Style: model.Function, CallID: id, Name: name, Input: args}}
	}
	c := &talker{answer: func(n int, r *model.Request) []*model.Item {
		switch n {
		case 1:
			return call("c1", "find_mcp_tools", `{"query":"send telegram"}`)
		case 2:
			return call("c2", "call_mcp_tool", `{"tool":"mcp__big__thing_321","arguments":{"to":"you"}}`)
		case 3:
			return call("c3", "call_mcp_tool", `{"tool":"exec_command","arguments":{"cmd":"touch evil"}}`)
		case 4:
			return call("c4", "find_mcp_tools", `{}`)
		}
		return nil
	}}
	h := scripted(t, c)
	h.Config.MCPServers = map[string]config.MCPServer{"big": {Enabled: true, Required: true, URL: srv.URL, OAuthStore: "file",
		StartupTimeout: time.Minute, ToolTimeout: time.Minute, DefaultApproval: "approve"}}
	s := open(t, h, protocol.OpenOptions{Ephemeral: true})
	s.say("send it")
	if got := <-called; got != `thing_321{"to":"you"}` {
		t.Errorf("called %s", got)
	}
	said := c.last()
	for _, want := range []string{"mcp__big__thing_321: Sends a telegram.", `"to":{"type":"string"}`, "sent",
		"expected tool, a name mcp__server__tool", "there are 500 tools", "and 100 more"} {
		if !strings.Contains(said, want) {
			t.Errorf("the model does not read %q", want)
		}
	}
	size := 0
	first := c.requests[0]
	for _, tool := range first.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
		if strings.HasPrefix(tool.Name, "mcp__") {
			t.Errorf("%s is offered itself", tool.Name)
		}
	}
	if size > 24<<10 {
		t.Errorf("the tools of the first request have %d bytes", size)
	}
	for i, r := range c.requests {
		same := slices.EqualFunc(first.Tools, r.Tools, func(a, b model.Tool) bool { return a.Name == b.Name && a.Description == b.Description })
		if !same {
			t.Errorf("request %d has other tools than the first", i+1)
		}
	}
	t.Logf("tools of the first request: %d bytes, %d of them", size, len(first.Tools))
}
