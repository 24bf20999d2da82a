package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kerf/internal/model"
)

// Failure is what a server says of a request that it does not answer, in a body
// or in the stream. Decoders return it; [Endpoint.Stream] makes it a *model.Error.
type Failure struct {
	Code    string
	Type    string // of errors: a coarser code
	Message string
	Status  int           // an HTTP status told in the text, or 0
	Reset   time.Duration // when the server told it in the text, or 0
}

// Error gives the server's words.
func (f *Failure) Error() string { return f.Message }

// ParseFailure reads the shapes in which servers wrap an error: {"error":{…}},
// {"error":"…"}, the bare object, and a list with one of these. It reports
// whether raw is one of them.
func ParseFailure(raw []byte) (*Failure, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	switch inner := object["error"].(type) {
	case string:
		return &Failure{Code: text(object, "code"), Message: inner}, inner != ""
	case map[string]any:
		f := failureOf(inner)
		if f.Status == 0 {
			f.Status = statusIn(object)
		}
		return f, f.Code != "" || f.Type != "" || f.Message != ""
	}
	f := failureOf(object)
	return f, f.Message != ""
}

func failureOf(o map[string]any) *Failure {
	f := &Failure{Message: text(o, "message", "detail", "error_description")}
	f.Code = text(o, "code", "status")
	if f.Type = text(o, "type"); f.Type == "error" {
		f.Type = "" // it says nothing
	}
	f.Status = statusIn(o)
	if n, ok := o["resets_in_seconds"].(float64); ok {
		f.Reset = seconds(n)
	}
	details, _ := o["details"].([]any)
	for _, v := range details {
		detail, _ := v.(map[string]any)
		if reason := text(detail, "reason"); reason == invalidKey {
			f.Code = reason
		}
		if d, err := time.ParseDuration(text(detail, "retryDelay")); err == nil {
			f.Reset = seconds(d.Seconds())
		}
	}
	return f
}

// invalidKey is the reason of a provider that tells it under status 400.
const invalidKey = "API_KEY_INVALID"

// statusIn is the HTTP status that o tells, or 0.
func statusIn(o map[string]any) int {
	for _, name := range []string{"status_code", "status", "code"} {
		if n, ok := o[name].(float64); ok && n >= 300 && n < 600 {
			return int(n)
		}
	}
	return 0
}

// text returns the first of the named members that is a string with something in it.
func text(o map[string]any, names ...string) string {
	for _, name := range names {
		if s, ok := o[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// The codes by which providers tell causes.
var codes = map[model.ErrorKind][]string{
	model.Context: {"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"},
	model.Quota: {"insufficient_quota", "usage_limit_reached", "usage_not_included", "billing_hard_limit_reached",
		"billing_not_active", "billing_error", "quota_exceeded", "credits_exhausted"},
	model.Auth: {"invalid_api_key", "authentication_error", "permission_error", "unauthenticated", "permission_denied",
		"token_expired", "unauthorized"},
	model.RateLimit: {"rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests"},
	model.Server: {"server_error", "internal_server_error", "internal_error", "api_error", "overloaded_error",
		"server_is_overloaded", "overloaded", "slow_down", "unavailable", "service_unavailable", "timeout", "timeout_error"},
	model.BadCall: {"invalid_prompt", "invalid_request_error", "invalid_argument", "bad_request", "model_not_found",
		"not_found_error", "unsupported_value", "unsupported_parameter", "request_too_large", "content_policy_violation"},
}

// kindOrder is the order in which codes are tried.
var kindOrder = []model.ErrorKind{model.Context, model.Quota, model.Auth, model.RateLimit, model.Server, model.BadCall}

// kind sorts a failure. Context and quota are told by words under various
// statuses, so the words come first; after them the status decides.
func kind(f *Failure, status int) model.ErrorKind {
	byCode := kindOfCode(f.Code)
	if byCode == "" {
		byCode = kindOfCode(f.Type)
	}
	switch {
	case byCode == model.Context || byCode == model.Quota:
		return byCode
	case f.Code == invalidKey:
		return model.Auth
	case strings.Contains(strings.ToLower(f.Message), "credit balance is too low"):
		return model.Quota
	case tooLong(f.Message) && (status < 400 || status == 400 || status == 413 || status == 422):
		return model.Context
	}
	if status < 300 && f.Status != 0 {
		status = f.Status
	}
	if byStatus, ok := kindOfStatus(status); ok {
		return byStatus
	}
	switch {
	case byCode != "":
		return byCode
	case strings.HasPrefix(f.Code, "invalid_"), strings.HasPrefix(f.Type, "invalid_"):
		return model.BadCall
	}
	return model.Server
}

func kindOfCode(code string) model.ErrorKind {
	code = strings.ToLower(code)
	for _, kind := range kindOrder {
		if slices.Contains(codes[kind], code) {
			return kind
		}
	}
	return ""
}

// kindOfStatus reports false for a status that says nothing of an error.
func kindOfStatus(status int) (model.ErrorKind, bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return model.Auth, true
	case status == http.StatusPaymentRequired:
		return model.Quota, true
	case status == http.StatusTooManyRequests:
		return model.RateLimit, true
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return model.Server, true
	case status >= 300:
		return model.BadCall, true
	}
	return "", false
}

// tooLong recognises the sentences that say the input exceeds the window.
func tooLong(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{"context window", "context length", "context size", "context limit",
		"prompt is too long",
		"input is too long", "too many input tokens", "input token count"} {
		if strings.Contains(message, words) && (strings.Contains(message, "exceed") ||
			strings.Contains(message, "too long") || strings.Contains(message, "maximum") ||
			strings.Contains(message, "too many")) {
			return true
		}
	}
	return false
}

// retryAfter is the wait that the headers ask for, never negative, 0 if they
// ask for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return seconds(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(n)
	}
	if at, err := http.ParseTime(value); err == nil {
		// The server's clock counts: ours may be off by hours.
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return seconds(at.Sub(now).Seconds())
	}
	return 0
}

// seconds converts n, which may be anything a server wrote, to 0 up to a year.
func seconds(n float64) time.Duration {
	const year = 365 * 24 * time.Hour
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n >= year.Seconds() {
		return year
	}
	return time.Duration(n * float64(time.Second))
}

var tryAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\s*)+)`)
})

var amount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)`)
})

// retryIn finds "try again in 1.5s" or "6m0s" in the words of a server.
func retryIn(message string) time.Duration {
	m := tryAgain().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	var sum float64
	for _, part := range amount().FindAllStringSubmatch(m[1], -1) {
		n, _ := strconv.ParseFloat(part[1], 64) // the expression admits numbers only
		switch strings.ToLower(part[2]) {
		case "ms", "milli":
			n /= 1000
		case "m":
			n *= 60
		case "h":
			n *= 3600
		}
		sum += n
	}
	return seconds(sum)
}
