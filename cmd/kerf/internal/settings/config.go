package settings

import (
	"fmt"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
)

func configCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the settings", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	var origin bool
	show := &cobra.Command{Use: "show", Short: "Print the settings that apply here", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			for _, w := range h.Warnings {
				fmt.Fprintf(p.Stderr, "warning: %s\n", w)
			}
			return h.Config.Show(p.Stdout, origin)
		}}
	show.Flags().BoolVar(&origin, "origin", false, "say where each value comes from")
	cmd.AddCommand(show)
	return cmd
}
