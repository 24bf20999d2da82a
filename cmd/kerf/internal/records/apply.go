package records

import (
	"io"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
)

func diffCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "diff", Short: "Print what the last turn in this workspace changed", Args: program.AtMost(0),
		Long: "Prints the net change of the last turn in this workspace as a git diff.\nChanges by neither Kerf's tools nor its commands are not in it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			d, err := h.TurnDiff()
			if err != nil {
				return err
			}
			_, err = p.Stdout.Write(d)
			return err
		}}
}

func applyCommand(p *program.Program) *cobra.Command {
	var o host.ApplyOptions
	cmd := &cobra.Command{Use: "apply [SESSION | -]", Short: "Apply the changes of a session, or a diff, to this directory", Args: program.AtMost(1),
		Long:    "Applies all changes of a session (the newest of any directory without an id), or with \"-\"\nthe git or unified diff on standard input. Either every file is changed or none.",
		Example: "  kerf apply --dry-run\n  git diff | kerf apply -C ../other -",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			o.Out, o.Err = p.Stdout, p.Stderr
			if len(args) == 1 && args[0] == "-" {
				o.Patch = p.Stdin
			} else if len(args) == 1 {
				o.Session = args[0]
			}
			return h.Apply(cmd.Context(), o)
		}}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the diff and check that it fits; change nothing")
	cmd.Flags().BoolVarP(&o.Reverse, "reverse", "R", false, "take the changes back instead")
	cmd.Flags().BoolVar(&o.Three, "3way", false, "merge where the text around a change is not as it was")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "tell what became of each file as one JSON object")
	return cmd
}

func applyPatchCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "apply-patch [PATCH]", Short: "Apply a *** Begin Patch text, from the argument or standard input", Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			text := ""
			if len(args) == 1 {
				text = args[0]
			} else {
				b, err := io.ReadAll(p.Stdin)
				if err != nil {
					return program.Misuse("standard input: %v", err)
				}
				text = string(b)
			}
			return h.ApplyPatch(cmd.Context(), text, p.Stdout)
		}}
}

func recoverCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "recover", Short: "Finish or take back changes that a crash cut off", Args: program.AtMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return h.Recover(cmd.Context(), p.Stdout)
		}}
}
