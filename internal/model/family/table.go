package family

// table has the families in the order in which their names are looked at. Limits are in
// tokens; prices are US dollars for a million tokens, as published in 2026. Where a maker asks
// more at some hours (DeepSeek) or was not looked up there are none.
var table = []Family{gpt, claude, gemini, qwen, kimi, glm, deepseek, grok, minimax, mistral, llama, granite}

// What a model can do.
const (
	parallel Ability = 1 << iota
	images
	interleaved
)

// mistrals are what models of Mistral want of every server.
var mistrals = Quirks{Thoughts: Never, Strict: true}

var gpt = Family{
	Name:   "gpt",
	Models: []string{"gpt-", "o1", "o3", "o4", "codex", "chatgpt"},
	// They were taught to read and to search with commands, and to change files with patches.
	Tools: Tools{Fields: lean, Instead: searching},
	Words: "Search with commands, such as rg, and read with read_file what you are about to change.\n",
	// Those that do not think refuse to be asked.
	Quirks: []Quirk{{"gpt-", Quirks{RefusesEffort: true}}},
	Makers: []Maker{{"gpt-oss", "", ""}, {"gpt-", "openai", ""}, {"o1", "openai", ""}, {"o3", "openai", ""},
		{"o4", "openai", ""}, {"codex", "openai", ""}},
	Known: []Model{
		{"gpt-6", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-5", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{1.25, 0.125, 0, 10}},
		{"gpt-5-mini", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{0.25, 0.025, 0, 2}},
		{"gpt-5-nano", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{0.05, 0.005, 0, 0.4}},
		{"gpt-5-chat", 128_000, 16_384, parallel | images, NoReasoning, Replacements, Prices{}},
		{"gpt-5.1-chat", 128_000, 16_384, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-5.2-chat", 128_000, 16_384, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-5.3-chat", 128_000, 16_384, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-5.2", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{1.75, 0.175, 0, 14}},
		{"gpt-5.3", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-5.4", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{}},
		// For inputs up to 272,000.
		{"gpt-5.5", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{5, 0.5, 0, 30}},
		{"gpt-5.6", 400_000, 128_000, parallel | images, ByEffort, FreeformPatch, Prices{}},
		{"gpt-4.1", 1_047_576, 32_768, parallel | images, NoReasoning, JSONPatch, Prices{2, 0.5, 0, 8}},
		{"gpt-4o", 128_000, 16_384, parallel | images, NoReasoning, Replacements, Prices{2.5, 1.25, 0, 10}},
		{"gpt-oss", 131_072, 32_768, 0, ByEffort, JSONPatch, Prices{}},
		{"o3", 200_000, 100_000, parallel | images, ByEffort, JSONPatch, Prices{2, 0.5, 0, 8}},
		{"o4-mini", 200_000, 100_000, parallel | images, ByEffort, JSONPatch, Prices{1.1, 0.275, 0, 4.4}},
		{"codex-mini", 200_000, 100_000, parallel | images, ByEffort, JSONPatch, Prices{}},
	},
}

var claude = Family{
	Name:   "claude",
	Models: []string{"claude"},
	Tools:  Tools{Fields: lean, Names: map[string]string{"read_file": "read", "edit_file": "edit", "write_file": "write"}},
	// Routers cache what they are told to.
	Quirks: []Quirk{{"claude", Quirks{CacheMark: true}}},
	Makers: []Maker{{"claude", "anthropic", "claude-sonnet-4-6"}},
	Known: []Model{
		{"claude", 200_000, 32_000, parallel | images, Adaptive, Replacements, Prices{}},
		{"claude-3", 200_000, 8_192, parallel | images, NoReasoning, Replacements, Prices{}},
		{"claude-3-7", 200_000, 64_000, parallel | images, ByBudget, Replacements, Prices{3, 0.3, 3.75, 15}},
		{"claude-3.7", 200_000, 64_000, parallel | images, ByBudget, Replacements, Prices{3, 0.3, 3.75, 15}},
		{"claude-opus-4", 200_000, 32_000, parallel | images | interleaved, ByBudget, Replacements, Prices{15, 1.5, 18.75, 75}},
		{"claude-opus-4-5", 200_000, 64_000, parallel | images | interleaved, ByBudget, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4.5", 200_000, 64_000, parallel | images | interleaved, ByBudget, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4-6", 1_000_000, 128_000, parallel | images, Adaptive, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4.6", 1_000_000, 128_000, parallel | images, Adaptive, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4-7", 1_000_000, 128_000, parallel | images, Adaptive, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4.7", 1_000_000, 128_000, parallel | images, Adaptive, Replacements, Prices{5, 0.5, 6.25, 25}},
		{"claude-opus-4-8", 1_000_000, 128_000, parallel | images, Adaptive, Replacements, Prices{}},
		{"claude-sonnet-4", 200_000, 64_000, parallel | images | interleaved, ByBudget, Replacements, Prices{3, 0.3, 3.75, 15}},
		{"claude-sonnet-4-6", 1_000_000, 64_000, parallel | images, Adaptive, Replacements, Prices{3, 0.3, 3.75, 15}},
		{"claude-sonnet-4.6", 1_000_000, 64_000, parallel | images, Adaptive, Replacements, Prices{3, 0.3, 3.75, 15}},
		{"claude-haiku-4", 200_000, 64_000, parallel | images | interleaved, ByBudget, Replacements, Prices{1, 0.1, 1.25, 5}},
	},
}

var gemini = Family{
	Name:   "gemini",
	Models: []string{"gemini", "gemma"},
	Tools:  Tools{Fields: lean},
	Words:  "Do what was asked and no more: no tidying up around it, no comments that explain the change.\n",
	// Over chat, too, the first call of an answer needs a signature.
	Quirks: []Quirk{{"gemini-", Quirks{Signed: true}}},
	Makers: []Maker{{"gemini", "gemini", "gemini-2.5-pro"}},
	Known: []Model{
		{"gemini", 1_048_576, 65_536, parallel | images, ByLevel, Replacements, Prices{}},
		{"gemini-2", 1_048_576, 8_192, parallel | images, NoReasoning, Replacements, Prices{}},
		{"gemini-2.5", 1_048_576, 65_536, parallel | images, ByBudget, Replacements, Prices{1.25, 0.125, 0, 10}},
		{"gemini-2.5-flash", 1_048_576, 65_536, parallel | images, ByBudget, Replacements, Prices{0.3, 0.03, 0, 2.5}},
		{"gemini-3", 1_048_576, 65_536, parallel | images, ByLevel, Replacements, Prices{2, 0.2, 0, 12}},
		{"gemma", 32_768, 8_192, images, NoReasoning, Replacements, Prices{}},
	},
}

var qwen = Family{
	Name:   "qwen",
	Models: []string{"qwen", "qwq"},
	Tools:  Tools{Fields: lean},
	Known: []Model{
		{"qwen", 32_768, 8_192, parallel, NoReasoning, Replacements, Prices{}},
		{"qwen3", 131_072, 16_384, parallel, NoReasoning, Replacements, Prices{}},
		{"qwen3-coder", 262_144, 65_536, parallel, NoReasoning, Replacements, Prices{}},
		{"qwen2.5-coder", 32_768, 8_192, parallel, NoReasoning, Replacements, Prices{}},
	},
}

var kimi = Family{
	Name:   "kimi",
	Models: []string{"kimi", "moonshot"},
	Tools:  Tools{Fields: lean},
	// Those that think refuse calls whose reasoning is missing or empty.
	Quirks: []Quirk{{"kimi-k2.", Quirks{Thoughts: NeverEmpty}}, {"kimi-k2-thinking", Quirks{Thoughts: NeverEmpty}},
		{"kimi-k3", Quirks{Thoughts: NeverEmpty}}},
	Makers: []Maker{{"kimi", "moonshot", "kimi-k2.5"}, {"moonshot", "moonshot", ""}},
	Known: []Model{
		{"kimi-k2", 262_144, 32_768, parallel, NoReasoning, Replacements, Prices{}},
	},
}

var glm = Family{
	Name:   "glm",
	Models: []string{"glm", "chatglm"},
	Tools:  Tools{Fields: lean},
	Makers: []Maker{{"glm-", "zai", "glm-4.7"}},
	Known: []Model{
		{"glm-4", 131_072, 32_768, parallel, NoReasoning, Replacements, Prices{}},
		{"glm-4.6", 200_000, 32_768, parallel, NoReasoning, Replacements, Prices{0.6, 0.11, 0, 2.2}},
		{"glm-4.7", 200_000, 32_768, parallel, NoReasoning, Replacements, Prices{0.6, 0.11, 0, 2.2}},
		{"glm-5", 200_000, 32_768, parallel, NoReasoning, Replacements, Prices{1, 0.2, 0, 3.2}},
		{"glm-5-turbo", 200_000, 32_768, parallel, NoReasoning, Replacements, Prices{1.2, 0.24, 0, 4}},
		{"glm-5.1", 200_000, 32_768, parallel, NoReasoning, Replacements, Prices{1.2, 0.24, 0, 4}},
	},
}

var deepseek = Family{
	Name:   "deepseek",
	Models: []string{"deepseek"},
	Tools:  Tools{Fields: lean},
	Quirks: []Quirk{{"deepseek-v4", Quirks{Thoughts: EvenEmpty}}},
	Makers: []Maker{{"deepseek-chat", "deepseek", "deepseek-chat"}, {"deepseek-reasoner", "deepseek", "deepseek-chat"}},
	Known: []Model{
		{"deepseek", 128_000, 32_768, parallel, NoReasoning, Replacements, Prices{}},
	},
}

var grok = Family{
	Name:   "grok",
	Models: []string{"grok"},
	Tools:  Tools{Fields: lean},
	Makers: []Maker{{"grok", "xai", "grok-4"}},
	Known: []Model{
		{"grok", 256_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{}},
		{"grok-4", 256_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{3, 0.75, 0, 15}},
		{"grok-4.", 256_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{}},
		{"grok-4-1", 256_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{}},
		{"grok-4-fast", 256_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{}},
		{"grok-4.5", 500_000, 64_000, parallel | images, NoReasoning, Replacements, Prices{2, 0.5, 0, 6}},
	},
}

var minimax = Family{
	Name:   "minimax",
	Models: []string{"minimax"},
	Tools:  Tools{Fields: lean},
	Quirks: []Quirk{{"minimax-m", Quirks{Thoughts: WithinTexts}}},
	Makers: []Maker{{"minimax-", "minimax", "MiniMax-M2"}},
	Known: []Model{
		{"minimax-m2", 196_608, 32_768, parallel, NoReasoning, Replacements, Prices{}},
	},
}

var mistral = Family{
	Name:   "mistral",
	Models: []string{"mistral", "devstral", "codestral"},
	Tools:  Tools{Fields: lean},
	// Their templates want short ids and a fixed order of roles.
	Quirks: []Quirk{{"mistral", mistrals}, {"mixtral", mistrals}, {"ministral", mistrals}, {"devstral", mistrals},
		{"magistral", mistrals}, {"codestral", mistrals}, {"pixtral", mistrals}},
	Makers: []Maker{{"mistral-", "mistral", "mistral-large-latest"}, {"codestral", "mistral", ""}, {"devstral", "mistral", ""}},
	Known: []Model{
		{"devstral", 131_072, 32_768, parallel, NoReasoning, Replacements, Prices{}},
		{"codestral", 262_144, 32_768, parallel, NoReasoning, Replacements, Prices{}},
		{"mistral", 131_072, 32_768, parallel, NoReasoning, Replacements, Prices{}},
	},
}

var llama = Family{
	Name:   "llama",
	Models: []string{"llama"},
	Tools:  Tools{Fields: lean},
	Known: []Model{
		{"llama3", 131_072, 8_192, 0, NoReasoning, Replacements, Prices{}},
		{"llama-3", 131_072, 8_192, 0, NoReasoning, Replacements, Prices{}},
		{"llama-4", 262_144, 16_384, parallel | images, NoReasoning, Replacements, Prices{}},
	},
}

var granite = Family{
	Name:   "granite",
	Models: []string{"granite"},
	Tools:  Tools{Fields: lean},
	Known: []Model{
		{"granite", 131_072, 8_192, 0, NoReasoning, Replacements, Prices{}},
	},
}
