// Package family is the table of model families: how their models are called, which tools
// they are offered under which names, what they are told, how they think, what they hold
// and cost, and what they want beside the protocols. It is data, and questions about it.
package family

import "strings"

// Family is how the models of one family are worked with. It is not changed.
type Family struct {
	Name string
	// Models are the beginnings of the names of its models.
	Models []string
	Tools  Tools
	// Words are what its models are told beside what all are told. Few has them told less
	// of everything, for models that hold little.
	Words string
	Few   bool
	// Known are its models of which more is known; the longest beginning counts.
	Known []Model
	// Quirks are what models want beside the protocols, Makers who makes them.
	Quirks []Quirk
	Makers []Maker
}

// Model is what is known of models whose names begin so.
type Model struct {
	Prefix            string
	Window, MaxOutput int
	Can               Ability
	Reasoning         Reasoning
	EditTool          EditTool
	Prices            Prices
}

// Ability is a set of what a model can do.
type Ability int

// Facts are the same as facts.
func (m Model) Facts() Facts {
	return Facts{Window: m.Window, MaxOutput: m.MaxOutput, Parallel: m.Can&parallel != 0, Images: m.Can&images != 0,
		Interleaved: m.Can&interleaved != 0, Reasoning: m.Reasoning, EditTool: m.EditTool, Prices: m.Prices}
}

// Quirk is what models want in whose names Part is.
type Quirk struct {
	Part   string
	Quirks Quirks
}

// Maker is who makes the models whose names begin so: a provider, empty where many serve
// them. Usual is the model that it keeps under one name, if there is one.
type Maker struct{ Prefix, Provider, Usual string }

// Facts is what is known of a model. The zero value of a field means unknown,
// but for the bools, which then mean no.
type Facts struct {
	Window    int `json:"window,omitempty"`     // tokens of context, input and output together
	MaxOutput int `json:"max_output,omitempty"` // tokens of one answer
	// Parallel models may call several tools in one response, Images take
	// pictures.
	Parallel bool `json:"parallel,omitempty"`
	Images   bool `json:"images,omitempty"`
	// Reasoning says how thinking is asked for.
	Reasoning Reasoning `json:"reasoning,omitempty"`
	// Interleaved models think between their calls when they are asked to, if they think by
	// budget; those that decide themselves do so anyway.
	Interleaved bool `json:"interleaved,omitempty"`
	// EditTool is the tool the model changes files with best.
	EditTool EditTool `json:"edit_tool,omitempty"`
	Prices   Prices   `json:"prices,omitzero"`
}

// Reasoning says how a model is asked to think.
type Reasoning string

// The ways: not at all, by a word for the effort, by a word while the model
// decides when, by a number of tokens, and by a level.
const (
	NoReasoning Reasoning = ""
	ByEffort    Reasoning = "effort"
	Adaptive    Reasoning = "adaptive"
	ByBudget    Reasoning = "budget"
	ByLevel     Reasoning = "level"
)

// EditTool names the way a model changes files.
type EditTool string

// The ways: a patch as free text, a patch within JSON, and quoted replacements.
const (
	FreeformPatch EditTool = "freeform"
	JSONPatch     EditTool = "patch"
	Replacements  EditTool = "edit"
)

// Prices are US dollars for a million tokens.
type Prices struct {
	Input      float64 `json:"input,omitempty"`
	Cached     float64 `json:"cached,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
	Output     float64 `json:"output,omitempty"`
}

// Quirks are what models want beside the protocols, whoever serves them.
type Quirks struct {
	// Thoughts is how reasoning goes back along with calls over chat.
	Thoughts Thoughts
	// Strict models want ids of nine letters and digits, and an answer between what a tool
	// gave and what the user says.
	Strict bool
	// Signed models want a signature with the first call of each answer.
	Signed bool
	// CacheMark is set where a router caches only what it is told to.
	CacheMark bool
	// RefusesEffort is set where models that do not think refuse to be asked to.
	RefusesEffort bool
}

// Thoughts says how reasoning goes back.
type Thoughts int

// The ways. A call without reasoning_content is refused by those that take an empty one
// (EvenEmpty), and by those that do not (NeverEmpty), which also want it without calls.
const (
	AsTheyCame  Thoughts = iota // under the name they came by
	Never                       // the member is refused
	EvenEmpty                   // always
	NeverEmpty                  // always, with something in it
	WithinTexts                 // between <think> tags, where the model wrote them so
)

// assumed are the facts of a model that nothing is known of: they work everywhere, with
// every tool.
var assumed = Facts{Parallel: true, Images: true, EditTool: Replacements}

// All are the families, in the order in which names are looked at. The list is not
// changed.
func All() []Family { return table }

// Of returns the family of a model, Unknown if there is none.
func Of(name string) Family {
	name = Bare(name)
	for _, f := range table {
		for _, begins := range f.Models {
			if strings.HasPrefix(name, begins) {
				return f
			}
		}
	}
	return Unknown
}

// Lookup returns what is known of a model, by the longest name that its own begins with;
// vendors ("anthropic/…"), paths and case do not count. For a model that is not known it
// returns facts that work, and false.
func Lookup(name string) (Facts, bool) {
	name = Bare(name)
	facts, longest := assumed, -1
	for _, f := range table {
		for _, m := range f.Known {
			if len(m.Prefix) > longest && strings.HasPrefix(name, m.Prefix) {
				facts, longest = m.Facts(), len(m.Prefix)
			}
		}
	}
	return facts, longest >= 0
}

// QuirksOf returns what a model wants beside the protocols.
func QuirksOf(name string) Quirks {
	var q Quirks
	name = strings.ToLower(name)
	for _, f := range table {
		for _, k := range f.Quirks {
			if !strings.Contains(name, k.Part) {
				continue
			}
			if q.Thoughts == AsTheyCame || k.Quirks.Strict {
				q.Thoughts = k.Quirks.Thoughts
			}
			q.Strict = q.Strict || k.Quirks.Strict
			q.Signed = q.Signed || k.Quirks.Signed
			q.CacheMark = q.CacheMark || k.Quirks.CacheMark
			q.RefusesEffort = q.RefusesEffort || k.Quirks.RefusesEffort
		}
	}
	return q
}

// MakerOf returns the provider that makes a model, or empty. A name with a vendor before
// it ("anthropic/…") is one of a provider that has models of many.
func MakerOf(name string) string {
	if strings.ContainsAny(name, "/:") {
		return ""
	}
	name = Bare(name)
	for _, f := range table {
		for _, m := range f.Makers {
			if strings.HasPrefix(name, m.Prefix) {
				return m.Provider
			}
		}
	}
	return ""
}

// hosted are models of providers that have those of others, or many, for users who name none.
var hosted = map[string]string{
	"cerebras":   "gpt-oss-120b",
	"dashscope":  "qwen3-coder-plus",
	"fireworks":  "accounts/fireworks/models/gpt-oss-120b",
	"groq":       "openai/gpt-oss-120b",
	"openrouter": "anthropic/claude-sonnet-4.5",
	"together":   "openai/gpt-oss-120b",
}

// Usual is the model that a provider keeps under one name, for users who name none, or empty.
func Usual(provider string) string {
	if name := hosted[provider]; name != "" {
		return name
	}
	for _, f := range table {
		for _, m := range f.Makers {
			if m.Provider == provider && m.Usual != "" {
				return m.Usual
			}
		}
	}
	return ""
}

// Bare is a model's own name in lower case, without what providers put around it.
func Bare(name string) string {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, vendor := range []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "global.", "anthropic.",
		"openai.", "google."} {
		name = strings.TrimPrefix(name, vendor)
	}
	return name
}
