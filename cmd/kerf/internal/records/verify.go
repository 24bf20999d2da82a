package records

import (
	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

const verifyLong = `Checks a session, the newest of this directory without an id: that its records are those that
were written, in number, order and content; that the ledger has each change as the session has
it; that the contents before and after are whole; and that each diff is the one between them.

--workspace also compares the files that the session changed with what the ledger last knew.
Exit code 1 when something is not as it was; the first place is named.`

func verifyCommand(p *program.Program) *cobra.Command {
	var o host.VerifyOptions
	cmd := &cobra.Command{Use: "verify [ID]", Short: "Check a session's records, changes, contents and diffs", Long: verifyLong, Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				o.Session = args[0]
			}
			return h.Verify(p.Stdout, o)
		}}
	cmd.Flags().BoolVar(&o.All, "all", false, "check every session")
	cmd.Flags().BoolVar(&o.Workspace, "workspace", false, "compare the files on disk, too")
	return cmd
}
