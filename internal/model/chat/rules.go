package chat

import (
	"net/url"
	"strings"

	"kerf/internal/model/family"
)

// rules are what a server and a model want of the messages beside the protocol.
type rules struct {
	images   bool            // the model takes pictures
	thoughts family.Thoughts // how reasoning goes back along with calls
	strict   bool            // see family.Quirks
	signed   bool            // likewise
}

// effortRule says how a server is asked to think more, less or not at all.
type effortRule int

const (
	byWord       effortRule = iota // reasoning_effort, with none for not at all
	bySwitch                       // thinking, which is enabled or disabled
	bySwitchWord                   // both
	byFlag                         // enable_thinking, true or false
	byRouter                       // reasoning, with an effort in it
)

// servers are told by the name of the provider or by the host of its address. What they
// want of every model counts more than what the model wants.
var servers = []struct {
	name     string // that the provider's name or its host contains
	thoughts family.Thoughts
	effort   effortRule
}{
	{"mistral", family.Never, byWord}, {"groq", family.Never, byWord}, {"cerebras", family.Never, byWord},
	{"openrouter", family.AsTheyCame, byRouter},
	{"deepseek", family.EvenEmpty, bySwitchWord},
	{"moonshot", family.NeverEmpty, bySwitch}, {"kimi", family.NeverEmpty, bySwitch},
	{"minimax", family.WithinTexts, byWord},
	{"zai", family.AsTheyCame, bySwitchWord}, {"z.ai", family.AsTheyCame, bySwitchWord},
	{"bigmodel", family.AsTheyCame, bySwitchWord},
	{"dashscope", family.AsTheyCame, byFlag}, {"aliyuncs", family.AsTheyCame, byFlag},
}

// serverOf is what a server is told by. provider is its name in the configuration.
func serverOf(provider, base string) string {
	server := strings.ToLower(provider)
	if u, err := url.Parse(base); err == nil {
		server += " " + strings.ToLower(u.Hostname())
	}
	return server
}

// effortOf is how a server is asked to think.
func effortOf(provider, base string) effortRule {
	server := serverOf(provider, base)
	for _, s := range servers {
		if strings.Contains(server, s.name) {
			return s.effort
		}
	}
	return byWord
}

// rulesOf are the rules of a model on a server.
func rulesOf(provider, base, name string, images bool) rules {
	server := serverOf(provider, base)
	wants := family.QuirksOf(name)
	r := rules{images: images, thoughts: wants.Thoughts, strict: wants.Strict || strings.Contains(server, "mistral")}
	for _, s := range servers {
		if s.thoughts != family.AsTheyCame && strings.Contains(server, s.name) {
			r.thoughts = s.thoughts
			break
		}
	}
	if r.strict {
		r.thoughts = family.Never
	}
	google := strings.Contains(server, "google") || strings.Contains(server, "gemini")
	r.signed = wants.Signed && (google || !strings.Contains(server, "openrouter"))
	return r
}
