package records

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records/rerun"
	"kerf/internal/pathname"
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
	var all, checks bool
	var v verified
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
				if err != nil && v.asJSON {
					return err
				}
				for _, info := range list {
					err = errors.Join(err, v.session(p, store, info))
				}
				return v.end(p, err)
			}
			info, err := store.Here(cmd.Context(), strings.Join(args, ""))
			if errors.Is(err, protocol.ErrNoSession) && len(args) == 0 {
				return v.end(p, v.ledger(p, err))
			}
			if err != nil {
				return err
			}
			return v.end(p, v.session(p, store, info))
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
	cmd.Flags().BoolVar(&v.files, "workspace", false, "compare the files on disk, too")
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print a JSON array with one object per session, or of the ledger")
	cmd.MarkFlagsMutuallyExclusive("checks", "json")
	cmd.MarkFlagsMutuallyExclusive("checks", "all")
	cmd.MarkFlagsMutuallyExclusive("checks", "workspace")
	return cmd
}

// verified is what was looked at, and how it is told.
type verified struct {
	files, asJSON bool
	list          []result
}

// result is what is told of a session, or without one of the ledger of a directory.
type result struct {
	Session  string          `json:"session,omitempty"`
	Verifies bool            `json:"verifies"`
	Records  int             `json:"records"`
	Changes  int             `json:"changes"`
	Entries  int             `json:"entries"` // of the ledger
	Gone     int             `json:"gone"`
	Tried    int             `json:"tried"`
	Faults   []string        `json:"faults"`
	Since    []pathname.Path `json:"changed_since"`
}

// end prints the JSON that was asked for; what does not verify is in it.
func (v *verified) end(p *program.Program, err error) error {
	if !v.asJSON || len(v.list) == 0 && err != nil {
		return err
	}
	if wrong := print.Array(p.Stdout, v.list); wrong != nil || err == nil {
		return wrong
	}
	return program.Exit(1)
}

// ledger checks the ledger of a directory in which no session worked.
func (v *verified) ledger(p *program.Program, none error) error {
	b, _, err := openBook(p, "")
	if err != nil {
		return err
	}
	defer b.ws.Close()
	chain, err := b.ws.Ledger.Verify()
	r := result{Verifies: err == nil, Entries: chain.Entries, Faults: []string{}, Since: []pathname.Path{}}
	if err != nil {
		err = fmt.Errorf("the ledger does not verify: %w", err)
		r.Faults = append(r.Faults, err.Error())
	} else if chain.Entries == 0 {
		return none
	}
	v.list = append(v.list, r)
	if err == nil && !v.asJSON {
		fmt.Fprintf(p.Stdout, "no session worked in this directory; ledger: %s\n", chain.String())
	}
	return err
}

func (v *verified) session(p *program.Program, store *sessions.Store, info protocol.SessionInfo) error {
	r, err := store.Verify(info, v.files)
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	told := result{Session: string(info.ID), Verifies: len(r.Faults) == 0, Records: r.Records, Changes: r.Changes, Entries: r.Ledger.Entries,
		Gone: r.Gone, Tried: r.Tried, Faults: append([]string{}, r.Faults...), Since: []pathname.Path{}}
	for _, path := range r.Since {
		told.Since = append(told.Since, pathname.Path(path))
	}
	v.list = append(v.list, told)
	if err == nil && v.asJSON && !told.Verifies {
		err = program.Exit(1)
	}
	if err != nil || v.asJSON {
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
