package program

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"kerf/internal/config"
)

// Error ends the program with a code and, when err is set, a message.
type Error struct {
	Code int
	Err  error
	Hint string
}

// Error is what the user reads.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Misuse is an error of usage or configuration.
func Misuse(format string, args ...any) error {
	return &Error{Code: 2, Err: fmt.Errorf(format, args...)}
}

// Exit ends the program with a code when all is said.
func Exit(code int) error {
	if code == 0 {
		return nil
	}
	return &Error{Code: code}
}

// Exit prints err, if there is something to say, and returns the exit code. It
// is the one place that speaks to the user about errors.
func (p *Program) Exit(err error) int {
	err = excluding(err)
	code, all := p.unwritten(err)
	if err == nil || all {
		return code
	}
	return p.tell(err)
}

// tell prints an error and returns its exit code.
func (p *Program) tell(err error) int {
	var coded *Error
	if errors.As(err, &coded) {
		if coded.Err != nil {
			fmt.Fprintf(p.Stderr, "kerf: %v\n", coded.Err)
		}
		if coded.Hint != "" {
			fmt.Fprintf(p.Stderr, "hint: %s\n", coded.Hint)
		}
		return coded.Code
	}
	fmt.Fprintf(p.Stderr, "kerf: %v\n", err)
	var bad *config.Error
	var code interface{ ExitCode() int }
	switch {
	case errors.As(err, &bad):
		return 2
	case errors.As(err, &code):
		return code.ExitCode()
	}
	return 1
}

// AtMost refuses more than n arguments.
func AtMost(n int) cobra.PositionalArgs { return Between(0, n) }

// AtLeastOne refuses none.
func AtLeastOne(cmd *cobra.Command, args []string) error {
	return bounds{1, math.MaxInt}.check(cmd, args)
}

// Between refuses fewer than low and more than high arguments.
func Between(low, high int) cobra.PositionalArgs { return bounds{low, high}.check }

// bounds are how many arguments a command takes.
type bounds struct{ low, high int }

func (b bounds) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < b.low:
		return &Error{Code: 2, Err: errors.New("an argument is missing"), Hint: "usage: " + cmd.UseLine()}
	case len(args) > b.high && cmd.HasAvailableSubCommands() && b.high == 0:
		return Unknown(cmd, args[0])
	case len(args) > b.high:
		return &Error{Code: 2, Err: fmt.Errorf("unexpected argument %q", args[b.high]), Hint: "usage: " + cmd.UseLine()}
	}
	return nil
}
