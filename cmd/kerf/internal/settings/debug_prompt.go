package settings

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

func debugPromptCommand(p *program.Program) *cobra.Command {
	var session string
	var asJSON bool
	var set protocol.Settings
	cmd := &cobra.Command{Use: "prompt [PROMPT | -]", Short: "Print exactly what the model would see",
		Args: program.AtMost(1),
		Long: "Prints the request that the model would get for PROMPT: instructions, tools and the whole\n" +
			"conversation. The same code makes it for a real turn. No request is sent and nothing is kept.",
		Example: "  kerf debug prompt \"fix the test\"\n  kerf debug prompt --session 0192 --json \"go on\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := "(your prompt)"
			if len(args) == 1 {
				text = args[0]
			}
			if text == "-" {
				b, err := program.ReadInput(p.Stdin)
				if err != nil {
					return err
				}
				text = b
			}
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			return printPrompt(p, cmd, h, session, set, text, asJSON)
		}}
	cmd.Flags().StringVar(&session, "session", "", "as the next turn of this session (`id`)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVarP(&set.Model, "model", "m", "", "the `model` to ask")
	cmd.Flags().StringVarP((*string)(&set.Sandbox), "sandbox", "s", "", "the sandbox `mode`")
	cmd.Flags().StringVarP((*string)(&set.Approval), "ask-for-approval", "a", "", "the approval `policy`")
	return cmd
}

// shownRequest is a request as it is printed.
type shownRequest struct {
	Model        string          `json:"model"`
	Effort       string          `json:"effort,omitempty"`
	Instructions string          `json:"instructions"`
	Tools        []shownTool     `json:"tools"`
	Input        json.RawMessage `json:"input"`
}

type shownTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Grammar     string          `json:"grammar,omitempty"`
}

func printPrompt(p *program.Program, cmd *cobra.Command, h *host.Host, session string, set protocol.Settings,
	text string, asJSON bool) error {
	r, err := h.DebugPrompt(cmd.Context(), session, set, []protocol.Input{{Text: text}})
	if err != nil {
		return err
	}
	if asJSON {
		input, err := json.Marshal(r.Items)
		if err != nil {
			return err
		}
		shown := shownRequest{Model: r.Model, Effort: r.Effort, Instructions: r.Instructions, Tools: []shownTool{},
			Input: input}
		for _, t := range r.Tools {
			shown.Tools = append(shown.Tools, shownTool{t.Name, t.Description, t.Schema, t.Grammar})
		}
		return print.JSON(p.Stdout, shown)
	}
	var b strings.Builder
	section := func(title, text string) { fmt.Fprintf(&b, "=== %s\n%s\n\n", title, strings.TrimRight(text, "\n")) }
	section("instructions ("+r.Model+")", r.Instructions)
	for _, t := range r.Tools {
		section("tool "+t.Name, t.Description+"\n"+string(t.Schema)+t.Grammar)
	}
	for i, it := range r.Items {
		title := fmt.Sprintf("%d %s", i+1, it.Kind)
		if it.Role != "" {
			title += " (" + it.Role + ")"
		}
		if it.Name != "" {
			title += " " + it.Name
		}
		section(title, strings.Join(it.Summary, "\n")+it.Input+it.Text())
	}
	text = b.String()
	if program.IsTerminal(p.Stdout) {
		text = print.Lines(text)
	}
	_, err = io.WriteString(p.Stdout, text)
	return err
}
