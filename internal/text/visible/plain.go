package visible

import "strings"

// Plain makes control and direction characters harmless for one line of output. All
// else stays as it is.
func Plain(s string) string { return strings.Map(harmless, s) }

func harmless(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return ' '
	case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
		return '\uFFFD'
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
		return '\uFFFD'
	}
	return r
}
