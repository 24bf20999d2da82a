package document

import (
	"fmt"
	"strings"
)

// Error is a fault in the configuration. Message says what was found and what
// was expected; it names the key.
type Error struct {
	// File is the path of the file, or what stands for one: "-c", "command line".
	File string
	Line int // 1-based, 0 when it does not apply
	// Key is the dotted key, empty when the file could not be parsed.
	Key     string
	Message string
}

// Error gives "file:line: message" on one line.
func (e *Error) Error() string { return Origin{e.File, e.Line}.String() + ": " + e.Message }

// ExitCode is the exit code of a program that ends for it: usage or configuration.
func (e *Error) ExitCode() int { return 2 }

// Fault is an error at o. Message names the key, too.
func (o Origin) Fault(key, message string) error {
	return &Error{o.File, o.Line, key, message}
}

// Hint proposes the name nearest to word, as the end of a message.
func Hint(word string, names []string) string {
	best, bound := "", max(1, len(word)/3)+1
	for _, n := range names {
		if d := distance(word, n, bound); d < bound {
			best, bound = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between a and b, or some number >= bound.
func distance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
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
		older, old = old, row
	}
	return old[len(b)]
}
