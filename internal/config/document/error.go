package document

import (
	"fmt"

	"kerf/internal/text/spelling"
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
	if near := spelling.Nearest(word, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
