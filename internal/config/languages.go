package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/config/document"
)

// LanguageServer is a program that knows a programming language, or changes of a known one.
type LanguageServer struct {
	Name        string            `key:"name"`
	Command     string            `key:"command"`
	Args        []string          `key:"args"`
	Globs       []string          `key:"globs"`
	Markers     []string          `key:"markers"`
	Language    string            `key:"language"`
	Env         map[string]string `key:"env" secret:"named"`
	Options     map[string]any    `key:"options"`
	Settings    map[string]any    `key:"settings"`
	Diagnostics string            `key:"diagnostics" enum:"pull push"`
	Off         bool              `key:"off"`
	Memory      int               `key:"memory_mib" min:"0"`
	Timeout     time.Duration     `key:"timeout" unit:"s" min:"1" max:"120"`
}

// finishLanguages finds what is wrong with the language servers.
func (c *Config) finishLanguages(Options) error {
	names := map[string]bool{}
	for i, s := range c.LanguageServers {
		bad := func(format string, args ...any) error {
			return c.fault(fmt.Sprintf("[[language_servers]] number %d, %s: ", i+1, document.Quote(s.Name))+
				fmt.Sprintf(format, args...), "language_servers")
		}
		switch {
		case strings.TrimSpace(s.Name) == "":
			return bad("name: expected a name, found none")
		case names[s.Name]:
			return bad("there are two of this name")
		case strings.ContainsAny(s.Command, `/\`) && !strings.HasPrefix(s.Command, "/") && !strings.Contains(s.Command, `:\`):
			return bad("command: expected the name of a program or an absolute path, found %q", s.Command)
		}
		names[s.Name] = true
		for _, glob := range s.Globs {
			if glob == "" || !doublestar.ValidatePattern(glob) {
				return bad("globs: %q is no glob: check brackets and braces", glob)
			}
		}
		for _, m := range s.Markers {
			if m == "" || strings.HasPrefix(m, "/") || strings.Contains(m, "..") {
				return bad("markers: expected names of files in the directory of a project, found %q", m)
			}
		}
	}
	return nil
}
