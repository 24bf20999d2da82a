package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/selftest"
	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

const doctorAbout = `Checks what Kerf needs on this machine by trying it. It runs a command in each sandbox
backend, starts git and ripgrep, and writes to Kerf's home. It sends no request to a model, and
starts no MCP server: it looks for their programs and variables (kerf mcp get NAME --check starts one).

With --full it also tries what Kerf promises, in a directory and a home of its own: edits,
commands and what is known of them, undo, the sandbox, a kill in the middle of a command. It
takes some seconds. Send what it prints when you report that something does not work.

The exit code is 1 when something fails, and 0 otherwise. A key that was not given yet is a
warning: kerf exec says it again, with exit code 2.`

func doctorCommand(p *program.Program) *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{Use: "doctor", Short: "Check what Kerf needs on this machine", Long: doctorAbout,
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := checks(p, cmd)
			if err != nil {
				return err
			}
			if !asJSON {
				printChecks(p, checks)
			}
			if full {
				tried, err := tryAll(cmd.Context(), p, !asJSON)
				if err != nil {
					return err
				}
				checks = append(checks, tried...)
			}
			if asJSON {
				if err := printChecksJSON(p, checks); err != nil {
					return err
				}
			}
			for _, c := range checks {
				if c.State == "fail" {
					return program.Exit(1)
				}
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().BoolVar(&full, "full", false, "also try what Kerf promises, with real files and a scripted model")
	return cmd
}

// tryAll runs the self-test; show prints each result as it comes.
func tryAll(ctx context.Context, p *program.Program, show bool) (all []protocol.Check, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if show {
		fmt.Fprintf(p.Stdout, "\ntried with kerf %s on %s/%s:\n", host.Version, runtime.GOOS, runtime.GOARCH)
	}
	err = selftest.Run(ctx, exe, p.Env, func(c protocol.Check) {
		all = append(all, c)
		if show {
			fmt.Fprintf(p.Stdout, "%-4s  %-20s  %s\n", c.State, c.Name, c.Detail)
		}
	})
	return all, err
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
