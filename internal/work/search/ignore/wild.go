package ignore

import "strings"

// Wild reports whether glob matches the whole of text, as git matches: "?" is
// any byte, "*" any bytes, "[...]" a set, and a backslash takes the next byte
// as it is. With paths set, only "**" as a whole element crosses slashes.
func Wild(glob, text string, paths bool) bool {
	m := matcher{glob: glob, text: text, paths: paths}
	return m.at(0, 0) == yes
}

type matcher struct {
	glob, text string
	paths      bool
}

// outcome is how a try ended. The two kinds of giving up keep hostile globs
// from exponential time: where a later star found no place, an earlier one that
// reaches no farther need not try another.
type outcome int

const (
	no outcome = iota
	yes
	noInPath // a star that stops at slashes found no place
	noAtAll  // a star that crosses slashes found none, or the text ran out
)

func (m *matcher) at(g, t int) outcome {
	for g < len(m.glob) {
		if m.glob[g] == '*' {
			return m.star(g, t)
		}
		if t == len(m.text) {
			return noAtAll
		}
		switch c := m.glob[g]; c {
		case '?':
			if m.paths && m.text[t] == '/' {
				return no
			}
			g++
		case '[':
			in, next := class(m.glob, g, m.text[t])
			if !in || m.paths && m.text[t] == '/' {
				return no
			}
			g = next
		case '\\':
			if g++; g == len(m.glob) {
				return noAtAll
			}
			fallthrough
		default:
			if m.glob[g] != m.text[t] {
				return no
			}
			g++
		}
		t++
	}
	if t == len(m.text) {
		return yes
	}
	return no
}

// star matches from the star at g.
func (m *matcher) star(g, t int) outcome {
	end := g
	for end < len(m.glob) && m.glob[end] == '*' {
		end++
	}
	rest := m.glob[end:]
	cross, miss := !m.paths, noAtAll
	if m.paths {
		miss = noInPath
	}
	if m.paths && end-g > 1 && (g == 0 || m.glob[g-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		// "**/" may stand for nothing at all.
		if rest != "" && rest[0] == '/' {
			if o := m.at(end+1, t); o == yes || o == noAtAll {
				return o
			}
		}
		cross, miss = true, noAtAll
	}
	if rest == "" {
		if cross || !strings.Contains(m.text[t:], "/") {
			return yes
		}
		return noInPath
	}
	for ; ; t++ {
		switch o := m.at(end, t); {
		case o == yes || o == noAtAll:
			return o
		case o == noInPath && !cross:
			return o
		}
		if t == len(m.text) {
			return noAtAll
		}
		if !cross && m.text[t] == '/' {
			return miss
		}
	}
}

// class matches c with the set at glob[g] and returns where the glob goes on. A
// set without an end matches nothing.
func class(glob string, g int, c byte) (in bool, next int) {
	g++
	negated := g < len(glob) && (glob[g] == '!' || glob[g] == '^')
	if negated {
		g++
	}
	var prev byte // where a range may begin, 0 if none can
	for first := true; g < len(glob) && (first || glob[g] != ']'); first = false {
		switch {
		case glob[g] == '\\':
			if g++; g == len(glob) {
				return false, g
			}
			in = in || glob[g] == c
			prev = glob[g]
			g++
		case glob[g] == '-' && prev != 0 && g+1 < len(glob) && glob[g+1] != ']':
			if g++; glob[g] == '\\' {
				if g++; g == len(glob) {
					return false, g
				}
			}
			in = in || prev <= c && c <= glob[g]
			prev = 0
			g++
		case strings.HasPrefix(glob[g:], "[:"):
			end := strings.IndexByte(glob[g+2:], ']')
			if end < 0 {
				return false, len(glob)
			}
			if end == 0 || glob[g+2+end-1] != ':' {
				in = in || c == '['
				prev = '['
				g++
				continue
			}
			yes, ok := named(glob[g+2:g+2+end-1], c)
			if !ok {
				return false, len(glob)
			}
			in = in || yes
			prev = 0
			g += 2 + end + 1
		default:
			in = in || glob[g] == c
			prev = glob[g]
			g++
		}
	}
	if g == len(glob) {
		return false, g
	}
	return in != negated, g + 1
}

// named tells whether c belongs to the named class, and whether there is one.
func named(name string, c byte) (in, ok bool) {
	lower, upper := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z'
	digit := '0' <= c && c <= '9'
	graph := '!' <= c && c <= '~'
	switch name {
	case "alpha":
		return lower || upper, true
	case "digit":
		return digit, true
	case "alnum":
		return lower || upper || digit, true
	case "lower":
		return lower, true
	case "upper":
		return upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "graph":
		return graph, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
