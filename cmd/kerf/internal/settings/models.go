package settings

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/visible"
)

const modelsLong = `Lists the models that Kerf knows by name: context window, longest answer, images, reasoning,
how they edit files, prices. Values under [models.NAME] in the configuration come first, then
values that the provider sent (--refresh asks for them), then built-in ones. A star marks the
model of a new session. A question mark marks an assumed value.`

func modelsCommand(p *program.Program) *cobra.Command {
	var asJSON, refresh, local, check bool
	var name string
	var provider string
	cmd := &cobra.Command{Use: "models", Short: "List models and what is known about them", Long: modelsLong,
		Args: program.AtMost(0),
		Example: "  kerf models --refresh\n  kerf models --provider openrouter --refresh --json\n  kerf models --local\n" +
			"  kerf models pull qwen3:8b",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if check {
				return checkModel(p, cmd, h, name, asJSON)
			}
			if local {
				return localModels(p, cmd, h, asJSON)
			}
			list, err := h.Providers().Models(cmd.Context(), provider, refresh)
			if err != nil {
				return err
			}
			if asJSON {
				return print.Array(p.Stdout, list)
			}
			return printModels(p, list)
		}}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&refresh, "refresh", false, "ask the provider for its models and keep the answer")
	f.BoolVar(&local, "local", false, "look for model servers on this machine")
	f.BoolVar(&check, "check", false, "try the model with a few tiny requests and tell what works")
	f.StringVarP(&name, "model", "m", "", "the `model` to try; PROVIDER:MODEL for another provider's")
	f.StringVar(&provider, "provider", "", "only this `provider`")
	pull := &cobra.Command{Use: "pull NAME", Short: "Fetch a model with Ollama", Args: program.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return pull(p, cmd, args[0]) }}
	cmd.AddCommand(pull)
	return cmd
}

// checkModel tries a model. One that sessions cannot work with is a failure.
func checkModel(p *program.Program, cmd *cobra.Command, h *host.Host, name string, asJSON bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	choice, err := h.Providers().Choose(ctx, cmp.Or(name, h.Config.Model), false)
	if err != nil {
		return err
	}
	for _, w := range choice.Warnings {
		fmt.Fprintln(p.Stderr, "warning: "+visible.Plain(w))
	}
	got, err := choice.Check(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		err = print.JSON(p.Stdout, got)
	} else {
		w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "provider\t%s\nmodel\t%s\n", got.Provider, visible.Plain(got.Model))
		fmt.Fprintf(w, "streaming\t%s\ntools\t%s\nparallel calls\t%s\nresults of calls\t%s\n", yes(got.Streaming),
			yes(got.Tools), yes(got.Parallel), yes(got.Results))
		fmt.Fprintf(w, "reasoning\t%s\ncached tokens\t%d\nimages\t%s\n", yes(got.Reasoning), got.Cached,
			yes(got.Images))
		err = w.Flush()
	}
	if err == nil && !got.Fit() {
		err = &program.Error{Code: 1, Err: fmt.Errorf("%s cannot be worked with: %s", got.Model, got.Problem)}
	}
	return err
}

func printModels(p *program.Program, list []host.ModelInfo) error {
	if len(list) == 0 {
		fmt.Fprintln(p.Stderr, "no models are known yet; ask a provider with: kerf models --refresh")
		return nil
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  PROVIDER\tMODEL\tCONTEXT\tOUTPUT\tIMAGES\tREASONING\tEDITS\t$/M IN\t$/M OUT")
	for _, m := range list {
		mark := " "
		if m.Chosen {
			mark = "*"
		}
		name := visible.Plain(m.Name)
		if !m.Known {
			name += " ?"
		}
		f := m.Facts
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, m.Provider, name, tokens(f.Window),
			tokens(f.MaxOutput), yes(f.Images),
			dash(string(f.Reasoning)), dash(string(f.EditTool)), price(f.Prices.Input), price(f.Prices.Output))
	}
	return w.Flush()
}

func tokens(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func price(f float64) string {
	if f == 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func localModels(p *program.Program, cmd *cobra.Command, h *host.Host, asJSON bool) error {
	servers := h.Providers().Servers(cmd.Context())
	if asJSON {
		return print.JSON(p.Stdout, servers)
	}
	if len(servers) == 0 {
		return &program.Error{Code: 1, Err: fmt.Errorf("no model server answers on this machine"),
			Hint: "start one, for example: ollama serve"}
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range servers {
		for _, m := range s.Models {
			state := ""
			if m.Loaded {
				state = "loaded"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Provider, visible.Plain(m.Name), tokens(m.Window), state)
		}
		if len(s.Models) == 0 {
			fmt.Fprintf(w, "%s\t(no models)\t\t\n", s.Provider)
		}
	}
	return w.Flush()
}

// pull shows one line that grows on a terminal, and one line for each step
// elsewhere.
func pull(p *program.Program, cmd *cobra.Command, name string) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tty, last := program.IsTerminal(p.Stderr), ""
	err = h.Providers().Pull(ctx, name, func(status string, done, total int64) {
		line := status
		if total > 0 && tty {
			line += fmt.Sprintf(" %d%% of %.1f GB", done*100/total, float64(total)/1e9)
		}
		switch {
		case line == last:
		case tty:
			fmt.Fprintf(p.Stderr, "\r%s%s", line, strings.Repeat(" ", max(len(last)-len(line), 0)))
		default:
			fmt.Fprintln(p.Stderr, line)
		}
		last = line
	})
	if tty {
		fmt.Fprintln(p.Stderr)
	}
	if ctx.Err() != nil {
		return &program.Error{Code: 130, Err: fmt.Errorf("interrupted; the fetched part is kept; run the same command to " +
			"continue")}
	}
	return err
}
