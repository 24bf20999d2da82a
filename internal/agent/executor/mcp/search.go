package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/text/order"
	"kerf/internal/work/mcpclient"
)

// The tools by which a model finds and calls the tools of servers, where these are too many
// to be told of in each request.
const (
	findTools = "find_mcp_tools"
	callTool  = "call_mcp_tool"
)

// maxOffered is how many tools of servers are offered themselves.
const maxOffered = 128

// The bounds of what a search returns.
const (
	maxHits  = 10
	maxNamed = 400 // names in an answer without schemas
	maxFound = 48 << 10
)

var searching = []tool.Spec{
	{Name: findTools, Parallel: true, Description: "Finds tools of the MCP servers by words of their names and " +
		"descriptions, and returns up to 10 with the schemas of their arguments. Without words it names the servers and " +
		"their tools.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"additionalProperties":false}`)},
	{Name: callTool, Description: "Calls a tool of an MCP server that find_mcp_tools told of.",
		Schema: json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string","description":` +
			`"Its name, mcp__server__tool."},"arguments":{"type":"object","description":"As its schema has them."}},` +
			`"required":["tool","arguments"],"additionalProperties":false}`)},
}

// many reports whether the tools are too many to be offered themselves. Once they were,
// they are found by a search for the rest of the session, so that the requests stay alike.
func (x *Servers) many(all []mcpclient.Tool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.search {
		return true
	}
	bytes := 0
	for _, t := range all {
		bytes += len(t.Qualified) + len(t.Description) + len(t.Schema)
	}
	x.search = len(all) > maxOffered || x.o.ToolTokens > 0 && history.TokensOf(bytes) > x.o.ToolTokens
	return x.search
}

// Meant is the call of a server's tool that a call of call_mcp_tool stands for, so that
// hooks, rules and front ends see the tool itself. Other calls stay as they are.
func (x *Servers) Meant(c tool.Call) tool.Call {
	var a struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if x == nil || c.Name != callTool || json.Unmarshal(c.Args, &a) != nil || !strings.HasPrefix(a.Tool, "mcp__") {
		return c
	}
	c.Name, c.Args = a.Tool, a.Arguments
	if len(c.Args) == 0 || string(c.Args) == "null" {
		c.Args = json.RawMessage("{}")
	}
	return c
}

// find answers find_mcp_tools, and says what is wrong with a call_mcp_tool that means none.
func (x *Servers) find(c tool.Call) (tool.Action, error) {
	if c.Name == callTool {
		return nil, tool.Refuse(tool.InvalidArguments,
			"%s: expected tool, a name mcp__server__tool as find_mcp_tools tells it, and arguments, an object", c.Name)
	}
	var a struct{ Query string }
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return nil, tool.Refuse(tool.InvalidArguments, "%s: expected query, a string", c.Name)
	}
	all := x.manager.Tools()
	text := ""
	if words := strings.Fields(strings.ToLower(a.Query)); len(words) > 0 {
		text = found(ranked(all, words))
	}
	if text == "" {
		text = named(all)
	}
	return tool.Answer{Result: tool.Result{Success: true, Output: text}}, nil
}

// ranked are the tools in which words occur, the best first: in names they count more.
func ranked(all []mcpclient.Tool, words []string) []mcpclient.Tool {
	type hit struct {
		mcpclient.Tool
		score int
	}
	var hits []hit
	for _, t := range all {
		name, about, score := strings.ToLower(t.Qualified), strings.ToLower(t.Description), 0
		for _, w := range words {
			if strings.Contains(name, w) {
				score += 3
			}
			if strings.Contains(about, w) {
				score++
			}
		}
		if score > 0 {
			hits = append(hits, hit{t, score})
		}
	}
	order.Stably(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Qualified, b.Qualified))
	})
	var best []mcpclient.Tool
	for _, h := range hits[:min(len(hits), maxHits)] {
		best = append(best, h.Tool)
	}
	return best
}

// found are tools with their schemas.
func found(list []mcpclient.Tool) string {
	var b strings.Builder
	for _, t := range list {
		text := fmt.Sprintf("%s: %s\narguments: %s\n\n", t.Qualified, t.Description, t.Schema)
		if b.Len() > 0 && b.Len()+len(text) > maxFound {
			fmt.Fprintf(&b, "%s is left out here; ask for it by its name\n", t.Qualified)
			continue
		}
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String())
}

// named are the names of all tools, within bounds.
func named(all []mcpclient.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "there are %d tools; ask for some by words:\n", len(all))
	for i, t := range all {
		if i == maxNamed {
			fmt.Fprintf(&b, "and %d more\n", len(all)-i)
			break
		}
		b.WriteString(t.Qualified + "\n")
	}
	return strings.TrimSpace(b.String())
}
