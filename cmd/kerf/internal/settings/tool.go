package settings

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host/toolspecs"
	"kerf/internal/protocol"
)

func toolCommand(p *program.Program) *cobra.Command {
	var list bool
	var set protocol.Settings
	var dirs []string
	cmd := &cobra.Command{Use: "tool NAME [JSON | -]", Short: "Run one tool call here, without a model",
		Args:    program.AtMost(2),
		Example: `  kerf tool read_file '{"file_path": "main.go"}'` + "\n" + `  kerf tool edit_file - < call.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				b, err := toolspecs.JSON()
				if err != nil {
					return err
				}
				fmt.Fprintf(p.Stdout, "%s\n", b)
				return nil
			}
			if len(args) == 0 {
				return program.Misuse("which tool? kerf tool --list shows them")
			}
			return oneTool(p, cmd, args, set, dirs)
		}}
	cmd.Flags().BoolVar(&list, "list", false, "print the tools with their schemas")
	cmd.Flags().StringVarP((*string)(&set.Sandbox), "sandbox", "s", string(protocol.SandboxWorkspace),
		"read-only, workspace-write or danger-full-access (`mode`)")
	cmd.Flags().StringArrayVar(&dirs, "add-dir", nil, "a further writable `directory`")
	return cmd
}

func oneTool(p *program.Program, cmd *cobra.Command, args []string, set protocol.Settings, dirs []string) error {
	text := "{}"
	switch {
	case len(args) == 2 && args[1] != "-":
		text = args[1]
	case len(args) == 2 || !program.IsTerminal(p.Stdin):
		b, err := io.ReadAll(io.LimitReader(p.Stdin, 64<<20))
		if err != nil {
			return program.Misuse("standard input: %v", err)
		}
		if len(b) > 0 {
			text = string(b)
		}
	}
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	r, err := h.Tool(cmd.Context(), args[0], json.RawMessage(text), set, dirs)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(p.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	if !r.Success {
		return program.Exit(1)
	}
	return nil
}
