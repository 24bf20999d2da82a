package records

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records/rerun"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/visible"
)

const verifyLong = `Checks that the record of a session is complete and unchanged. Without an id it takes the newest
session of this directory, or where there is none checks the ledger alone, such as one of kerf guard.
It checks the number, order and content of the records. It compares each change with the ledger, with
the stored contents before and after it, and with its diff. It checks every entry of the ledger of that
workspace: any changed, removed, moved or added entry is named.

--workspace also compares the files that the session changed with their last state in the ledger, and
names those that were changed since; that is no fault. --checks, instead, runs the project's checks (see
kerf help checks) on the files as they are, and tells what is on record of them for the same files; --run runs
a command of yours instead, such as the check of a goal. The exit code is 1 when something of the record
differs; the first difference is named.`

func verifyCommand(p *program.Program) *cobra.Command {
	var all, files, checks bool
	var o rerun.Options
	cmd := &cobra.Command{Use: "verify [ID]", Short: "Check a session's records, changes, contents and diffs",
		Long: verifyLong, Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			if err := o.Misused(checks); err != nil {
				return err
			}
			if checks {
				return o.Again(cmd.Context(), p, h)
			}
			store := h.Sessions()
			if all {
				list, err := store.All(cmd.Context(), protocol.Filter{})
				for _, info := range list {
					err = errors.Join(err, verify(p, store, info, files))
				}
				return err
			}
			info, err := store.Here(cmd.Context(), strings.Join(args, ""))
			if errors.Is(err, protocol.ErrNoSession) && len(args) == 0 {
				return verifyLedger(p, err)
			}
			if err != nil {
				return err
			}
			return verify(p, store, info, files)
		}}
	cmd.Flags().BoolVar(&all, "all", false, "check every session")
	cmd.Flags().BoolVar(&checks, "checks", false, "run the project's checks on the files as they are, instead")
	cmd.Flags().StringVar(&o.When, "when", "", "with --checks: only those of this `moment`: edit, turn, keep or commit")
	cmd.Flags().StringVar(&o.Before, "before", "", "`text`")
	cmd.Flags().BoolVar(&o.Blocks, "blocking", false, "")
	cmd.Flags().StringVar(&o.Run, "run", "", "with --checks: this `command` instead of those that are configured")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", time.Hour, "with --run: the `time` it may take, such as 10m")
	cmd.Flags().BoolVar(&o.Attempt, "attempt", false, "")
	for _, name := range []string{"before", "blocking", "attempt"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().BoolVar(&files, "workspace", false, "compare the files on disk, too")
	cmd.MarkFlagsMutuallyExclusive("checks", "all")
	cmd.MarkFlagsMutuallyExclusive("checks", "workspace")
	return cmd
}

// verifyLedger checks the ledger of a directory in which no session worked.
func verifyLedger(p *program.Program, none error) error {
	b, _, err := openBook(p, "")
	if err != nil {
		return err
	}
	defer b.ws.Close()
	chain, err := b.ws.Ledger.Verify()
	if err != nil {
		return fmt.Errorf("the ledger does not verify: %w", err)
	}
	if chain.Entries == 0 {
		return none
	}
	fmt.Fprintf(p.Stdout, "no session worked in this directory; ledger: %s\n", chain.String())
	return nil
}

func verify(p *program.Program, store *sessions.Store, info protocol.SessionInfo, files bool) error {
	r, err := store.Verify(info, files)
	if err != nil {
		return err
	}
	for _, path := range r.Since {
		fmt.Fprintf(p.Stdout, "%s: %s was changed since, by neither Kerf's tools nor its commands\n", info.ID,
			shortPath(p, path))
	}
	for _, f := range r.Faults {
		fmt.Fprintf(p.Stdout, "%s: %s\n", info.ID, visible.Plain(f))
	}
	if len(r.Faults) > 0 {
		return fmt.Errorf("session %s does not verify: %s", info.ID, visible.Plain(r.Faults[0]))
	}
	more := ""
	if r.Gone > 0 {
		more = fmt.Sprintf(" (%d older contents are no longer kept)", r.Gone)
	}
	if r.Tried > 0 {
		more += fmt.Sprintf(" (%d changes were made in a try and are not compared)", r.Tried)
	}
	if r.Ledger.Entries > 0 {
		more += "; ledger: " + r.Ledger.String()
	}
	fmt.Fprintf(p.Stdout, "session %s verifies: %d records in order, hash chain whole, %d changes with their diffs "+
		"and contents%s\n",
		info.ID, r.Records, r.Changes-r.Tried, more)
	return nil
}
