package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/text/visible"
)

const (
	maxMessage   = 4000    // bytes of a server's words that are passed on
	maxErrorBody = 1 << 20 // bytes of an error body that are read
)

// unreachable is a request that got no answer.
func (x *exchange) unreachable(ctx context.Context, err error) error {
	if context.Cause(ctx) == errIdle {
		return &model.Error{Kind: model.Network, Message: fmt.Sprintf("no answer from %s for %v", x.host, x.first)}
	}
	reason, proxy := reasonOf(err)
	where := "cannot reach " + x.host
	if proxy {
		where += " through the configured proxy"
	}
	return &model.Error{Kind: model.Network, Message: x.clean(where + ": " + reason),
		Hint: "check base_url and the network"}
}

// reasonOf finds the operating system's word in err, and whether a proxy was
// being connected to. URLs, which may hold keys, are left out.
func reasonOf(err error) (reason string, proxy bool) {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		proxy = op.Op == "proxyconnect"
	}
	var (
		errno syscall.Errno
		dns   *net.DNSError
		slow  net.Error
	)
	switch {
	case errors.As(err, &errno):
		return errno.Error(), proxy
	case errors.As(err, &dns):
		return fmt.Sprintf("%s (%s)", dns.Err, dns.Name), proxy
	case errors.As(err, &slow) && slow.Timeout():
		return "timed out", proxy
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed without an answer", proxy
	}
	return err.Error(), proxy
}

// broken is a stream that ended before its last event.
func (x *exchange) broken(ctx context.Context, err error) error {
	e := &model.Error{Kind: model.Broken, Began: x.began, Err: err}
	switch {
	case x.stuck:
		e.Message = fmt.Sprintf("idle timeout: nothing but keep-alives from %s for %v", x.host, aliveFor*x.opts.IdleTimeout)
	case context.Cause(ctx) == errIdle:
		e.Message = fmt.Sprintf("idle timeout: nothing from %s for %v", x.host, x.silence())
	case errors.Is(err, sse.ErrTooLong):
		e.Message = x.host + ": " + err.Error()
	default:
		e.Message = "stream closed before " + x.call.Last
		if reason, _ := reasonOf(err); err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			e.Message += ": " + x.clean(reason)
		}
	}
	return e
}

// silence is how long the server may be silent by now.
func (x *exchange) silence() time.Duration {
	if x.began {
		return x.opts.IdleTimeout
	}
	return x.first
}

// refused is an answer with a status that tells of no success.
func (x *exchange) refused(resp *http.Response) error {
	if err := x.decompress(resp); err != nil {
		return err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what was read says enough
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return x.redirected(resp)
	}
	f := x.words(resp, body)
	x.at, _ = http.ParseTime(resp.Header.Get("Date")) // a server may tell none
	return x.failure(f, resp.StatusCode, resp.Header)
}

func (x *exchange) redirected(resp *http.Response) error {
	to := "another address"
	if u, err := resp.Location(); err == nil {
		to = u.Scheme + "://" + u.Host
	}
	return &model.Error{Kind: model.BadCall, Status: resp.StatusCode,
		Message: x.clean(fmt.Sprintf("%s redirects to %s; not followed, because that would send the key there", x.host, to)),
		Hint:    "set base_url to the address that answers"}
}

// words are what a body says of the failure.
func (x *exchange) words(resp *http.Response, body []byte) *Failure {
	if f, ok := ParseFailure(body); ok {
		if f.Type == "" { // Amazon tells the kind beside the body
			f.Type, _, _ = strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
		}
		return f
	}
	if isHTML(body) {
		return &Failure{Message: htmlLine(body)}
	}
	return &Failure{Message: string(body)}
}

// failure makes the error that the caller sees of f.
func (x *exchange) failure(f *Failure, status int, h http.Header) *model.Error {
	e := &model.Error{Kind: kind(f, status), Status: status, Message: x.clean(f.Message), Began: x.began}
	if e.Message == "" {
		e.Message = x.clean(noReason(f, status))
	}
	if e.RetryAfter = retryAfter(h, time.Now()); e.RetryAfter == 0 {
		if e.RetryAfter = f.Reset; e.RetryAfter == 0 && e.Kind == model.RateLimit {
			e.RetryAfter = retryIn(f.Message)
		}
	}
	switch e.Kind {
	case model.Auth:
		e.Hint = x.loginHint()
	case model.Quota:
		e.Hint = "check the plan and billing of the account"
		if e.RetryAfter > 0 {
			e.Hint = "the limit resets in " + e.RetryAfter.Round(time.Second).String()
		}
	case model.Context:
		e.Hint = "compact the session or start a new one"
	case model.BadCall:
		if status == http.StatusNotFound {
			e.Hint = "check the model's name and base_url"
		}
	}
	return e
}

// noReason stands in for the words of a server that gave none.
func noReason(f *Failure, status int) string {
	for _, word := range []string{f.Code, f.Type, strings.ToLower(http.StatusText(status))} {
		if word != "" {
			return word
		}
	}
	return "the server gave no reason"
}

func (x *exchange) loginHint() string {
	if x.opts.EnvKey != "" {
		return "set " + x.opts.EnvKey + " to a valid key, or run `kerf login`"
	}
	return "run `kerf login`, or set env_key for the provider"
}

func isHTML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

// htmlLine makes one line of a page: its title, or else its text.
func htmlLine(body []byte) string {
	page := string(body)
	if _, rest, ok := cutFold(page, "<title"); ok {
		if _, rest, ok = strings.Cut(rest, ">"); ok {
			if title, _, ok := cutFold(rest, "</title"); ok && strings.TrimSpace(title) != "" {
				page = title
			}
		}
	}
	var out strings.Builder
	inTag := false
	for _, r := range page {
		switch {
		case r == '<':
			inTag = true
		case r == '>' && inTag:
			inTag = false
			out.WriteByte(' ')
		case !inTag:
			out.WriteRune(r)
		}
	}
	line := strings.Join(strings.Fields(out.String()), " ")
	if line == "" {
		line = "no text"
	}
	return visible.Clip(line, 300-len("…"))
}

// cutFold is strings.Cut for an ASCII separator in lower case, in any case.
func cutFold(s, sep string) (before, after string, found bool) {
	for i := 0; i+len(sep) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(sep)], sep) {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}

// clean makes a message fit to be shown: without secrets and control
// characters, valid UTF-8, bounded.
func (x *exchange) clean(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(message, "\ufffd"))
	// Secrets go before the cut, so that it leaves no half of one, and after the
	// control characters, so that none of these hides one.
	for _, secret := range x.secrets() {
		message = strings.ReplaceAll(message, secret, "[key]")
		message = strings.ReplaceAll(message, url.QueryEscape(secret), "[key]")
	}
	return visible.Clip(strings.TrimSpace(message), maxMessage-len("…"))
}

// minSecret is the shortest text taken for a secret; hiding shorter ones would
// only blot out words.
const minSecret = 4

// secrets are the key, and what the configuration sends under a telling name.
func (x *exchange) secrets() []string {
	var secrets []string
	add := func(s string) {
		if len(s) >= minSecret {
			secrets = append(secrets, s)
		}
	}
	add(x.key)
	for _, named := range []map[string]string{x.opts.Headers, x.opts.QueryParams} {
		for name, value := range named {
			if telling(name) {
				add(value)
				_, token, _ := strings.Cut(value, " ") // Bearer TOKEN
				add(strings.TrimSpace(token))
			}
		}
	}
	if u, err := url.Parse(x.opts.BaseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
	}
	// The longest first, because one may contain another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

func telling(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"key", "auth", "token", "secret", "cookie", "password"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
