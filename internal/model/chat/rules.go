package chat

import (
	"net/url"
	"strings"
)

// rules are what a server and a model want of the messages beside the protocol.
type rules struct {
	images bool // the model takes pictures
	// shortIDs wants ids of nine letters and digits.
	shortIDs bool
	// bridge wants an answer between what a tool gave and what the user says.
	bridge bool
	// thoughts says how reasoning goes back along with calls.
	thoughts thoughtRule
	// signed wants a signature with the first call of each answer.
	signed bool
}

// thoughtRule says how reasoning goes back.
type thoughtRule int

const (
	asTheyCame  thoughtRule = iota // under the name they came by
	never                          // the server refuses the member
	evenEmpty                      // a call without reasoning_content is refused
	neverEmpty                     // likewise, and so is an empty one; without calls, too
	withinTexts                    // between <think> tags, where the model wrote them so
)

// servers are told by the name of the provider or by the host of its address.
var servers = []struct {
	name     string // that the provider's name or its host contains
	thoughts thoughtRule
}{
	{"mistral", never}, {"groq", never}, {"cerebras", never},
	{"openrouter", asTheyCame},
	{"deepseek", evenEmpty},
	{"moonshot", neverEmpty}, {"kimi", neverEmpty},
	{"minimax", withinTexts},
}

// families are told by a part of the model's name; the server's own rule counts more.
var families = []struct {
	name     string
	thoughts thoughtRule
}{
	{"kimi-k2.", neverEmpty}, {"kimi-k2-thinking", neverEmpty}, {"kimi-k3", neverEmpty},
	{"deepseek-v4", evenEmpty}, {"minimax-m", withinTexts},
}

// mistrals are the families whose templates want short ids and a fixed order of roles.
var mistrals = []string{"mistral", "mixtral", "ministral", "devstral", "magistral", "codestral", "pixtral"}

// rulesOf are the rules of a model on a server. provider is its name in the configuration.
func rulesOf(provider, base, name string, images bool) rules {
	server := strings.ToLower(provider)
	if u, err := url.Parse(base); err == nil {
		server += " " + strings.ToLower(u.Hostname())
	}
	name = strings.ToLower(name)
	r := rules{images: images}
	known := false
	for _, s := range servers {
		if !known && strings.Contains(server, s.name) {
			r.thoughts, known = s.thoughts, s.thoughts != asTheyCame
		}
	}
	for _, f := range families {
		if !known && strings.Contains(name, f.name) {
			r.thoughts, known = f.thoughts, true
		}
	}
	strict := strings.Contains(server, "mistral")
	for _, m := range mistrals {
		strict = strict || strings.Contains(name, m)
	}
	r.shortIDs, r.bridge = strict, strict
	if strict {
		r.thoughts = never
	}
	google := strings.Contains(server, "google") || strings.Contains(server, "gemini")
	r.signed = strings.Contains(name, "gemini-") && (google || !strings.Contains(server, "openrouter"))
	return r
}
