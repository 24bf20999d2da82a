package program

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/internal/text/spelling"
)

// Subcommands are the names of the commands below cmd that help shows.
func Subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// ofGit are words of git's for what Kerf does under another name.
var ofGit = map[string]string{"show": "diff TURN", "revert": "undo", "reset": "undo", "restore": "undo", "checkout": "undo",
	"history": "log", "annotate": "blame", "stash": "exec --try", "status": "diff --stat"}

// Unknown is the error for a word where a command below cmd was expected.
func Unknown(cmd *cobra.Command, word string) error {
	path := cmd.CommandPath()
	if other := ofGit[word]; other != "" && !cmd.HasParent() {
		return Misuse("unknown command %q for %s; did you mean %s %s?", word, path, path, other)
	}
	if near := spelling.Nearest(word, Subcommands(cmd)); near != "" {
		return Misuse("unknown command %q for %s; did you mean %s %s?", word, path, path, near)
	}
	return Misuse("unknown command %q for %s; see %s --help", word, path, path)
}

// Misspelt reports whether a word that may be a request is more likely a command below
// cmd: it is one word, one slip away from a name.
func Misspelt(cmd *cobra.Command, word string) bool {
	near := spelling.Nearest(word, Subcommands(cmd))
	return near != "" && !strings.ContainsAny(word, " \t\n") && spelling.Distance(strings.ToLower(word), near) <= 1
}

// Request refuses words that are no request of one argument: several, or one that is more
// likely a command below cmd. Insist tells how to send them anyway.
func Request(cmd *cobra.Command, args []string, insist string) error {
	if len(args) == 0 || len(args) == 1 && !Misspelt(cmd, args[0]) {
		return nil
	}
	return &Error{Code: 2, Err: Unknown(cmd, args[0]), Hint: fmt.Sprintf("for a request, "+insist,
		strings.Join(args, " "))}
}

// flagHint says what may have been meant instead of a flag that there is not.
func flagHint(cmd *cobra.Command, err error) string {
	hint := "see " + cmd.CommandPath() + " --help"
	word, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return hint
	}
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := spelling.Nearest(word, names); near != "" {
		return "did you mean --" + near + "? " + hint
	}
	return hint
}

// FlagError is the error for flags that cmd does not take.
func FlagError(cmd *cobra.Command, err error) error {
	return &Error{Code: 2, Err: inWords(err), Hint: flagHint(cmd, err)}
}

// excluding is err in plain words, and with exit code 2, if the library says that flags exclude each other.
func excluding(err error) error {
	if err == nil {
		return nil
	}
	_, flags, is := strings.Cut(err.Error(), " are set none of the others can be; [")
	if flags, ends := strings.CutSuffix(flags, "] were all set"); is && ends {
		return Misuse("--%s exclude each other; give one of them", strings.ReplaceAll(flags, " ", ", --"))
	}
	return err
}

// inWords is err with what a value should be, in the place of what Go's parsers say.
func inWords(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := ""
	switch bad.GetFlag().Value.Type() {
	case "int", "int64", "uint", "uint64":
		want = "give a whole number"
	case "duration":
		want = "give a time with its unit, such as 90s or 10m"
	case "float64":
		want = "give a number"
	case "bool":
		want = "give true or false"
	default:
		return err
	}
	return fmt.Errorf("%s: %s", strings.TrimSuffix(err.Error(), ": "+bad.Unwrap().Error()), want)
}

// Count is the value of a flag that is a number of things, 1 or more.
type Count int

// Set reads it.
func (c *Count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("give a whole number, 1 or more")
	}
	*c = Count(n)
	return nil
}

// String writes it, 0 as nothing.
func (c *Count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type names the kind of value.
func (c *Count) Type() string { return "count" }
