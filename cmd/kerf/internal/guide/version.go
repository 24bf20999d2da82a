package guide

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/visible"
)

// build is what is known of this program. Commit and Date are empty where it was built
// without git.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"` // of the commit, RFC 3339
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	System   string `json:"system"` // GOOS/GOARCH
	OS       string `json:"os"`     // what it runs on, in words
}

func current() build {
	b := build{Version: host.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, OS: system()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info.Settings)
	}
	return b
}

func (b *build) read(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// line is the first line of what is known.
func (b build) line() string {
	line := "kerf " + b.Version
	if b.Commit == "" {
		return line
	}
	day, _, _ := strings.Cut(b.Date, "T")
	return fmt.Sprintf("%s (%s %s)", line, b.Commit[:min(9, len(b.Commit))], day)
}

func (b build) text() string {
	commit := b.Commit
	switch {
	case commit == "":
		commit = "unknown (built without git)"
	case b.Modified:
		commit += ", with changes"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s\nrelease: %s\ncommit: %s\n", b.line(), b.Version, commit)
	if b.Date != "" {
		fmt.Fprintf(&s, "commit-date: %s\n", b.Date)
	}
	fmt.Fprintf(&s, "go: %s\nsystem: %s\nos: %s\n", b.Go, b.System, b.OS)
	return s.String()
}

// AddVersionFlag gives root the flag that shows the first line. Cobra's own would be written
// by a template, and text/template keeps every exported method of the whole program.
func AddVersionFlag(p *program.Program, root *cobra.Command) {
	asked := root.Flags().BoolP("version", "v", false, "version for kerf")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			fmt.Fprintln(p.Stdout, visible.Plain(current().line()))
			return nil
		}
		return run(cmd, args)
	}
}

func versionCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "version", Short: "Show the version, what it was built from, and the system",
		Args: program.AtMost(0),
		Long: "Shows the version with the commit it was built from and its date, the version of Go, and the system.\n" +
			"Put it into a report of a fault. kerf --version prints the first line alone.",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return print.JSON(p.Stdout, current())
			}
			_, err := fmt.Fprint(p.Stdout, current().text())
			return err
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
