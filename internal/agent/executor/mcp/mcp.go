// Package mcp is the side of a session that its MCP servers are on: it starts them,
// offers their tools, asks the policy about calls and makes them.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/diff"
	"kerf/internal/work/mcpclient"
)

// Options say which servers a session has.
type Options struct {
	Version string // Kerf's own
	Servers []mcpclient.Server
	Roots   []string
	// Approval is the user's word on a tool: "auto", "prompt" or "approve". Nil
	// means auto for all.
	Approval func(server, tool string) string
	// ToolTokens is above how many tokens the tools are found by a search; 0 is no bound.
	ToolTokens int
}

// Servers are the MCP servers of a session; nil are none. They may be used by several
// goroutines.
type Servers struct {
	o       Options
	manager *mcpclient.Manager

	mu     sync.Mutex
	pinned map[string]string // by qualified name: the definition that was allowed
	warned map[string]string // by server: what was warned of since it was last well
	search bool              // the tools are found by a search
}

// The tools for resources; offered once there are servers.
const (
	listResources = "list_mcp_resources"
	readResource  = "read_mcp_resource"
)

// Offered are the tools of the servers that are ready.
func (x *Servers) Offered() []tool.Spec {
	if x == nil {
		return nil
	}
	list := []tool.Spec{
		{Name: listResources, Description: "Lists the resources of an MCP server.", Parallel: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"server":{"type":"string","description":"The name of the server."}},"required":["server"],"additionalProperties":false}`)},
		{Name: readResource, Description: "Reads one resource of an MCP server.", Parallel: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"server":{"type":"string","description":"The name of the server."},"uri":{"type":"string","description":"The resource, as list_mcp_resources names it."}},"required":["server","uri"],"additionalProperties":false}`)},
	}
	all := x.manager.Tools()
	if x.many(all) {
		return append(list, searching...)
	}
	for _, t := range all {
		list = append(list, tool.Spec{Name: t.Qualified, Description: t.Description, Schema: t.Schema})
	}
	return list
}

// Propose is what a call of a tool that lives elsewhere proposes. The last
// result says whether it is one.
func (x *Servers) Propose(c tool.Call) (tool.Action, error, bool) {
	if x == nil {
		if strings.HasPrefix(c.Name, "mcp__") {
			return nil, tool.Refuse(tool.UnknownTool, "there is no tool %q: no MCP server is configured here", c.Name), true
		}
		return nil, nil, false
	}
	if c.Name == listResources || c.Name == readResource {
		var a struct{ Server, URI string }
		if err := json.Unmarshal(c.Args, &a); err != nil || a.Server == "" || c.Name == readResource && a.URI == "" {
			return nil, tool.Refuse(tool.InvalidArguments, "%s: expected server, and for reading uri, both strings",
				c.Name), true
		}
		return tool.Remote{Server: a.Server, Tool: c.Name, Args: c.Args, Resource: true, URI: a.URI}, nil, true
	}
	if c.Name == findTools || c.Name == callTool {
		a, err := x.find(c)
		return a, err, true
	}
	if !strings.HasPrefix(c.Name, "mcp__") {
		return nil, nil, false
	}
	t, ok := x.manager.Lookup(c.Name)
	if !ok {
		return nil, tool.Refuse(tool.UnknownTool, "%v", x.manager.Missing(c.Name)), true
	}
	return tool.Remote{Server: t.Server, Tool: t.Name, Name: t.Qualified, Args: c.Args, Definition: t.Definition}, nil,
		true
}

// Judge decides about a call. With a definition that is not the one that was allowed, it
// returns how they differ. What a server claims of its tools is not believed.
func (x *Servers) Judge(a tool.Remote, rules policy.Rules) (policy.Judgement, string) {
	mode := "auto"
	if x.o.Approval != nil {
		mode = cmp.Or(x.o.Approval(a.Server, a.Tool), mode)
	}
	x.mu.Lock()
	known, allowed := x.pinned[a.Name]
	x.mu.Unlock()
	changed := ""
	if allowed && known != a.Definition {
		allowed, changed = false, string(diff.Unified([]diff.File{{OldPath: a.Tool, NewPath: a.Tool, OldMode: 0o100644,
			NewMode: 0o100644, Old: []byte(known), New: []byte(a.Definition)}}))
	}
	return rules.Remote(policy.Remote{Server: a.Server, Tool: a.Tool, Mode: mode, Reads: a.Resource, Allowed: allowed,
		Changed: changed != ""}), changed
}

// Allow remembers a tool as it is defined now.
func (x *Servers) Allow(a tool.Remote) {
	x.mu.Lock()
	x.pinned[a.Name] = a.Definition
	x.mu.Unlock()
}

// Call calls a tool of a server.
func (x *Servers) Call(ctx context.Context, id protocol.CallID, a tool.Remote) turn.Outcome {
	body := protocol.ToolCall{Call: id, Server: a.Server, Tool: a.Tool, Args: a.Args}
	r, err := x.reach(ctx, a)
	if err != nil {
		body.Error = err.Error()
		return turn.Outcome{Text: err.Error(), Body: body}
	}
	o := turn.Outcome{Text: r.Text, Images: r.Images, Success: !r.Failed}
	body.Structured, body.Images = r.Structured, r.Images
	if o.Text == "" && len(r.Images) == 0 {
		o.Text = "the tool returned nothing"
	}
	if r.Failed {
		body.Error = o.Text
	} else {
		body.Output = o.Text
	}
	o.Body = body
	return o
}

func (x *Servers) reach(ctx context.Context, a tool.Remote) (mcpclient.Result, error) {
	switch {
	case a.Tool == listResources && a.Resource:
		text, err := x.manager.Resources(ctx, a.Server)
		return mcpclient.Result{Text: text}, err
	case a.Resource:
		return x.manager.ReadResource(ctx, a.Server, a.URI)
	}
	if now, ok := x.manager.Lookup(a.Name); ok && now.Definition != a.Definition {
		return mcpclient.Result{}, fmt.Errorf("MCP server %s: the tool %s changed after the call was judged, and was not "+
			"called; call it again to have it judged as it is now", a.Server, a.Tool)
	}
	return x.manager.Call(ctx, a.Name, a.Args)
}

// Front is what MCP servers may ask of the session they work for.
type Front struct {
	// Ask puts a question to the user.
	Ask func(context.Context, protocol.Approval) turn.Reply
	// Tell tells the user something. It does not wait.
	Tell func(protocol.Msg)
}

// Start starts the servers; they join when they are ready. It returns nil where there are
// none.
func Start(r Options, f Front) *Servers {
	if len(r.Servers) == 0 {
		return nil
	}
	x := &Servers{o: r, pinned: map[string]string{}, warned: map[string]string{}}
	ready := make(chan struct{}) // the manager calls back before it is returned
	o := mcpclient.Options{Servers: r.Servers, Name: "kerf", Version: r.Version, Roots: r.Roots,
		Elicit: func(ctx context.Context, q mcpclient.Elicitation) (mcpclient.Reply, error) { return elicit(ctx, q, f) },
		Changed: func() {
			<-ready
			x.tell(f)
		}}
	x.manager = mcpclient.Start(o)
	x.tell(f) // which servers there are
	close(ready)
	return x
}

// Settled waits until the servers of the session are ready or have failed, and
// returns why the first of the named ones has failed.
func (x *Servers) Settled(ctx context.Context, required []string) error {
	if x == nil || len(required) == 0 {
		return nil
	}
	x.manager.Settle(ctx)
	for _, st := range x.manager.Status() {
		if slices.Contains(required, st.Name) && st.State != "ready" {
			return fmt.Errorf("MCP server %s is required and not available: %s", st.Name,
				cmp.Or(st.Error, "it is still starting"))
		}
	}
	return nil
}

// tell tells how the servers are, and warns once of each that fails.
func (x *Servers) tell(f Front) {
	var list []protocol.Server
	var warnings []string
	x.mu.Lock()
	for _, st := range x.manager.Status() {
		list = append(list, protocol.Server{Name: st.Name, State: st.State, Error: st.Error, Tools: st.Tools,
			Prompts: st.Prompts, Resources: st.Resources})
		warning := ""
		switch {
		case st.State == "failed":
			warning = fmt.Sprintf("MCP server %s: %s", st.Name, st.Error)
			if x.warned[st.Name] != "" {
				continue // it is being started again, and fails again
			}
		case st.State == "ready" && st.Left > 0:
			warning = fmt.Sprintf("MCP server %s: %d of its tools are left out, at most %d are kept in all; choose with "+
				"enabled_tools", st.Name, st.Left, mcpclient.MaxTools)
		case st.State != "ready":
			continue
		}
		if warning != "" && warning != x.warned[st.Name] {
			warnings = append(warnings, warning)
		}
		x.warned[st.Name] = warning
	}
	x.mu.Unlock()
	f.Tell(protocol.Servers{Servers: list})
	for _, w := range warnings {
		f.Tell(protocol.Warning{Message: w})
	}
}

// elicit puts a server's question to the user.
func elicit(ctx context.Context, q mcpclient.Elicitation, f Front) (mcpclient.Reply, error) {
	a := f.Ask(ctx, protocol.Approval{Reason: "the MCP server " + q.Server + " asks",
		Question: &protocol.Question{Server: q.Server, Message: q.Message, Schema: q.Schema, URL: q.URL, Free: true}}).Answer
	switch {
	case a.Decision == protocol.Abort:
		return mcpclient.Reply{Action: "cancel"}, nil
	case !a.Decision.Allows():
		return mcpclient.Reply{Action: "decline"}, nil
	}
	r := mcpclient.Reply{Action: "accept", Content: map[string]any{}}
	if len(a.Content) > 0 {
		if err := json.Unmarshal(a.Content, &r.Content); err != nil {
			return mcpclient.Reply{Action: "cancel"}, err
		}
	}
	return r, nil
}

// Close ends the servers.
func (x *Servers) Close() { x.manager.Close() }
