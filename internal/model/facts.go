package model

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
)

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
	Reasoning ReasoningStyle `json:"reasoning,omitempty"`
	// Interleaved models think between their calls when they are asked to, if they think by
	// budget; those that decide themselves do so anyway.
	Interleaved bool `json:"interleaved,omitempty"`
	// EditTool is the tool the model changes files with best.
	EditTool EditTool `json:"edit_tool,omitempty"`
	Prices   Prices   `json:"prices,omitzero"`
}

// ReasoningStyle says how a model is asked to think.
type ReasoningStyle string

// The styles: not at all, by a word for the effort, by a word while the model
// decides when, by a number of tokens, and by a level.
const (
	NoReasoning       ReasoningStyle = ""
	EffortReasoning   ReasoningStyle = "effort"
	AdaptiveReasoning ReasoningStyle = "adaptive"
	BudgetReasoning   ReasoningStyle = "budget"
	LevelReasoning    ReasoningStyle = "level"
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

// Cost is what u costs in US dollars, and whether the prices are known.
func (p Prices) Cost(u Usage) (float64, bool) {
	if p.Input == 0 && p.Output == 0 {
		return 0, false
	}
	write := p.CacheWrite
	if write == 0 {
		write = p.Input
	}
	plain := max(u.Input-u.Cached-u.CacheWrite, 0)
	return (float64(plain)*p.Input + float64(u.Cached)*p.Cached + float64(u.CacheWrite)*write +
		float64(u.Output)*p.Output) / 1e6, true
}

// unknown are the facts assumed of a model that nothing is known of: they work
// everywhere, with every tool.
var unknown = Facts{Parallel: true, Images: true, EditTool: Replacements}

//go:embed facts.json
var factsJSON []byte

// family is what is known of the models whose names begin alike.
type family struct {
	Prefix string `json:"prefix"`
	Facts
}

var families = sync.OnceValue(func() []family {
	var all []family
	if err := json.Unmarshal(factsJSON, &all); err != nil {
		panic("model: facts.json: " + err.Error())
	}
	return all
})

// Lookup returns what is known of a model, by the longest family name that its
// name begins with; vendors ("anthropic/…"), paths and case do not count. For a
// model that is not known it returns facts that work, and false.
func Lookup(name string) (Facts, bool) {
	name = Bare(name)
	best := -1
	all := families()
	for i, f := range all {
		if strings.HasPrefix(name, f.Prefix) && (best < 0 || len(f.Prefix) > len(all[best].Prefix)) {
			best = i
		}
	}
	if best < 0 {
		return unknown, false
	}
	return all[best].Facts, true
}

// Bare is a model's own name in lower case, without what providers put around it.
func Bare(name string) string {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, vendor := range []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "global.", "anthropic.", "openai.", "google."} {
		name = strings.TrimPrefix(name, vendor)
	}
	return name
}
