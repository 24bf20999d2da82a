package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/config/document"
)

// Check is a command that says whether the files are in order.
type Check struct {
	Name    string        `key:"name"`
	Command string        `key:"command"`
	Paths   []string      `key:"paths"`
	When    []string      `key:"when" form:"list"`
	Timeout time.Duration `key:"timeout" unit:"s" min:"1"`
	Gate    string        `key:"gate" enum:"tell block"`
	Writes  bool          `key:"writes"`
}

// checkTimes are the moments at which checks run.
var checkTimes = [...]string{"edit", "turn", "keep", "commit"}

// checkTimeout is how long a check may take when it does not say.
const checkTimeout = 5 * time.Minute

// finishChecks fills in what the checks do not say, and finds what is wrong with them.
func (c *Config) finishChecks(Options) error {
	names := map[string]bool{}
	for i := range c.Checks {
		k := &c.Checks[i]
		bad := func(format string, args ...any) error {
			at := fmt.Sprintf("[[checks]] number %d", i+1)
			if k.Name != "" {
				at += ", " + document.Quote(k.Name)
			}
			return c.fault(at+": "+fmt.Sprintf(format, args...), "checks")
		}
		if strings.TrimSpace(k.Command) == "" {
			return bad("command: expected a command, found none")
		}
		if k.Name == "" {
			k.Name = document.Clip(k.Command)
		}
		if names[k.Name] {
			return bad("there are two of this name")
		}
		names[k.Name] = true
		if len(k.When) == 0 {
			k.When = []string{"turn"}
		}
		for _, w := range k.When {
			if !slices.Contains(checkTimes[:], w) {
				return bad("when: expected %s, found %q", strings.Join(checkTimes[:], ", "), w)
			}
		}
		for _, glob := range k.Paths {
			if why := globFault(glob); why != "" {
				return bad("paths: %q %s", glob, why)
			}
		}
		if k.Gate == "" {
			k.Gate = "tell"
		}
		if k.Timeout == 0 {
			k.Timeout = checkTimeout
		}
	}
	return nil
}

// globFault says what is wrong with a glob, or nothing.
func globFault(glob string) string {
	switch {
	case strings.TrimSpace(glob) == "" || !doublestar.ValidatePattern(glob):
		return "is no glob: check brackets and braces"
	case strings.HasPrefix(glob, "/") || slices.Contains(strings.Split(glob, "/"), ".."):
		return "must be relative to the working directory"
	}
	return ""
}
