package settings

import (
	"os"

	"kerf/cmd/kerf/internal/program"

	"github.com/spf13/cobra"
)

// rulesCommand lists, checks and removes the rules for commands.
func rulesCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "List, check and remove the rules that decide about commands", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	list := &cobra.Command{Use: "list", Short: "Print all rules that hold here, with where they stand", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return h.ListRules(p.Stdout)
		}}
	check := &cobra.Command{Use: "check [FILE...]", Short: "Read rules and their examples; exit code 2 names the first fault",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			files := map[string][]byte{}
			for _, name := range args {
				if files[name], err = os.ReadFile(name); err != nil {
					return program.Misuse("%v", err)
				}
			}
			if err := h.CheckRules(p.Stdout, files); err != nil {
				return program.Misuse("%v", err)
			}
			return nil
		}}
	remove := &cobra.Command{Use: "remove RULE | FILE:LINE", Short: "Take one of your own rules away", Args: program.Between(1, 1),
		Example: "  kerf rules remove 'go test -> allow in /src/app'\n  kerf rules remove ~/.kerf/rules/default.rules:3",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return h.RemoveRule(p.Stdout, args[0])
		}}
	cmd.AddCommand(list, check, remove)
	return cmd
}
