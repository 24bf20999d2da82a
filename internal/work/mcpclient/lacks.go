package mcpclient

import (
	"os"

	"kerf/internal/work/proc"
)

// Lacks says that the program of the server is not there; empty when it is, or when there is none
// to start. It starts nothing.
func (s Server) Lacks() string {
	if s.Command == "" {
		return ""
	}
	file, err := proc.Lookup(s.Command, s.Dir, s.Env)
	if err == nil {
		_, err = os.Stat(file) // a name with a slash is not looked for
	}
	if err != nil {
		return "the program " + s.Command + " is not found"
	}
	return ""
}
