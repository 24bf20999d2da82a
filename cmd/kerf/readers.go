package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kerf/internal/host"
	"kerf/internal/protocol"
)

func (p *program) diffCommand() *cobra.Command {
	return &cobra.Command{Use: "diff", Short: "Print what the last turn in this workspace changed", Args: atMost(0),
		Long: "Prints the net change of the last turn in this workspace as a git diff.\nChanges by neither Kerf's tools nor its commands are not in it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			d, err := h.TurnDiff()
			if err != nil {
				return err
			}
			_, err = p.stdout.Write(d)
			return err
		}}
}

func (p *program) applyCommand() *cobra.Command {
	var o host.ApplyOptions
	cmd := &cobra.Command{Use: "apply [SESSION | -]", Short: "Apply the changes of a session, or a diff, to this directory", Args: atMost(1),
		Long:    "Applies all changes of a session (the newest of any directory without an id), or with \"-\"\nthe git or unified diff on standard input. Either every file is changed or none.",
		Example: "  kerf apply --dry-run\n  git diff | kerf apply -C ../other -",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			o.Out, o.Err = p.stdout, p.stderr
			if len(args) == 1 && args[0] == "-" {
				o.Patch = p.stdin
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

func (p *program) applyPatchCommand() *cobra.Command {
	return &cobra.Command{Use: "apply-patch [PATCH]", Short: "Apply a *** Begin Patch text, from the argument or standard input", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			text := ""
			if len(args) == 1 {
				text = args[0]
			} else {
				b, err := io.ReadAll(p.stdin)
				if err != nil {
					return misuse("standard input: %v", err)
				}
				text = string(b)
			}
			return h.ApplyPatch(cmd.Context(), text, p.stdout)
		}}
}

func (p *program) toolCommand() *cobra.Command {
	var list bool
	var set protocol.Settings
	var dirs []string
	cmd := &cobra.Command{Use: "tool NAME [JSON | -]", Short: "Run one tool call here, without a model", Args: atMost(2),
		Example: `  kerf tool read_file '{"file_path": "main.go"}'` + "\n" + `  kerf tool edit_file - < call.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				b, err := host.ToolSpecs()
				if err != nil {
					return err
				}
				fmt.Fprintf(p.stdout, "%s\n", b)
				return nil
			}
			if len(args) == 0 {
				return misuse("which tool? kerf tool --list shows them")
			}
			return p.oneTool(cmd, args, set, dirs)
		}}
	cmd.Flags().BoolVar(&list, "list", false, "print the tools with their schemas")
	cmd.Flags().StringVarP((*string)(&set.Sandbox), "sandbox", "s", string(protocol.SandboxWorkspace), "read-only, workspace-write or danger-full-access (`mode`)")
	cmd.Flags().StringArrayVar(&dirs, "add-dir", nil, "a further writable `directory`")
	return cmd
}

func (p *program) oneTool(cmd *cobra.Command, args []string, set protocol.Settings, dirs []string) error {
	text := "{}"
	switch {
	case len(args) == 2 && args[1] != "-":
		text = args[1]
	case len(args) == 2 || !isTerminal(p.stdin):
		b, err := io.ReadAll(io.LimitReader(p.stdin, 64<<20))
		if err != nil {
			return misuse("standard input: %v", err)
		}
		if len(b) > 0 {
			text = string(b)
		}
	}
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	r, err := h.Tool(cmd.Context(), args[0], json.RawMessage(text), set, dirs)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	if !r.Success {
		return silent(1)
	}
	return nil
}

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the settings", Args: atMost(0),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	var origin bool
	show := &cobra.Command{Use: "show", Short: "Print the settings that hold here", Args: atMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			for _, w := range h.Warnings {
				fmt.Fprintf(p.stderr, "warning: %s\n", w)
			}
			return h.Config.Show(p.stdout, origin)
		}}
	show.Flags().BoolVar(&origin, "origin", false, "say where each value comes from")
	cmd.AddCommand(show)
	return cmd
}

func (p *program) recoverCommand() *cobra.Command {
	return &cobra.Command{Use: "recover", Short: "Finish or take back changes that a crash cut off", Args: atMost(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			return h.Recover(cmd.Context(), p.stdout)
		}}
}
