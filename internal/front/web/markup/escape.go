package markup

import (
	"fmt"
	"reflect"
	"strings"
)

var markup = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;",
	">", "&gt;")

// unsafe stands for an address that must not be followed.
const unsafe = "#ZgotmplZ"

// escaped is a value as it stands at a place.
func (p place) escaped(v reflect.Value) (string, error) {
	v = inside(v)
	if !v.IsValid() {
		return "", nil
	}
	if p.raw == "style" {
		if v.Type() != reflect.TypeFor[CSS]() {
			return "", fmt.Errorf("a value of type %s in a style", v.Type())
		}
		return v.String(), nil
	}
	s := words(v)
	switch {
	case p.in == inText && p.raw == "" && v.Type() == reflect.TypeFor[HTML]():
		return s, nil
	case p.in == inValue && p.attr == address:
		s = p.part.escaped(s, v.Type() == reflect.TypeFor[URL]())
	}
	return markup.Replace(s), nil
}

func words(v reflect.Value) string {
	if v.Kind() == reflect.String && v.NumMethod() == 0 {
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

// escaped is a text as that part of an address.
func (p part) escaped(s string, safe bool) string {
	if p == inQuery {
		return percented(s, safe)
	}
	if p == atStart && !safe && !harmless(s) {
		return unsafe
	}
	return percented(s, true)
}

// harmless reports whether an address leads to a page or a mail, or stays here.
func harmless(s string) bool {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(scheme, "/") {
		return true
	}
	for _, known := range []string{"http", "https", "mailto"} {
		if strings.EqualFold(scheme, known) {
			return true
		}
	}
	return false
}

const (
	letters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
	reserved = "!#$&*+,/:;=?@[]"
	hex      = "0123456789abcdefABCDEF"
)

// percented writes what no address may hold, and, unless s is a whole one, what has a meaning
// in addresses, as %xx.
func percented(s string, whole bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case strings.IndexByte(letters, c) >= 0, whole && strings.IndexByte(reserved, c) >= 0,
			whole && c == '%' && i+2 < len(s) && strings.IndexByte(hex, s[i+1]) >= 0 && strings.IndexByte(hex, s[i+2]) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
