package problems

import (
	"strings"

	"kerf/internal/text/pattern"
)

// News are the problems of after that are not among those of before. A problem is known by
// its file and its words, not by its line: lines move. Where a file has the same words more
// often than before, those at lines that had them before are the known ones. A test that
// failed before is known whatever it says now.
func News(before, after []Problem) []Problem {
	had := map[string]int{}
	at := map[Problem]bool{}
	for _, x := range before {
		had[x.key()]++
		at[x] = true
	}
	fresh := make([]bool, len(after))
	for i, x := range after { // the very same ones first
		if fresh[i] = !at[x] || had[x.key()] == 0; !fresh[i] {
			had[x.key()]--
		}
	}
	tests := map[string]bool{}
	for _, x := range before {
		tests[x.Test] = tests[x.Test] || x.Test != ""
	}
	var list []Problem
	for i, x := range after {
		switch {
		case !fresh[i] || tests[x.Test]:
		case had[x.key()] > 0:
			had[x.key()]--
		default:
			list = append(list, x)
		}
	}
	return list
}

// varying is what differs between two messages about the same: lines, durations, addresses.
var varying = pattern.Lazy(`0x[0-9a-fA-F]+|:\d+|\b\d+(\.\d+)?m?s\b`)

func (p Problem) key() string {
	return p.File + "\x00" + varying().ReplaceAllString(strings.Join(strings.Fields(p.Message), " "), "#")
}
