package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// BytesPerToken is the rule of thumb for text where no provider has counted.
const BytesPerToken = 4

// Tokens estimates the tokens of s.
func Tokens(s string) int { return TokensOf(len(s)) }

// TokensOf is Tokens for a number of bytes.
func TokensOf(bytes int) int { return (bytes + BytesPerToken - 1) / BytesPerToken }

// Truncate cuts the middle out of s so that about limit tokens stay, half at
// each end, and says in place how many tokens and lines are gone. It never
// splits a character. A limit of 0 or less keeps everything.
func Truncate(s string, limit int) string {
	keep := limit * BytesPerToken
	if limit <= 0 || len(s) <= keep {
		return s
	}
	head, tail := cutAfter(s, keep/2), cutBefore(s, len(s)-keep/2)
	gone := s[head:tail]
	lines := 0
	for i := range len(gone) {
		if gone[i] == '\n' {
			lines++
		}
	}
	return fmt.Sprintf("%s\n[… %d tokens (%d lines, %d bytes) "+middleGone+"\n%s",
		s[:head], Tokens(gone), lines, len(gone), s[tail:])
}

// middleGone is how Truncate marks what it cut.
const middleGone = "left out of the middle …]"

// Shown returns what a result showed of files: when its middle was cut out, no
// lines count as shown.
func Shown(result string, saw []Observation) []Observation {
	if !strings.Contains(result, middleGone) {
		return saw
	}
	cut := slices.Clone(saw)
	for i := range cut {
		cut[i].First, cut[i].Last, cut[i].Lines = 0, 0, 0
	}
	return cut
}

// cutAfter returns the last character border at or before n.
func cutAfter(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// cutBefore returns the first character border at or after n.
func cutBefore(s string, n int) int {
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}
