package provider

import (
	"context"
	"fmt"

	"kerf/internal/model"
	"kerf/internal/model/provider/local"
)

// askedRoom is how many tokens of context Ollama is asked for when it does not tell what it
// gives: enough for work, and no more memory than most machines have.
const askedRoom = 32_768

// askRoom decides how much context Ollama is asked for a model whose context it does not
// tell, which is so until the model is loaded.
func (c *Choice) askRoom(ctx context.Context, at local.Address, provider, name string) int {
	if provider != "ollama" {
		return 0
	}
	room := askedRoom
	if trained := at.Trained(ctx, name); trained > 0 {
		room = min(room, trained)
	}
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	if c.registry.rooms == nil {
		c.registry.rooms = map[string]int{}
	}
	c.registry.rooms[name] = room
	c.warn("%s does not tell how much of a conversation %s holds; Kerf asks for %d tokens. If answers forget how the "+
		"conversation began, %s", at.Name, name, room, local.WindowHint(provider))
	return room
}

// room returns what a provider is asked for, see chat.Options.
func (r *Registry) room(provider string) func(string) int {
	if provider != "ollama" {
		return nil
	}
	return func(name string) int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rooms[name]
	}
}

// bytesOfToken is a low estimate, so that nobody is warned without need.
const bytesOfToken = 5

// tooSmall tells when a model of this machine holds less than the request, or nothing.
func (r *router) tooSmall(provider string, req *model.Request) string {
	if !local.Is(provider) {
		return ""
	}
	facts, _ := r.registry.catalog.Facts(provider, req.Model)
	size := len(req.Instructions)
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, i := range req.Items {
		size += len(i.Text()) + len(i.Input)
	}
	tokens := size / bytesOfToken
	if facts.Window == 0 || tokens < facts.Window {
		return ""
	}
	server := r.registry.o.Providers[provider].Name
	return fmt.Sprintf("the context of %s (%d tokens) is smaller than the first request (about %d tokens); %s will cut "+
		"it or refuse it; %s", req.Model, facts.Window, tokens, server, local.WindowHint(provider))
}
