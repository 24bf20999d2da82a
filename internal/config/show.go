package config

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/schema"
	"kerf/internal/text/pattern"
)

// Origin says where the value of a dotted key was written: "FILE:LINE",
// "default", "-c", "command line" or "environment NAME"; empty when nothing
// set the key.
func (c *Config) Origin(key string) string {
	path, err := document.SplitKey(key)
	if err != nil {
		return ""
	}
	if slices.Equal(path, []string{"web_search"}) {
		path = []string{"tools", "web_search"}
	}
	v := c.tree.Get(path...)
	if v == nil {
		return ""
	}
	return v.From.String()
}

// Show writes every value that is set as "key = value" in TOML, sorted by key,
// each with its origin as a comment if asked. Secrets are masked and control
// characters escaped.
func (c *Config) Show(w io.Writer, withOrigin bool) error {
	var b strings.Builder
	show(&b, c.tree, nil, withOrigin)
	_, err := io.WriteString(w, b.String())
	return err
}

func show(b *strings.Builder, v *document.Value, path []string, withOrigin bool) {
	if v.Table != nil {
		for _, k := range slices.Sorted(maps.Keys(v.Table)) {
			show(b, v.Table[k], append(path[:len(path):len(path)], k), withOrigin)
		}
		return
	}
	leaf := v.Leaf
	if v.From.String() != "default" { // what comes with Kerf is no secret
		leaf = mask(leaf, path)
	}
	text, err := document.Render(leaf)
	if err != nil {
		text = document.Quote("…")
	}
	fmt.Fprintf(b, "%s = %s", document.Key(path...), text)
	if withOrigin {
		// The quoted form escapes what a hostile path could do to a terminal.
		from := document.Quote(v.From.String())
		fmt.Fprintf(b, "  # %s", strings.ReplaceAll(from[1:len(from)-1], `\\`, `\`))
	}
	b.WriteByte('\n')
}

const masked = "********"

// mask hides what is secret in the value at path.
func mask(leaf any, path []string) any {
	tag, known := schema.Lookup(reflect.TypeFor[Config](), path)
	rule := tag.Get("secret")
	if !known {
		rule = "named" // a key of another agent's file
	}
	last := path[len(path)-1]
	switch s, isText := leaf.(string); {
	case rule == "all", rule == "named" && secretName().MatchString(last):
		return masked
	case isText && rule == "url":
		return maskURL(s)
	case isText && secretShape().MatchString(s):
		return secretShape().ReplaceAllString(s, masked)
	}
	switch x := leaf.(type) {
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = mask(x[i], path)
			if i > 0 && rule == "shape" && secretFlag(x[i-1]) {
				list[i] = masked
			}
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, sub := range x {
			m[k] = mask(sub, append(path[:len(path):len(path)], k))
		}
		return m
	}
	return leaf
}

// secretFlag reports whether the word after x is a secret: --api-key VALUE.
func secretFlag(x any) bool {
	s, ok := x.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.Contains(s, "=") && secretName().MatchString(s)
}

// placeholder is a name in an address that something stands for.
var placeholder = pattern.Lazy(`\$\{[^}]*\}`)

func maskURL(s string) string {
	u, err := url.Parse(placeholder().ReplaceAllString(s, "x")) // ${NAME} may stand for a host
	if err != nil {
		return masked
	}
	if u.User == nil && u.RawQuery == "" {
		return s
	}
	if u, err = url.Parse(s); err != nil {
		return masked
	}
	q := u.Query()
	if u.User == nil && len(q) == 0 {
		return s
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), masked)
	}
	for k := range q {
		if secretName().MatchString(k) {
			q.Set(k, masked)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

var secretName = pattern.Lazy(`(?i)key|secret|token|passw|credential|auth|cookie|dsn`)

// secretShape knows tokens by their look.
var secretShape = pattern.Lazy(`\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}` +
	`|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAKIA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+`)
