// Package redact takes secrets out of text: values that are known to be secret,
// and what has the shape of a known kind of key.
package redact

import (
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length from which a value is taken out.
const minSecret = 8

// Redactor takes secrets out of bytes: those it was made for, the values of
// variables whose names say that they are secret, both also where they are escaped
// as JSON once or twice or for a URL; and what has the shape of a known kind of
// key. It may be used concurrently, and makes one pass over its input.
type Redactor struct {
	env     []string
	secrets []string
	build   sync.Once
	// needles are the forms of all values by their first eight bytes, long ones
	// first; filter has a bit for each such beginning.
	needles map[uint64][]string
	filter  [1 << 10]uint64
	// pairs has a bit for each two bytes that a value or a known kind of key begins with,
	// near also for those from its second byte on. Most of a text has neither, and is
	// spared everything else.
	pairs, near pairSet
}

// New makes a redactor for the variables of env, each NAME=value, and for other
// secrets. It does no work until it is used.
func New(env []string, secrets ...string) *Redactor {
	return &Redactor{env: slices.Clone(env), secrets: slices.Clone(secrets)}
}

// ordinary values are settings, not secrets; to hide them would hide words.
func ordinary(value string) bool {
	switch strings.ToLower(value) {
	case "anonymous", "disabled", "optional", "password", "required", "undefined":
		return true
	}
	return false
}

func (r *Redactor) prepare() {
	r.needles = map[uint64][]string{}
	for _, v := range r.env {
		if name, value, _ := strings.Cut(v, "="); hides(name) {
			r.secrets = append(r.secrets, value)
		}
	}
	for _, value := range r.secrets {
		for _, s := range []string{value, strings.TrimSpace(value)} {
			if len(s) >= minSecret && !ordinary(s) {
				for _, form := range forms(s) {
					r.add(form)
				}
			}
		}
	}
	for k, list := range r.needles {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
		r.needles[k] = slices.Compact(list)
	}
	for i := range kinds {
		r.begins(kinds[i].prefix)
	}
	r.env, r.secrets = nil, nil
}

// begins notes that what is looked for, of three bytes at least, may begin like s.
func (r *Redactor) begins(s string) {
	r.pairs.add(s)
	r.near.add(s)
	r.near.add(s[1:])
}

// pairSet has a bit for each two bytes.
type pairSet [1 << 10]uint64

func (p *pairSet) add(s string) {
	n := uint16(s[0]) | uint16(s[1])<<8
	p[n/64] |= 1 << (n % 64)
}

// hasAny reports whether one of the four pairs in eight bytes is in the set.
func (p *pairSet) hasAny(eight uint64) bool {
	a, b, c, d := uint16(eight), uint16(eight>>16), uint16(eight>>32), uint16(eight>>48)
	return (p[a/64]>>(a%64)|p[b/64]>>(b%64)|p[c/64]>>(c%64)|p[d/64]>>(d%64))&1 != 0
}

func (p *pairSet) has(n uint16) bool { return p[n/64]&(1<<(n%64)) != 0 }

// forms returns s as it may stand in a text.
func forms(s string) []string {
	out := []string{s, url.QueryEscape(s), url.PathEscape(s)}
	for _, html := range []bool{false, true} {
		once := quoted(s, html)
		out = append(out, once, quoted(once, html))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// quoted is s within a JSON string.
func quoted(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

func (r *Redactor) add(needle string) {
	first := binary.LittleEndian.Uint64([]byte(needle[:8]))
	if !slices.Contains(r.needles[first], needle) {
		r.needles[first] = append(r.needles[first], needle)
	}
	i := slot(first)
	r.filter[i/64] |= 1 << (i % 64)
	r.begins(needle)
}

// slot spreads the beginnings of needles over the bits of the filter.
func slot(first uint64) uint64 { return first * 0x9E3779B97F4A7C15 >> 48 }

// Has reports whether a text has a secret in it.
func (r *Redactor) Has(text string) bool { return string(r.Bytes([]byte(text))) != text }

// Bytes returns b with "[redacted]" in the place of secrets; b itself when there
// are none. It does not change b.
func (r *Redactor) Bytes(b []byte) []byte {
	r.build.Do(r.prepare)
	var out []byte
	done := 0
	for i := 0; i < len(b); {
		if i = r.next(b, i); i == len(b) {
			break
		}
		from, n := i, 0
		if len(b)-i >= 8 && r.maybe(binary.LittleEndian.Uint64(b[i:])) {
			n = r.needle(b[i:])
		}
		if n == 0 && leads[b[i]] {
			var skip int
			if skip, n = shape(b, i); n > 0 {
				from = i + skip
			}
		}
		if n == 0 {
			i++
			continue
		}
		out = append(out, b[done:from]...)
		out = append(out, redacted...)
		done = from + n
		i = done
	}
	if out == nil {
		return b
	}
	return append(out, b[done:]...)
}

// next is the first place from i on where something that is looked for may begin. Since
// that has three bytes at least, each second pair of the text tells:
//
//	b[j-1] b[j] b[j+1]    begins at j, or at j-1
func (r *Redactor) next(b []byte, i int) int {
	for j := i; j+1 < len(b); j += 2 {
		for j+8 <= len(b) && !r.near.hasAny(binary.LittleEndian.Uint64(b[j:])) {
			j += 8 // most of a text is passed over here
		}
		if j+1 >= len(b) {
			break
		}
		pair := binary.LittleEndian.Uint16(b[j:])
		if !r.near.has(pair) {
			continue
		}
		if j > i && r.pairs.has(binary.LittleEndian.Uint16(b[j-1:])) {
			return j - 1
		}
		if r.pairs.has(pair) {
			return j
		}
	}
	return len(b)
}

// maybe reports whether a needle may begin with first.
func (r *Redactor) maybe(first uint64) bool {
	i := slot(first)
	return r.filter[i/64]&(1<<(i%64)) != 0
}

// needle returns the length of the longest needle that b, of at least eight
// bytes, begins with, or 0.
func (r *Redactor) needle(b []byte) int {
	for _, s := range r.needles[binary.LittleEndian.Uint64(b)] {
		if len(b) >= len(s) && string(b[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}
