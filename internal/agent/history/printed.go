package history

import "strings"

// A result of a command is, for the model,
//
//	exit code 0             how far it came: see beginnings
//	wall time 0.01 seconds
//	output:                 PrintedHead
//	…                       what it printed
//	The whole output …      WholeHint, when that is not all
const (
	PrintedHead = "output:\n"
	// WholeHint begins the line that names the whole output.
	WholeHint = "\nThe whole output so far ("
)

// beginnings are how the result of a command that ran begins.
var beginnings = []string{"exit code ", "still running with session ID ", "aborted by the user"}

// headLines bounds the lines above what was printed.
const headLines = 3

// Printed is what a command printed, of the result that the model read of it. A result of another
// form, such as that of a command that did not run, is returned as it is.
func Printed(result string) string {
	begins := false
	for _, b := range beginnings {
		begins = begins || strings.HasPrefix(result, b)
	}
	rest := result
	for range headLines {
		_, below, ok := strings.Cut(rest, "\n")
		if !begins || !ok {
			return result
		}
		if rest = below; strings.HasPrefix(rest, PrintedHead) {
			text := rest[len(PrintedHead):]
			if i := strings.LastIndex(text, WholeHint); i >= 0 {
				text = text[:i]
			}
			return text
		}
	}
	return result
}
