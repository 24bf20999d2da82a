package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed symbols.md
var symbolsWords string

type symbolsArgs struct {
	FilePath string `json:"file_path,omitempty" also:"path,file,filename,absolute_path,target_file" brief:"plain" doc:"The file whose names are listed."`
	Query    string `json:"query,omitempty" also:"name" doc:"Part of a name to look for, in the file or else in the whole project."`
}

func symbols() define.Entry {
	return define.Tool[symbolsArgs]{Name: "symbols", Text: symbolsWords, Parallel: true, Plan: prepareSymbols}.Entry()
}

func prepareSymbols(ctx context.Context, env tool.Env, c tool.Call, a symbolsArgs) (tool.Action, error) {
	q := Question{Kind: Find, Query: a.Query}
	switch {
	case a.FilePath != "":
		path, img, err := read(env, a.FilePath)
		if err != nil {
			return nil, err
		}
		q = Question{Kind: Outline, Path: path, Image: img}
	case a.Query == "":
		return nil, tool.Refuse(tool.InvalidArguments, "%s: expected file_path, query, or both", c.Name)
	}
	answer, err := ask(ctx, env, c, q)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	n := 0
	for _, s := range answer.Symbols {
		if !strings.Contains(strings.ToLower(s.Name), strings.ToLower(a.Query)) {
			continue
		}
		if n++; n > maxTold {
			continue
		}
		at := fmt.Sprintf("%d", s.Place.Line)
		if s.Last > s.Place.Line {
			at = fmt.Sprintf("%d-%d", s.Place.Line, s.Last)
		}
		if q.Kind == Find {
			at = display(env, s.Place.Path) + ":" + at
		}
		fmt.Fprintf(&b, "%s%s: %s %s", strings.Repeat("  ", s.Depth), at, s.Kind, clip(s.Name))
		if s.Container != "" && s.Depth == 0 {
			b.WriteString(" in " + clip(s.Container))
		}
		b.WriteByte('\n')
	}
	switch {
	case n == 0:
		b.WriteString("No names found.\n")
	case n > maxTold:
		fmt.Fprintf(&b, "(%d more)\n", n-maxTold)
	}
	return told(&b, answer), nil
}
