package program

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Heard refuses flags of kerf attach that would have no effect: the session lives in another process.
func Heard(f *pflag.FlagSet, overrides []string, asJSON, fresh bool) (err error) {
	beyond := func(override string) bool { return asJSON || !strings.HasPrefix(override, "tui.") }
	f.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "config":
			if slices.ContainsFunc(overrides, beyond) {
				err = Misuse("-c has no effect on a session of kerf serve; -m, -s and -a have, or start kerf serve with -c")
			}
		case "profile":
			err = Misuse("-p has no effect on a session of kerf serve; -m, -s and -a have, or start kerf serve with -p")
		case "oss", "record", "unrecorded", "try", "worktree", "carry", "from":
			err = Misuse("--%s has no effect on a session of kerf serve", f.Name)
		case "add-dir":
			if !fresh {
				err = Misuse("--add-dir goes with --new: a session that is live keeps its directories")
			}
		}
	})
	return err
}
