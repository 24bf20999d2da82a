package catalog

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/model/family"
)

// listed is a model in the lists of the providers.
type listed struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Context int    `json:"context_length"`
	MaxLen  int    `json:"max_model_len"`
	Input   int    `json:"inputTokenLimit"`
	Output  int    `json:"outputTokenLimit"`
	Window  int    `json:"max_input_tokens"`
	Tokens  int    `json:"max_tokens"`
	Top     struct {
		Output int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct {
		Inputs []string `json:"input_modalities"`
	} `json:"architecture"`
	Pricing struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		Read       string `json:"input_cache_read"`
		Write      string `json:"input_cache_write"`
	} `json:"pricing"`
	Methods []string `json:"supportedGenerationMethods"`
}

// Parse reads a server's list of its models, in the form of any provider.
func Parse(body []byte) (map[string]family.Facts, error) {
	var list struct {
		Data   []listed `json:"data"`
		Models []listed `json:"models"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil && list.Models == nil {
		return nil, errors.New("the server's list of models cannot be read; check base_url")
	}
	told := map[string]family.Facts{}
	for _, m := range append(list.Data, list.Models...) {
		if len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
			continue
		}
		name := m.ID
		if name == "" {
			name = strings.TrimPrefix(m.Name, "models/")
		}
		if name == "" {
			continue
		}
		told[name] = family.Facts{Window: max(m.Context, m.MaxLen, m.Input, m.Window),
			MaxOutput: max(m.Output, m.Top.Output, m.Tokens),
			Images:    slices.Contains(m.Architecture.Inputs, "image"),
			Prices: family.Prices{Input: dollars(m.Pricing.Prompt), Output: dollars(m.Pricing.Completion),
				Cached: dollars(m.Pricing.Read), CacheWrite: dollars(m.Pricing.Write)}}
	}
	return told, nil
}

// dollars is a price for one token as one for a million.
func dollars(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0
	}
	return float64(int64(f*1e12+0.5)) / 1e6
}
