package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed glob.md
var globWords string

const globLimit = 500

type globArgs struct {
	Pattern string `json:"pattern" brief:"plain" doc:"The pattern."`
	Path    string `json:"path,omitempty" also:"dir,directory" brief:"plain" doc:"The directory to search (default: the working directory)."`
}

func globTool() entry {
	return define.Tool[globArgs]{
		Name: "glob", Text: globWords, Parallel: true, Plan: prepareGlob,
		Aliases: []define.Alias[globArgs]{define.As("Glob", func(a globArgs) (globArgs, error) { return a, nil })},
	}.Entry()
}

func prepareGlob(ctx context.Context, env tool.Env, c tool.Call, a globArgs) (tool.Action, error) {
	if a.Pattern == "" {
		return nil, tool.Refuse(tool.InvalidArguments,
			"%s: field pattern: expected a pattern such as **/*.go, found an empty string", c.Name)
	}
	dir, err := searched(env, a.Path)
	if err != nil {
		return nil, err
	}
	paths, more, err := env.Glob(ctx, dir, a.Pattern, globLimit)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return told("No files match " + clip(a.Pattern) + "."), nil
	}
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(oneLine(display(env, p)) + "\n")
	}
	if more {
		fmt.Fprintf(&b, "(more than %d files; narrow the pattern)\n", len(paths))
	}
	return told(b.String()), nil
}
