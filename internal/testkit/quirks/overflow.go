package quirks

import (
	"kerf/internal/model/script/dialect"
)

// overflows are the words with which servers say that a conversation is too long: it is
// made shorter, and goes on.
func overflows() []Quirk {
	const api = dialect.Chat
	wrapped := func(words string) string {
		return `{"error":{"message":` + quoted(words) + `,"type":"invalid_request_error","code":400}}`
	}
	var rows []Quirk
	for _, r := range []struct {
		name, source string
		status       int
		body         string
	}{
		{"openai", "huggingface/smolagents#1719", 400, `{"error":{"message":"This model's maximum context length is 16385 ` +
			`tokens. However, your messages resulted in 23273 tokens.","code":"context_length_exceeded"}}`},
		{"vllm", "earendil-works/pi#5929", 400, wrapped("This model's maximum context length is 262144 tokens. However, you " +
			"requested 0 output tokens and your prompt contains at least 262145 input tokens. Please reduce the length of the " +
			"input prompt")},
		{"vllm-decoder-prompt", "thu-coai/Glyph#9", 400, wrapped("The decoder prompt (length 163840) is longer than the " +
			"maximum model length of 131072. Make sure that `max_model_len` is no smaller")},
		{"poolside", "earendil-works/pi#4943", 400,
			wrapped("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.")},
		{"parenthesis", "earendil-works/pi#5677", 400,
			wrapped("Input length (265330) exceeds model's maximum context length (262144).")},
		{"llamacpp", "cline/kanban#505", 400, `{"error":{"code":400,"message":"the request exceeds the available context ` +
			`size, try increasing it","type":"exceed_context_size_error"}}`},
		{"llamacpp-older", "llmmllab/llmmllab-api#56", 400, wrapped("request (53192 tokens) exceeds context size (50176 tokens)")},
		{"xai", "cline/cline#3120", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt ` +
			`length is 131072 but the request contains 136973 tokens."}`},
		{"kimi", "eltmon/overdeck#2166", 400,
			wrapped("Invalid request: Your request exceeded model token limit: 262144 (requested: 336148)")},
		{"copilot", "ericc-ch/copilot-api#210", 400, `{"error":{"message":"prompt token count of 74490 exceeds the limit of ` +
			`72000","code":"model_max_prompt_tokens_exceeded"}}`},
		{"lmstudio", "Gitlawb/openclaude#353", 400, `{"error":"The number of tokens to keep from the initial prompt is greater ` +
			`than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length"}`},
		{"lmstudio-older", "lmstudio-ai/lmstudio-bug-tracker#546", 400, `{"error":"Trying to keep the first 111490 tokens when ` +
			`context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough."}`},
		{"sglang", "QwenLM/Qwen3#1321", 400, `{"object":"error","message":"The input (61709 tokens) is longer than the model's ` +
			`context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}`},
		{"sglang-allowed-length", "sgl-project/sglang#4048", 400,
			wrapped("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).")},
		{"dashscope", "QwenLM/qwen-code#98", 400, `{"error":{"code":"invalid_parameter_error","message":"<400> ` +
			`InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error"}}`},
		{"together", "jin-bo/agentao#88", 422, wrapped("Input validation error: `inputs` tokens + `max_new_tokens` must be <= " +
			"32769. Given: 32000 `inputs` tokens and 4096 `max_new_tokens`")},
		{"minimax", "MiniMax-AI/MiniMax-M2#119", 400, wrapped("invalid params, context window exceeds limit (2013)")},
		{"mistral", "jin-bo/agentao#88", 400, `{"object":"error","message":"Prompt contains 65536 tokens and 0 draft tokens, ` +
			`too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}`},
		{"ollama", "jin-bo/agentao#88", 400, `{"error":"prompt too long; exceeded max context length by 4 tokens"}`},
		{"cerebras", "cline/cline#5140", 400, wrapped("Please reduce the length of the messages or completion. Current length " +
			"is 42328 while limit is 40000")},
		{"cerebras-without-words", "earendil-works/pi#4943", 413, ""},
		{"groq", "OpenHands/OpenHands#1902", 400, wrapped("Please reduce the length of the messages or completion.")},
		{"cohere", "cohere-ai/sandbox-topically#4", 400, `{"message":"too many tokens: total number of tokens (prompt and ` +
			`prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."}`},
		{"openrouter-raw", "cline/cline#13194", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{` +
			`"raw":"{\"error\":{\"message\":\"This model's maximum context length is 262144 tokens. However, your messages ` +
			`resulted in 262897 tokens.\",\"code\":400}}","provider_name":"Nvidia"}}}`},
		{"gemini-behind-chat", "NousResearch/hermes-agent#99701", 400, wrapped("Unable to submit request because the input " +
			"token count is 32825 but model only supports up to 32768. Reduce the input token count and try again.")},
		{"zai", "NousResearch/hermes-agent#1877", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`},
		{"max-seq-len", "0xBakeer/inference-atlas#186", 400,
			wrapped("Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)")},
		{"mlx-serve", "ddalcu/mlx-serve#66", 400, wrapped("Prompt exceeds maximum context length")},
		{"bedrock", "jin-bo/agentao#88", 400, wrapped("ValidationException: Input is too long for requested model.")},
		{"ds4", "earendil-works/pi#5929", 400, wrapped("Prompt has 50000 tokens, but the configured context size is 32768 tokens")},
		{"glm-more-than-max", "anomalyco/opencode#35920", 400, wrapped("tokens in request more than max tokens allowed")},
		{"kimi-bytes", "MoonshotAI/kimi-code#1862", 400, wrapped("total message size 2100954 exceeds limit 2097152")},
		{"bedrock-input-limit", "openclaw/openclaw#58839", 400,
			wrapped("ValidationException: Input exceeds the max input token limit")},
		{"cohere-total", "openclaw/openclaw#58839", 400, wrapped("total tokens exceeds the model's max of 4096")},
		{"number-of-input-tokens", "openclaw/openclaw#58839", 400,
			wrapped("The request has more than the maximum number of input tokens.")},
		{"code-with-underscore", "openclaw/openclaw#3188", 400, `{"error":{"message":"no","code":"context_overflow"}}`},
		{"passed-and-requested", "proxysoul/Empryo#52", 400, wrapped("You passed 202753 input tokens and requested 0 output " +
			"tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.")},
		{"prompt-and-model-maximum", "can1357/oh-my-pi#1618", 400,
			wrapped("The prompt is too long: 267657, model maximum context length: 262143")},
		{"input-and-max-tokens", "anthropics/claude-code#476", 400, wrapped("input length and `max_tokens` exceed context limit: " +
			"186433 + 20000 > 200000, decrease input length or `max_tokens` and try again")},
		{"router-one-of-both", "MoonshotAI/kimi-code#476", 400, wrapped("This endpoint's maximum context length is 262144 " +
			"tokens. However, you requested about 264896 tokens (52139 of text input, 12757 of tool input, 200000 in the output). " +
			"Please reduce the length of either one.")},
		{"nginx", "MoonshotAI/kimi-cli#1222", 413, "<html>\n<head><title>413 Request Entity Too Large</title></head>\n<body>\n" +
			"<center><h1>413 Request Entity Too Large</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n"},
		{"request-too-large-without-code", "anthropics/claude-code#38937", 413,
			`{"error":{"message":"Request too large (max 20MB)."}}`},
		{"litellm", "tinyhumansai/openhuman#2074", 400,
			wrapped("litellm.BadRequestError: token count 203783 exceeds model max context 202752")},
	} {
		bad := Answer{Status: r.status, Body: r.body}
		rows = append(rows, Quirk{Name: "overflow/" + r.name, Source: r.source, API: api,
			Control: &Case{Answers: []Answer{reads(api), {Status: r.status, Body: `{"error":{"message":"the tool schema is ` +
				`not valid","type":"invalid_request_error"}}`}}, Repeat: true, Want: fails(2, "schema is not valid")},
			Case: Case{Answers: []Answer{reads(api), bad, chat("stop", say("Summary of the work.")), done(api)}, Want: well(4)}})
	}
	rows[20].Control = &Case{Answers: []Answer{reads(api), {Status: 413, Body: `{"error":{"message":"the file is too ` +
		`large","code":"file_too_large"}}`}}, Repeat: true, Want: fails(2, "the file is too large")}
	return append(rows,
		Quirk{Name: "overflow/not-a-rate", Source: "jin-bo/agentao#88", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Answers: []Answer{reads(api), {Status: 429, Body: wrapped("Rate limit reached: Too many tokens, limit " +
				"30000 tokens per minute, the request exceeds it; context length 5000")}, done(api)}, Want: well(3)}},
		Quirk{Name: "overflow/not-the-output", Source: "earendil-works/pi#4390", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Answers: []Answer{reads(api), {Status: 400, Body: wrapped("max_tokens: 250000 > 128000, which is the " +
				"maximum allowed number of output tokens for claude-opus-4-7")}}, Repeat: true,
				Want: fails(2, "maximum allowed number of output tokens")}})
}
