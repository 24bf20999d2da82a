package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPrompts bounds the prompts of a server.
const maxPrompts = 200

// promptsOf are the prompts of a server; none if it cannot tell.
func promptsOf(ctx context.Context, session *mcp.ClientSession) (list []*mcp.Prompt) {
	if session.InitializeResult().Capabilities.Prompts == nil {
		return nil
	}
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil || len(list) == maxPrompts {
			break
		}
		if p.Name != "" && !strings.ContainsAny(p.Name, " \t\r\n") {
			list = append(list, p)
		}
	}
	return list
}

// maxResources bounds the resources of a server that are named for completion.
const maxResources = 200

// resourcesOf are the URIs of the resources of a server; none if it cannot tell.
func resourcesOf(ctx context.Context, session *mcp.ClientSession) (list []string) {
	if session.InitializeResult().Capabilities.Resources == nil {
		return nil
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil || len(list) == maxResources {
			break
		}
		blank := func(c rune) bool { return c <= ' ' || c == 0x7f }
		if r.URI != "" && len(r.URI) <= maxURI && !strings.ContainsFunc(r.URI, blank) {
			list = append(list, r.URI)
		}
	}
	return list
}

// maxURI bounds the URI of a resource that is named for completion.
const maxURI = 500

// Prompt is the text of a prompt with its arguments: words that are NAME=VALUE, and others
// in the order of the prompt's own. The last result says whether there is such a server.
func (m *Manager) Prompt(ctx context.Context, server, name string, words []string) (string, error, bool) {
	c := m.server(server)
	if c == nil {
		return "", nil, false
	}
	text, err := c.prompt(ctx, name, words)
	if err != nil {
		return "", fmt.Errorf("MCP server %s: %w", server, err), true
	}
	return text, nil, true
}

func (c *connection) prompt(ctx context.Context, name string, words []string) (string, error) {
	session, err := c.ready(ctx)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	prompts := c.prompts
	c.mu.Unlock()
	i := slices.IndexFunc(prompts, func(p *mcp.Prompt) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range prompts {
			names = append(names, p.Name)
		}
		return "", errors.New(oneLine(fmt.Sprintf("it has no prompt %q; it has: %s", name, strings.Join(names, ", "))))
	}
	args, err := argumentsOf(prompts[i], words)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.ToolTimeout)
	defer cancel()
	res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", errors.New(oneLine(c.lost(ctx, session, err).Error()))
	}
	var b strings.Builder
	for _, part := range res.Messages {
		said := ""
		switch content := part.Content.(type) {
		case *mcp.TextContent:
			said = content.Text
		case *mcp.EmbeddedResource:
			said = contents(content.Resource)
		default:
			said = fmt.Sprintf("(%T is left out)", content)
		}
		if part.Role != "user" {
			said = string(part.Role) + ": " + said
		}
		line(&b, said)
	}
	return bounded(b.String()), nil
}

// argumentsOf gives the words to the arguments of a prompt. The last one gets all that is
// left.
func argumentsOf(p *mcp.Prompt, words []string) (map[string]string, error) {
	args := map[string]string{}
	var free []*mcp.PromptArgument
	var rest []string
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if ok && slices.ContainsFunc(p.Arguments, func(a *mcp.PromptArgument) bool { return a.Name == name }) {
			args[name] = value
		} else {
			rest = append(rest, word)
		}
	}
	for _, a := range p.Arguments {
		if _, given := args[a.Name]; !given {
			free = append(free, a)
		}
	}
	for i, a := range free {
		switch {
		case len(rest) == 0 && a.Required:
			return nil, errors.New(oneLine(fmt.Sprintf("prompt %s needs %s", p.Name, a.Name)))
		case len(rest) == 0:
		case i == len(free)-1:
			args[a.Name], rest = strings.Join(rest, " "), nil
		default:
			args[a.Name], rest = rest[0], rest[1:]
		}
	}
	if len(rest) > 0 {
		return nil, errors.New(oneLine(fmt.Sprintf("prompt %s takes %d words, found %d", p.Name, len(p.Arguments),
			len(words))))
	}
	return args, nil
}
