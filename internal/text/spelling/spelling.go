// Package spelling finds the name that somebody may have meant.
package spelling

import "strings"

// Nearest returns the name that differs from word by the fewest slips, letter case
// apart, or nothing when more than a third of word would have to change.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	best, bound := "", max(1, len(word)/3)+1
	for _, name := range names {
		if len(word)-len(name) >= bound || len(name)-len(word) >= bound {
			continue
		}
		if d := Distance(word, strings.ToLower(name)); d < bound {
			best, bound = name, d
		}
	}
	return best
}

// Distance returns how many bytes to insert, delete or replace, or neighbours to
// swap, make b of a.
func Distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
