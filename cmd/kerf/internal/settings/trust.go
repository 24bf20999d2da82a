package settings

import (
	"fmt"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config/trust"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
)

const trustAbout = `Shows or changes whether you trust the project here.

If you trust a project, Kerf uses its .kerf directory (configuration, rules, hooks, skills) and may
change the project's files without asking each time. It also starts the MCP servers and hooks that
files of other agents there name, such as .mcp.json; kerf trust lists them. You trust the content that .kerf and these files have
now. When it changes, Kerf ignores them until you trust the project again.

  kerf trust          show whether the project is trusted
  kerf trust --yes    trust the project as it is now
  kerf trust --no     do not trust it`

func trustCommand(p *program.Program) *cobra.Command {
	var yes, no bool
	cmd := &cobra.Command{Use: "trust", Short: "Show or change whether the project here is trusted", Long: trustAbout,
		Args: program.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			if yes && no {
				return program.Misuse("give --yes or --no, not both")
			}
			return runTrust(p, yes, no)
		}}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust the project with the content it has now")
	cmd.Flags().BoolVar(&no, "no", false, "do not trust it")
	return cmd
}

func runTrust(p *program.Program, yes, no bool) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	c := h.Config
	switch {
	case yes:
		hash, err := trust.Hash(c.Root, c.Cwd, c.Home)
		if err != nil {
			return fmt.Errorf("this project cannot be trusted as it is: %w", err)
		}
		if err := p.Trustable(c); err != nil {
			return err
		}
		if err := trust.Accept(c.Home, c.Root, hash); err != nil {
			return err
		}
	case no:
		if err := trust.Refuse(c.Home, c.Root); err != nil {
			return err
		}
	}
	if yes || no {
		if h, err = p.Host(nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Stdout, "%s is %s\n", visible.Plain(c.Root), h.Config.Trust(c.Root))
	for _, s := range h.Config.Peers.Servers {
		if s.Plugin != "" {
			continue
		}
		fmt.Fprintf(p.Stdout, "  MCP server %s\n", peerJSON(h.Config, s).line())
	}
	for _, hook := range h.Config.ProjectHooks() {
		on := hook.Event
		if hook.Matcher != "" && hook.Matcher != "*" {
			on += " of " + hook.Matcher
		}
		line := fmt.Sprintf("  hook at %s, of %s: %s", on, pathname.Short(c.Root, hook.From), hook.Shown())
		fmt.Fprintln(p.Stdout, visible.Plain(line))
	}
	return nil
}
