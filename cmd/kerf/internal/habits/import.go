package habits

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host/importing"
	"kerf/internal/pathname"
	"kerf/internal/sessions/codex"
	"kerf/internal/sessions/peers"
	"kerf/internal/text/visible"
)

const importAbout = `Finds what you keep at home for other agents, and carries it over: settings, MCP servers, rules,
hooks, instructions, and the sessions of Codex, Claude Code and Gemini CLI. It shows a plan first and writes nothing without
your yes. What Kerf has already stays. Keys and tokens are not copied; the plan names the variables
to set.

  kerf import                  the plan for all agents
  kerf import codex --yes      carry over what there is of Codex

The agents are claude, codex, copilot, cursor, gemini and opencode.`

func importCommand(p *program.Program) *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{Use: "import [AGENT...]", Short: "Carry over what you keep for other agents", Long: importAbout,
		Args: program.Between(0, 10), ValidArgs: importing.Agents(),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if err := importing.Known(name); err != nil {
					return program.Misuse("%v", err)
				}
			}
			if len(args) == 0 {
				args = importing.Agents()
			}
			return runImport(p, args, yes, asJSON)
		}}
	cmd.Flags().BoolVar(&yes, "yes", false, "carry it over without asking")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as one JSON array, and write nothing")
	return cmd
}

func runImport(p *program.Program, names []string, yes, asJSON bool) error {
	h, err := p.Host(nil)
	if err != nil {
		return err
	}
	home := h.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return errors.New("HOME names no directory")
	}
	steps, err := importing.Plan(importing.Options{Home: home, Kerf: h.Config.Home, Env: h.Getenv,
		Imported: h.Sessions().Imported,
		Session: func(path string) error {
			_, err := h.Sessions().Import(path)
			if errors.Is(err, codex.ErrAgain) || errors.Is(err, peers.ErrNone) {
				return importing.ErrNothing
			}
			return err
		}}, names...)
	if err != nil {
		return err
	}
	if asJSON {
		return print.JSON(p.Stdout, stepsJSON(steps))
	}
	writes := showSteps(p, home, steps)
	switch {
	case writes == 0:
		fmt.Fprintln(p.Stdout, "there is nothing to carry over")
		return nil
	case !yes && !p.OnTerminal():
		fmt.Fprintln(p.Stdout, "nothing was written; add --yes to carry over what is marked with +")
		return nil
	case !yes:
		if !p.Agrees(p.Stdout, "Carry over what is marked with +?") {
			fmt.Fprintln(p.Stdout, "nothing was written")
			return nil
		}
	}
	return carryOver(p, steps)
}

// carryOver does all steps, also after one that failed.
func carryOver(p *program.Program, steps []importing.Step) error {
	done, failed, nothing := 0, 0, 0
	for _, s := range steps {
		if s.State != importing.Write {
			continue
		}
		if err := s.Do(); errors.Is(err, importing.ErrNothing) {
			nothing++
			continue
		} else if err != nil {
			fmt.Fprintf(p.Stderr, "kerf: %s\n", visible.Plain(err.Error()))
			failed++
			continue
		}
		done++
	}
	fmt.Fprintf(p.Stdout, "carried over: %d", done)
	if nothing > 0 {
		fmt.Fprintf(p.Stdout, ", nothing to carry over in: %d", nothing)
	}
	if failed > 0 {
		fmt.Fprintf(p.Stdout, ", failed: %d\n", failed)
		return program.Exit(1)
	}
	fmt.Fprintln(p.Stdout)
	return nil
}

// marks are what stands before a step.
var marks = map[importing.State]string{importing.Write: "+", importing.Used: "=", importing.Kept: "=", importing.None: "-"}

// showSteps shows a plan and returns how many steps would write.
func showSteps(p *program.Program, home string, steps []importing.Step) (writes int) {
	agent, from := "", ""
	for _, s := range steps {
		if s.Agent != agent {
			fmt.Fprintf(p.Stdout, "%s\n", s.Agent)
			agent, from = s.Agent, ""
		}
		if s.From != from {
			from = s.From
			shown := pathname.Short(home, from)
			if shown != from {
				shown = "~/" + filepath.ToSlash(shown)
			}
			fmt.Fprintf(p.Stdout, "  %s\n", visible.Plain(shown))
		}
		line := "    " + marks[s.State] + " " + s.What
		if s.Note != "" {
			line += ": " + s.Note
		}
		fmt.Fprintln(p.Stdout, visible.Plain(line))
		if s.State == importing.Write {
			writes++
		}
	}
	return writes
}

type stepJSON struct {
	Agent string `json:"agent"`
	State string `json:"state"`
	What  string `json:"what"`
	From  string `json:"from"`
	Note  string `json:"note,omitempty"`
}

func stepsJSON(steps []importing.Step) []stepJSON {
	list := make([]stepJSON, len(steps))
	for i, s := range steps {
		list[i] = stepJSON{s.Agent, string(s.State), s.What, s.From, s.Note}
	}
	return list
}
