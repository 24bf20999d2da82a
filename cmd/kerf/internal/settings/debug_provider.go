package settings

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

func debugProviderCommand(p *program.Program) *cobra.Command {
	var record, replay, session, model string
	cmd := &cobra.Command{Use: "provider (--record FILE [PROMPT] | --replay FILE)", Args: program.AtMost(1),
		Short: "Record what a provider answers, or play a recording",
		Long: "With --record it sends the request that a turn with PROMPT would begin with, and writes what was said\n" +
			"over HTTP to FILE, without keys and other known secrets. Look through FILE before you send it to others:\n" +
			"it holds the whole conversation. With --replay it plays FILE again; nothing is sent and no key is needed.\n" +
			"Both print what Kerf makes of the answer, one JSON object a line, and fail when the answer is an error.",
		Example: "  kerf debug provider --record failing.json \"fix the test\"\n  kerf debug provider --replay failing.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (record == "") == (replay == "") || replay != "" && len(args) > 0 {
				return program.Misuse("give --record FILE with a prompt, or --replay FILE alone")
			}
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			out := json.NewEncoder(p.Stdout)
			out.SetEscapeHTML(false)
			tell := func(t host.Told) error { return out.Encode(t) }
			if replay != "" {
				return h.Providers().Replay(cmd.Context(), replay, tell)
			}
			if err := program.Writable("--record", record); err != nil {
				return err
			}
			text := "Say hello."
			if len(args) == 1 {
				text = args[0]
			}
			r, err := h.DebugPrompt(cmd.Context(), session, protocol.Settings{Model: model}, []protocol.Input{{Text: text}})
			if err != nil {
				return err
			}
			err = h.Providers().Record(cmd.Context(), r, record, tell)
			fmt.Fprintf(p.Stderr, "recorded in %s; look through it before you send it to others\n", record)
			return err
		}}
	cmd.Flags().StringVar(&record, "record", "", "send one request and write what was said to this `file`")
	cmd.Flags().StringVar(&replay, "replay", "", "play this `file` again")
	cmd.Flags().StringVar(&session, "session", "", "as the next turn of this session (`id`)")
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `model` to ask")
	return cmd
}
