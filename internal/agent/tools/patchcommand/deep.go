package patchcommand

import (
	"strings"

	"kerf/internal/text/shell"
)

// tooDeep reports whether parsing line could use up the stack. The text of a
// quoted here-document, which may be long, does not count: it is not parsed.
func tooDeep(line string) bool {
	if !shell.TooDeep(line) {
		return false
	}
	head, body, _ := strings.Cut(line, "\n")
	if shell.TooDeep(head) {
		return true
	}
	for _, quote := range []string{"'", `"`} {
		before, rest, ok := strings.Cut(head, "<<"+quote)
		if !ok || strings.ContainsAny(before, "'\"\\#$`(<") {
			continue // not surely a here-document
		}
		end, after, _ := strings.Cut(rest, quote)
		if strings.TrimSpace(after) != "" {
			continue
		}
		if _, tail, ok := strings.Cut("\n"+body+"\n", "\n"+end+"\n"); ok && end != "" {
			return shell.TooDeep(tail)
		}
	}
	return true
}
