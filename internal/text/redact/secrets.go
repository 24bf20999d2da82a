package redact

import (
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Secrets is a growing set of secrets in use. The zero value is empty. It may be
// used by several goroutines.
type Secrets struct {
	mu   sync.Mutex
	all  []string  // guarded by mu
	made *Redactor // of all, nil when the set has grown since; guarded by mu
}

// Add adds a secret; an empty one is no secret.
func (s *Secrets) Add(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if secret != "" && !slices.Contains(s.all, secret) {
		s.all, s.made = append(s.all, secret), nil
	}
}

// AddNamed adds the value of a header or parameter if its name says that it is
// secret.
func (s *Secrets) AddNamed(name, value string) {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "auth", "token", "secret", "cookie"} {
		if strings.Contains(name, word) {
			_, token, _ := strings.Cut(value, " ") // Bearer TOKEN
			s.Add(value)
			s.Add(strings.TrimSpace(token))
			return
		}
	}
}

// AddHeader is AddNamed for a header. It also adds each value of a cookie.
func (s *Secrets) AddHeader(name, value string) {
	s.AddNamed(name, value)
	if strings.EqualFold(name, "Cookie") {
		for part := range strings.SplitSeq(value, ";") {
			_, v, _ := strings.Cut(part, "=")
			s.Add(strings.TrimSpace(v))
		}
	}
}

// AddURL adds the password of a URL, or the user where there is none, and the
// values of its query whose names say that they are secret.
func (s *Secrets) AddURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.Add(password)
	} else if name := u.User.Username(); len(name) > 12 {
		s.Add(name)
	}
	for name, values := range u.Query() {
		if SecretName(name) {
			s.Add(strings.Join(values, ","))
		}
	}
}

// Redactor returns a redactor for env, which is always the same, and for the
// secrets so far.
func (s *Secrets) Redactor(env []string) *Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = New(env, s.all...)
	}
	return s.made
}
