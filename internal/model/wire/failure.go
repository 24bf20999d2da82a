package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Failure is what a server says of a request that it does not answer, in a body
// or in the stream. Decoders return it; [Endpoint.Stream] makes it a *model.Error.
type Failure struct {
	Code    string
	Type    string // of errors: a coarser code
	Message string
	Status  int           // an HTTP status told in the text, or 0
	Reset   time.Duration // when the server told it in the text, or 0
	Daily   bool          // the limit is one for a day
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
	if base, ok := object["base_resp"].(map[string]any); ok {
		if f := ofMiniMax(base); f != nil {
			return f, true
		}
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

// ofMiniMax is a failure that MiniMax tells beside an answer, by a number of its own; nil when it
// says that all is well.
func ofMiniMax(base map[string]any) *Failure {
	code, _ := base["status_code"].(float64)
	if code == 0 {
		return nil
	}
	status, known := map[float64]int{1002: http.StatusTooManyRequests, 1004: http.StatusUnauthorized,
		1008: http.StatusPaymentRequired, 1026: http.StatusBadRequest, 1027: http.StatusBadRequest, 1039: http.StatusTooManyRequests,
		2013: http.StatusBadRequest, 2049: http.StatusUnauthorized}[code]
	if !known {
		status = http.StatusInternalServerError
	}
	return &Failure{Message: fmt.Sprintf("%s (%.0f)", text(base, "status_msg"), code), Status: status}
}

func failureOf(o map[string]any) *Failure {
	f := &Failure{Message: text(o, "message", "detail", "error_description", "error")}
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
		violations, _ := detail["violations"].([]any)
		for _, v := range violations {
			violation, _ := v.(map[string]any)
			f.Daily = f.Daily || strings.Contains(text(violation, "quotaId"), "PerDay")
		}
	}
	metadata, _ := o["metadata"].(map[string]any)
	f.takeRaw(metadata)
	return f
}

// takeRaw takes over what a router passes on of the provider behind it, as an object, as
// JSON within a text or as words.
func (f *Failure) takeRaw(metadata map[string]any) {
	raw := text(metadata, "raw")
	if object, ok := metadata["raw"].(map[string]any); ok {
		b, err := json.Marshal(object)
		if err != nil {
			return // what came from JSON always goes back to it
		}
		raw = string(b)
	}
	if raw = strings.TrimSpace(raw); raw == "" {
		return
	}
	inner, ok := ParseFailure([]byte(raw))
	if !ok {
		inner = &Failure{Message: raw}
	}
	if inner.Code != "" {
		f.Code = inner.Code
	}
	f.Type = cmp.Or(inner.Type, f.Type)
	f.Message = strings.TrimSpace(f.Message + ": " + inner.Message)
	if name := text(metadata, "provider_name"); name != "" {
		f.Message += " (" + name + ")"
	}
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
