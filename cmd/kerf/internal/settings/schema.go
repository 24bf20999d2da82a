package settings

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/settings/typed"
	"kerf/internal/config"
	"kerf/internal/front/exec"
	"kerf/internal/front/serve/message"
	"kerf/internal/host"
	"kerf/internal/host/toolspecs"
)

const schemaAbout = `Prints JSON schemas (draft 2020-12) of what Kerf reads and writes.

  events    a line of kerf exec --json
  config    config.toml, for editors that complete and check it
  rollout   a line of a session's rollout.jsonl
  tools     the arguments of each tool, by its name
  serve     what kerf serve and its clients say to each other: events, ops, options

Without an argument it prints one object with all five. Of events and serve, --as python and
--as typescript print types of that language instead.`

// typeNames are what the types of a whole schema are called, of those that have types.
var typeNames = map[string]string{"events": "Event", "serve": "Words"}

func schemaCommand(p *program.Program) *cobra.Command {
	var as string
	c := &cobra.Command{Use: "schema [events | config | rollout | tools | serve]",
		Short: "Print JSON schemas of events, configuration, session files and tools",
		Long:  schemaAbout, Args: program.AtMost(1), ValidArgs: []string{"events", "config", "rollout", "tools", "serve"},
		RunE: func(_ *cobra.Command, args []string) error { return printSchema(p, args, as) }}
	c.Flags().StringVar(&as, "as", "", "print types of a `language`: python or typescript")
	return c
}

func printSchema(p *program.Program, args []string, as string) error {
	rollout, err := host.RolloutSchema()
	if err != nil {
		return err
	}
	tools, err := toolSchemas()
	if err != nil {
		return err
	}
	all := map[string]any{"events": exec.Schema(), "config": config.JSONSchema(), "rollout": rollout, "tools": tools,
		"serve": message.Schema()}
	var out any = all
	if len(args) == 1 {
		one, ok := all[args[0]]
		if !ok {
			return program.Misuse("there is no schema %q; there are events, config, rollout, tools and serve", args[0])
		}
		out = one
	}
	switch {
	case as == "":
	case !slices.Contains(typed.Languages, as):
		return program.Misuse("there are no types for %q; there are python and typescript", as)
	case len(args) == 0 || typeNames[args[0]] == "":
		return program.Misuse("--as goes with the schemas events and serve")
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	text := string(b) + "\n"
	if as != "" {
		if text, err = typed.Write(b, typeNames[args[0]], as); err != nil {
			return err
		}
	}
	fmt.Fprint(p.Stdout, text)
	return nil
}

// toolSchemas are the schemas of the tools' arguments by name.
func toolSchemas() (map[string]json.RawMessage, error) {
	b, err := toolspecs.JSON()
	if err != nil {
		return nil, err
	}
	var list []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	for _, t := range list {
		all[t.Name] = t.Parameters
	}
	return all, nil
}
