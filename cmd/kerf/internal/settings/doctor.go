package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

const doctorAbout = `Checks what Kerf needs on this machine by trying it. It runs a command in each sandbox
backend, starts git and ripgrep, and writes to Kerf's home. It sends no request to a model.

The exit code is 1 when something fails, and 0 otherwise.`

func doctorCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "doctor", Short: "Check what Kerf needs on this machine", Long: doctorAbout,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := checks(p, cmd)
			if err != nil {
				return err
			}
			if asJSON {
				err = printChecksJSON(p, checks)
			} else {
				printChecks(p, checks)
			}
			if err != nil {
				return err
			}
			for _, c := range checks {
				if c.State == "fail" {
					return program.Exit(1)
				}
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// checks looks at everything. A configuration that cannot be read is a finding,
// and the rest is looked at without it.
func checks(p *program.Program, cmd *cobra.Command) ([]protocol.Check, error) {
	h, err := p.Host(nil)
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		found := protocol.Check{Name: "configuration", State: "fail", Detail: visible.Plain(bad.Error()),
			Hint: "fix that line; kerf config show --origin names the file and line of each value"}
		if h, err = p.Unconfigured(); err != nil {
			return []protocol.Check{found}, nil
		}
		rest, err := h.Query().Check(cmd.Context())
		all := []protocol.Check{found}
		for _, c := range rest {
			if c.Name != "configuration" && c.Name != "model" { // they hang on it
				all = append(all, c)
			}
		}
		return all, err
	case err != nil:
		return nil, err
	}
	return h.Query().Check(cmd.Context())
}

func printChecksJSON(p *program.Program, checks []protocol.Check) error {
	type line struct {
		Name   string `json:"name"`
		State  string `json:"state"`
		Detail string `json:"detail"`
		Hint   string `json:"hint,omitempty"`
	}
	lines := make([]line, len(checks))
	for i, c := range checks {
		lines[i] = line(c)
	}
	return print.JSON(p.Stdout, lines)
}

func printChecks(p *program.Program, checks []protocol.Check) {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	for _, c := range checks {
		fmt.Fprintf(p.Stdout, "%-4s  %-*s  %s\n", c.State, width, c.Name, c.Detail)
		if c.Hint != "" && c.State != "ok" {
			fmt.Fprintf(p.Stdout, "%s%s\n", strings.Repeat(" ", width+8), c.Hint)
		}
	}
}
