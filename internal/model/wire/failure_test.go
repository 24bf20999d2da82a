package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
)

func TestParseFailure(t *testing.T) {
	tests := []struct {
		in   string
		want *Failure
	}{
		{`{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`,
			&Failure{Code: "context_length_exceeded", Type: "invalid_request_error", Message: "m"}},
		{`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, &Failure{Type: "overloaded_error", Message: "m"}},
		{`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}`, &Failure{Code: "RESOURCE_EXHAUSTED", Message: "m", Status: 429}},
		{`[{"error":{"code":503,"message":"m"}}]`, &Failure{Message: "m", Status: 503}},
		{`{"error":"model not found"}`, &Failure{Message: "model not found"}},
		{`{"detail":"Not Found"}`, &Failure{Message: "Not Found"}},
		{`{"message":"m","code":"c"}`, &Failure{Code: "c", Message: "m"}},
		{`{"type":"error","status":429,"error":{"code":"x"}}`, &Failure{Code: "x", Status: 429}},
		{`{"error":{"message":"m","resets_in_seconds":90}}`, &Failure{Message: "m", Reset: 90 * time.Second}},
		{`{"error":null,"id":"r"}`, nil},
		{`{"error":{}}`, nil},
		{`{}`, nil}, {`[]`, nil}, {`"x"`, nil}, {`<html>`, nil}, {``, nil}, {`[7]`, nil},
	}
	for _, tt := range tests {
		got, ok := ParseFailure([]byte(tt.in))
		if ok != (tt.want != nil) {
			t.Errorf("ParseFailure(%s) ok = %v", tt.in, ok)
		}
		if !ok {
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("ParseFailure(%s) (-want +got):\n%s", tt.in, d)
		}
	}
}

func TestKind(t *testing.T) {
	tests := []struct {
		f      Failure
		status int
		want   model.ErrorKind
	}{
		{Failure{}, 401, model.Auth},
		{Failure{}, 403, model.Auth},
		{Failure{}, 400, model.BadCall},
		{Failure{}, 404, model.BadCall},
		{Failure{}, 422, model.BadCall},
		{Failure{}, 402, model.Quota},
		{Failure{}, 408, model.Server},
		{Failure{}, 429, model.RateLimit},
		{Failure{Code: "insufficient_quota"}, 429, model.Quota},
		{Failure{Type: "insufficient_quota"}, 429, model.Quota},
		{Failure{Code: "usage_limit_reached"}, 429, model.Quota},
		{Failure{Code: "context_length_exceeded"}, 400, model.Context},
		{Failure{Message: "This model's maximum context length is 8192 tokens"}, 400, model.Context},
		{Failure{Message: "prompt is too long: 250000 tokens > 200000 maximum"}, 400, model.Context},
		{Failure{Message: "your input exceeds the context window of this model"}, 0, model.Context},
		{Failure{Message: "the context window of the house"}, 400, model.BadCall},
		{Failure{Message: "exceeded the context window"}, 401, model.Auth},
		{Failure{Code: "server_error"}, 400, model.BadCall},
		{Failure{}, 500, model.Server}, {Failure{}, 503, model.Server}, {Failure{}, 529, model.Server},
		{Failure{Code: "rate_limit_exceeded"}, 0, model.RateLimit},
		{Failure{Code: "RESOURCE_EXHAUSTED"}, 0, model.RateLimit},
		{Failure{Code: "invalid_prompt"}, 0, model.BadCall},
		{Failure{Code: "x", Type: "invalid_request_error"}, 0, model.BadCall},
		{Failure{Code: "invalid_image_url"}, 200, model.BadCall},
		{Failure{Status: 401}, 200, model.Auth},
		{Failure{Status: 502}, 0, model.Server},
		{Failure{Code: "odd"}, 0, model.Server},
	}
	for _, tt := range tests {
		if got := kind(&tt.f, tt.status); got != tt.want {
			t.Errorf("kind(%+v, %d) = %s, want %s", tt.f, tt.status, got, tt.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const year = 365 * 24 * time.Hour
	tests := []struct {
		after, ms, date string
		want            time.Duration
	}{
		{"", "", "", 0},
		{"3", "", "", 3 * time.Second},
		{" 0.5 ", "", "", 500 * time.Millisecond},
		{"-5", "", "", 0},
		{"99999999999999999999", "", "", year},
		{"1e400", "", "", 0},
		{"NaN", "", "", 0},
		{"Inf", "", "", year},
		{"soon", "", "", 0},
		{"3", "250", "", 250 * time.Millisecond},
		{"Sun, 01 Mar 2026 12:01:00 GMT", "", "", time.Minute},
		{"Sun, 01 Mar 2026 11:00:00 GMT", "", "", 0},
		{"Sun, 01 Mar 2026 15:01:00 GMT", "", "Sun, 01 Mar 2026 15:00:00 GMT", time.Minute},
		{"Fri, 01 Mar 9999 15:01:00 GMT", "", "", year},
	}
	for _, tt := range tests {
		h := http.Header{}
		for name, value := range map[string]string{"Retry-After": tt.after, "Retry-After-Ms": tt.ms, "Date": tt.date} {
			if value != "" {
				h.Set(name, value)
			}
		}
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("retryAfter(%v) = %v, want %v", h, got, tt.want)
		}
	}
}

func TestRetryIn(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 11.5s. Visit": 11500 * time.Millisecond,
		"try again in 20ms.":                      20 * time.Millisecond,
		"Please try again in 6m0s":                6 * time.Minute,
		"Try again in 1h2m3s":                     time.Hour + 2*time.Minute + 3*time.Second,
		"try again in 35 seconds":                 35 * time.Second,
		"retry after 2 minutes":                   2 * time.Minute,
		"try again in 99999999999999999999 hours": 365 * 24 * time.Hour,
		"try again later":                         0,
		"try again in a while":                    0,
	} {
		if got := retryIn(message); got != want {
			t.Errorf("retryIn(%q) = %v, want %v", message, got, want)
		}
	}
}

func TestHTMLLine(t *testing.T) {
	for page, want := range map[string]string{
		"<html><head><TITLE>\n 502 Bad\n Gateway</TITLE></head><body>x</body>": "502 Bad Gateway",
		"<!doctype html><h1>Log in</h1>\n<p>to the <b>network</b></p>":         "Log in to the network",
		"<html></html>":                  "no text",
		"<title></title>a":               "a",
		"<p>" + strings.Repeat("é", 400): strings.Repeat("é", 148) + "…",
	} {
		if got := htmlLine([]byte(page)); got != want {
			t.Errorf("htmlLine(%q) = %q, want %q", page, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	e := New(Options{BaseURL: "https://u:hunter2@h/", Headers: map[string]string{"Authorization": "Bearer tok-1234567",
		"X-Org": "acme"},
		QueryParams: map[string]string{"key": "q?secret", "api-version": "2026-01-01"}})
	x := &exchange{Endpoint: e, key: "sk-abc"}
	for in, want := range map[string]string{
		"bad key sk-abc.":                 "bad key [key].",
		"sk-a\x00bc \x1b[31mred":          "[key] [31mred",
		"got Bearer tok-1234567 of acme":  "got [key] of acme",
		"tok-1234567":                     "[key]",
		"GET /?key=q%3Fsecret 2026-01-01": "GET /?key=[key] 2026-01-01",
		"q?secret and hunter2":            "[key] and [key]",
		"a\xffb\n":                        "a\ufffdb",
	} {
		if got := x.clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	long := x.clean(strings.Repeat("x", 3990) + "sk-abc" + strings.Repeat("é", 3000))
	if len(long) > maxMessage || !utf8.ValidString(long) || strings.Contains(long, "sk-") {
		t.Errorf("long message: %d bytes, ends %q", len(long), long[len(long)-20:])
	}
}

// A string is encoded as encoding/json would, but for what need not be escaped.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\c\n\r\t\x00\x7f<>&é\u2028\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		encoded := AppendString(nil, s)
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("%q reads as %q, want %q", encoded, got, want)
		}
	})
}

func TestAppendFields(t *testing.T) {
	b := AppendField([]byte("{"), "a", "1")
	b = AppendField(b, "none", "")
	b = append(AppendName(b, "l"), '[')
	b = AppendString(AppendComma(b), "x")
	b = AppendString(AppendComma(b), "y")
	b, err := AppendRaw(AppendName(append(b, ']'), "r"), json.RawMessage(" { \"q\" : [ 1 ] } "))
	if got, want := string(b), `{"a":"1","l":["x","y"],"r":{"q":[1]}`; got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
