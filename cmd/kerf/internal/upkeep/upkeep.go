// Package upkeep has the commands that keep what Kerf keeps in order: old contents, what a crash left, and
// histories of directories that have another name now.
package upkeep

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/retention"
	"kerf/internal/work/tries"
	"kerf/internal/work/workspace"
)

// Commands returns them.
func Commands() program.Commands {
	return program.Commands{"gc": gcCommand, "recover": recoverCommand, "adopt": adoptCommand}
}

func gcCommand(p *program.Program) *cobra.Command {
	var dry, asJSON bool
	cmd := &cobra.Command{Use: "gc", Short: "Remove old file contents that nothing refers to any more",
		Args: program.AtMost(0),
		Long: `Removes old file contents from the stores of all workspaces. It keeps what a session, an unfinished
transaction or a change within the retention refers to. The retention is set under [backups] in
config.toml: max_backups_per_file, min_retention_hours, max_retention_days, max_bytes. The last turn
can always be undone. It removes what is left of tries that were cut off, and no try. Other Kerf processes may run meanwhile. You may stop it at any time.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			o := h.Retention()
			o.DryRun = dry
			working := p.Working("looking for old contents")
			done, err := retention.Collect(cmd.Context(), o)
			left, lerr := tries.Sweep(o.Home, dry)
			working.Stop()
			if err = errors.Join(err, lerr); err != nil {
				err = fmt.Errorf("collect: %w", err)
				if len(done)+len(left) == 0 {
					return err
				}
			}
			for _, l := range left {
				done = append(done, retention.Collected{Workspace: l.Dir, Objects: 1, Bytes: l.Bytes, Removed: 1, RemovedBytes: l.Bytes})
			}
			if asJSON {
				return errors.Join(err, print.Array(p.Stdout, done))
			}
			gcText(p, done, dry)
			return errors.Join(err, gcTries(p, o.Home))
		}}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count what would be removed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with one object per workspace")
	return cmd
}

func gcText(p *program.Program, done []retention.Collected, dry bool) {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	var objects, kept int
	var freed, held int64
	for _, c := range done {
		if c.Busy {
			fmt.Fprintf(p.Stderr, "%s: another kerf gc is running here; skipped\n", visible.Plain(c.Workspace))
			continue
		}
		objects, freed = objects+c.Removed, freed+c.RemovedBytes
		kept, held = kept+c.Objects-c.Removed, held+c.Bytes-c.RemovedBytes
		if c.Removed > 0 {
			fmt.Fprintf(p.Stdout, "%s: %s %d of %d objects, %s\n", visible.Plain(c.Workspace), verb, c.Removed, c.Objects,
				print.Bytes(c.RemovedBytes))
		}
	}
	fmt.Fprintf(p.Stdout, "%s %d objects, %s; %d objects, %s are kept\n", verb, objects, print.Bytes(freed), kept,
		print.Bytes(held))
}

// gcTries tells of the tries that wait: they are never removed.
func gcTries(p *program.Program, home string) error {
	list, err := tries.List(home)
	if err != nil || len(list) == 0 {
		return err
	}
	var size int64
	for _, t := range list {
		size += t.Size()
	}
	fmt.Fprintf(p.Stdout, "tries: %d, %s, stay until kerf keep or kerf discard ends them\n", len(list), print.Bytes(size))
	return nil
}

func recoverCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "recover", Short: "Finish or take back changes that a crash interrupted",
		Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			ws, err := h.OpenWorkspace(host.WorkspaceOptions{Sandbox: protocol.SandboxFull})
			if err != nil {
				return err
			}
			defer ws.Close()
			r, err := ws.Txn.Recover(cmd.Context())
			if err != nil {
				return err
			}
			opened := ws.Txn.Settled
			r.Finished, r.TakenBack, r.Kept = r.Finished+opened.Finished, r.TakenBack+opened.TakenBack, r.Kept+opened.Kept
			r.Conflicts = append(r.Conflicts, opened.Conflicts...)
			lost, err := ws.EndLost()
			if err != nil {
				return err
			}
			if asJSON {
				type left struct {
					Path   pathname.Path `json:"path"`
					Reason string        `json:"reason"`
				}
				told := settled{r.Finished, r.TakenBack, r.Kept, ws.Recovered, lost, []any{}, ""}
				for _, c := range r.Conflicts {
					told.Left = append(told.Left, left{pathname.Path(c.Path), c.Err.Error()})
				}
				return told.print(p, ws.Unrecovered)
			}
			for _, line := range recovered(r.Finished, r.TakenBack, r.Kept, ws.Recovered, lost, len(r.Conflicts)) {
				fmt.Fprintln(p.Stdout, line)
			}
			if ws.Unrecovered != nil {
				return fmt.Errorf("what an interrupted command changed could not be entered into the log: %w", ws.Unrecovered)
			}
			for _, c := range r.Conflicts {
				fmt.Fprintf(p.Stdout, "left as it is: %s: %v\n", visible.Plain(c.Path), c.Err)
			}
			return nil
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, see kerf help files")
	return cmd
}

// settled is what was done about what had been interrupted, for programs.
type settled struct {
	Finished  int    `json:"finished"`
	TakenBack int    `json:"taken_back"`
	Kept      int    `json:"entered"`
	Commands  int    `json:"commands"`
	Lost      int    `json:"lost"`
	Left      []any  `json:"left"`
	Problem   string `json:"problem,omitempty"`
}

func (s settled) print(p *program.Program, problem error) error {
	if problem != nil {
		s.Problem = problem.Error()
	}
	if err := print.Line(p.Stdout, s); err != nil || problem == nil {
		return err
	}
	return program.Exit(1)
}

// recovered tells what was done about what had been interrupted, in lines.
func recovered(finished, takenBack, kept, commands, lost, conflicts int) []string {
	var lines []string
	for _, l := range []struct {
		n    int
		what string
	}{
		{finished, "interrupted changes that were whole and are finished now"},
		{takenBack, "interrupted changes that were taken back; their files are as they were before"},
		{kept, "changed files that were entered into the log now"},
		{commands, "interrupted commands; what is known of them was entered into the log"},
		{lost, "interrupted commands of which no record is left; see kerf log"},
	} {
		if l.n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", l.what, l.n))
		}
	}
	if len(lines)+conflicts == 0 {
		lines = append(lines, "nothing was interrupted here")
	}
	return lines
}

func adoptCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "adopt DIRECTORY", Short: "Take over the history of a directory that was moved here",
		Args: program.Between(1, 1),
		Long: `Lets what Kerf recorded for DIRECTORY count for the working directory: kerf log, diff, undo and recover
then know it. It is for a project that was renamed, moved, or restored from a backup together with Kerf's home.
Where there is no doubt Kerf does this by itself.`,
		Example: "  kerf adopt ~/old-name",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			from := args[0]
			if !filepath.IsAbs(from) {
				from = filepath.Join(h.Config.Cwd, from)
			}
			if err := workspace.Adopt(h.Config.Home, from, h.Config.Cwd); err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "the history of %s counts here now\n", visible.Plain(from))
			return nil
		}}
}
