package provider

import (
	"strings"

	"kerf/internal/model"
)

// makers are the providers of the models whose names begin so. A name with a vendor before
// it ("anthropic/…") is one of a provider that has models of many, and is not among them.
var makers = []struct{ prefix, provider string }{
	{"claude", "anthropic"}, {"gemini", "gemini"}, {"gpt-oss", ""}, {"gpt-", "openai"}, {"o1", "openai"},
	{"o3", "openai"}, {"o4", "openai"}, {"codex", "openai"}, {"grok", "xai"}, {"deepseek-chat", "deepseek"},
	{"deepseek-reasoner", "deepseek"}, {"mistral-", "mistral"}, {"codestral", "mistral"}, {"devstral", "mistral"},
	{"kimi", "moonshot"}, {"moonshot", "moonshot"}, {"glm-", "zai"}, {"minimax-", "minimax"},
}

// maker is the provider that makes a model, or empty.
func maker(name string) string {
	if strings.ContainsAny(name, "/:") {
		return ""
	}
	for _, m := range makers {
		if strings.HasPrefix(model.Bare(name), m.prefix) {
			return m.provider
		}
	}
	return ""
}

// usual are models that their makers keep under one name, for users who name none.
var usual = map[string]string{"anthropic": "claude-sonnet-4-6", "gemini": "gemini-2.5-pro",
	"deepseek": "deepseek-chat", "xai": "grok-4"}

// detect chooses the provider where nobody did: the one that makes the model which the
// user named, or the only one for which there is a key.
func (c *Choice) detect() {
	o := c.registry.o
	if !o.Unchosen || o.Found == nil {
		return
	}
	// A model that names its provider says enough.
	if provider, _ := c.split(c.Model); provider != c.Provider {
		return
	}
	if made := maker(c.Model); made != "" && made != c.Provider {
		if _, ok := o.Providers[made]; ok {
			c.Provider = made
			return
		}
	}
	if !o.Keyless() {
		return
	}
	found := o.Found()
	if len(found) != 1 {
		return
	}
	for name, variable := range found {
		c.Provider = name
		if !o.ModelNamed && c.Model == o.Model {
			c.Model = usual[name] // the default is another provider's
		}
		c.warn("using %s: %s is the only key in the environment; model_provider chooses another", o.Providers[name].Name,
			variable)
	}
}
