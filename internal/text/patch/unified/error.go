package unified

import (
	"fmt"
	"strings"
)

// Error says why a patch cannot be read or applied. Message is written for who
// made the patch: what is true now, and the one step that would succeed.
type Error struct {
	Path    string // the file, or empty
	Hunk    int    // 1-based within the file, 0 if none
	Line    int    // 1-based line of the patch, 0 if none
	Message string
	// Conflict says that a three-way merge was tried and both sides changed one
	// place.
	Conflict bool
	// Cause is what the read function said, when it refused.
	Cause error
}

// Error puts the place before the message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	switch {
	case e.Hunk > 0 && e.Line > 0:
		fmt.Fprintf(&b, "hunk %d (line %d of the patch): ", e.Hunk, e.Line)
	case e.Hunk > 0:
		fmt.Fprintf(&b, "hunk %d: ", e.Hunk)
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d of the patch: ", e.Line)
	}
	b.WriteString(e.Message)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an error about a line of the patch; 0 is no line.
func Errorf(line int, format string, args ...any) *Error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}
