package wire

import (
	"slices"
	"strings"
)

// The words by which servers tell why a model stopped, beside those of their protocols. Many
// stand for another provider and pass its words on; the case says nothing.
var (
	lengths  = []string{"length", "max_tokens", "max_output_tokens", "max_length", "token_limit"}
	windows  = []string{WindowIsFull, "model_length", "context_length", "context_length_exceeded", "context_window_exceeded"}
	filters  = []string{"sensitive", "safety", "recitation", "language", "blocklist", "prohibited_content", "spii", "image_safety"}
	failures = []string{"error", "abort", "aborted", "cancelled", "canceled", "network_error", "timeout", "server_error",
		"insufficient_system_resource"}
	unread = []string{"malformed_function_call", "unexpected_tool_call"}
)

// Stopped sorts the word of a server for why its model stopped. Incomplete is why the answer is
// not whole, in the words of all protocols, and empty when it is or the protocol decides. A
// failure says that the answer counts for nothing, because the server gave it up.
func Stopped(said string) (incomplete string, failure *Failure) {
	word := strings.ToLower(strings.TrimSpace(said))
	switch {
	case word == "":
	case slices.Contains(lengths, word):
		return CutByLength, nil
	case slices.Contains(windows, word):
		return WindowIsFull, nil
	case word == "refusal", strings.HasPrefix(word, "content_filter"):
		return word, nil
	case slices.Contains(filters, word):
		return "content_filter: " + word, nil
	case slices.Contains(failures, word):
		return "", &Failure{Message: "the provider ended the response (" + word + ")"}
	case slices.ContainsFunc(unread, func(s string) bool { return strings.HasSuffix(word, s) }):
		return "", &Failure{Code: misspoken, Message: "the model wrote a call that the provider cannot read (" + word + ")"}
	}
	return "", nil
}
