// Package dialect writes the rounds of a scenario as the wire protocols have
// them, and reads requests that came over them.
//
// It is the other side of the packages openai, chat, anthropic and gemini, for
// servers that play a scenario.
package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// M is a JSON object.
type M = map[string]any

// API is a wire protocol, named as wire_api in the configuration.
type API string

// The protocols.
const (
	Responses API = "responses"
	Chat      API = "chat"
	Anthropic API = "anthropic"
	Gemini    API = "gemini"
)

// All are the protocols.
func All() []API { return []API{Responses, Chat, Anthropic, Gemini} }

// Of tells the protocol by the path of a request, and whether there is one.
func Of(path string) (API, bool) {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return Responses, true
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat, true
	case strings.HasSuffix(path, "/messages"):
		return Anthropic, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return Gemini, true
	}
	return Responses, false
}

// Render returns the event stream that plays r as round k (from 1). Each event
// is an element, so that tests may repeat, drop and exchange them.
func (a API) Render(r script.Round, k int) []string {
	switch a {
	case Chat:
		return renderChat(r, k)
	case Anthropic:
		return renderAnthropic(r, k)
	case Gemini:
		return renderGemini(r, k)
	}
	return renderResponses(r, k)
}

// Refusal is the answer to a request that fails before it begins: the HTTP
// status, and the body as the provider words it.
func (a API) Refusal(f *script.Failure) (status int, body string) {
	status = errorStatus(f)
	switch a {
	case Anthropic:
		return status, Encode(M{"type": "error", "error": anthropicError(f)})
	case Gemini:
		return status, Encode(M{"error": geminiError(f)})
	}
	return status, Encode(M{"error": M{"code": errorCode(f.Kind), "type": errorCode(f.Kind), "message": errorWords(f),
		"param": nil}})
}

// Encode is v as JSON, in which nothing is escaped that need not be. It panics
// when v has no JSON.
func Encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // scenarios hold nothing that has no JSON
	}
	return strings.TrimSpace(b.String())
}

// data is an event without a name.
func data(m M) string { return "data: " + Encode(m) + "\n\n" }

// errorCode is the provider's word for a kind of error.
func errorCode(kind model.ErrorKind) string {
	switch kind {
	case model.Auth:
		return "invalid_api_key"
	case model.Quota:
		return "insufficient_quota"
	case model.BadCall:
		return "invalid_prompt"
	case model.Context:
		return "context_length_exceeded"
	case model.RateLimit:
		return "rate_limit_exceeded"
	}
	return "server_error"
}

func errorWords(f *script.Failure) string {
	if f.Message == "" {
		return "scripted error: " + string(f.Kind)
	}
	return f.Message
}

// errorStatus is the HTTP status for a kind of error.
func errorStatus(f *script.Failure) int {
	switch {
	case f.Status != 0:
		return f.Status
	case f.Kind == model.Auth:
		return 401
	case f.Kind == model.Quota, f.Kind == model.RateLimit:
		return 429
	case f.Kind == model.BadCall, f.Kind == model.Context:
		return 400
	}
	return 500
}

// arguments are the input of a call where calls take JSON only: an object, or
// nonsense if the scenario has nonsense.
func arguments(item *model.Item) string {
	if item.Style == model.Freeform {
		return Encode(M{"input": item.Input})
	}
	return item.Input
}

// object is arguments decoded, for protocols that carry the object itself.
func object(item *model.Item) any {
	var v M
	if json.Unmarshal([]byte(arguments(item)), &v) != nil {
		return M{"input": item.Input}
	}
	return v
}

func seal(k, n int) string { return fmt.Sprintf("sealed item_%d_%d", k, n+1) }
