package langservers

import (
	"strings"

	"kerf/internal/config"
	"kerf/internal/doctor"
)

// Listed are the servers as `kerf doctor` tells of them.
func Listed(c *config.Config, trusted bool) doctor.Files {
	f := doctor.Files{Name: "language servers", None: "none on PATH; see kerf help language-servers"}
	list, missing := Found(c, []string{real(c.Cwd)})
	for _, s := range list {
		line := s.Name + " (" + s.Program + ") for " + strings.Join(s.Globs[:min(len(s.Globs), 3)], " ")
		switch {
		case !c.Tools.LanguageServers:
			f.Unused = append(f.Unused, line+": tools.language_servers is off")
		case !trusted:
			f.Unused = append(f.Unused, line+": the project is not trusted")
		default:
			f.Used = append(f.Used, line)
		}
	}
	for _, name := range missing {
		f.Unused = append(f.Unused, name+": its program is not on PATH outside of the project")
	}
	return f
}
