package sdk

import "fmt"

// TurnError says that a turn ended without being done.
type TurnError struct{ Message string }

func (e *TurnError) Error() string { return "the turn failed: " + e.Message }

// ExitError says that the program ended without telling of a turn. Code is its
// exit code: 1 for a failure, 2 for usage or configuration; -1 when a signal ended
// it. Stderr is the end of what it said.
type ExitError struct {
	Code   int
	Stderr string
}

func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("kerf ended with exit code %d", e.Code)
	}
	return fmt.Sprintf("kerf ended with exit code %d: %s", e.Code, e.Stderr)
}
