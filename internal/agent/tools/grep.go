package tools

import (
	"context"
	_ "embed"
	"regexp"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/matches"
)

//go:embed grep.md
var grepWords string

// Bounds of a search.
const (
	grepLimit   = 200
	grepMost    = 5000
	grepContext = 50
)

type grepArgs struct {
	Pattern    string `json:"pattern" also:"query,regex" brief:"plain" doc:"The regular expression."`
	Path       string `json:"path,omitempty" also:"dir,directory" brief:"plain" doc:"The file or directory to search (default: the working directory)."`
	Glob       string `json:"glob,omitempty" doc:"Only in files whose path matches, such as *.go."`
	IgnoreCase bool   `json:"ignore_case,omitempty" brief:"plain" doc:"Upper and lower case are the same."`
	Context    *int   `json:"context,omitempty" min:"0" doc:"How many lines to show around each match (default 0)."`
	Limit      *int   `json:"limit,omitempty" min:"1" doc:"How many matching lines to show at most (default 200)."`

	before, after *int   // lines of context on one side only
	mode          string // content, or what to show instead: files_with_matches, count
	unnumbered    bool
}

func grepTool() entry {
	return define.Tool[grepArgs]{
		Name: "grep", Text: grepWords, Parallel: true, Plan: prepareGrep,
		Aliases: []define.Alias[grepArgs]{define.As("Grep", func(a struct {
			Pattern    string `json:"pattern"`
			Path       string `json:"path,omitempty"`
			Glob       string `json:"glob,omitempty"`
			OutputMode string `json:"output_mode,omitempty" enum:"content,files_with_matches,count"`
			IgnoreCase bool   `json:"-i,omitempty"`
			Numbers    *bool  `json:"-n,omitempty"`
			After      *int   `json:"-A,omitempty" min:"0"`
			Before     *int   `json:"-B,omitempty" min:"0"`
			Context    *int   `json:"-C,omitempty" min:"0"`
			HeadLimit  *int   `json:"head_limit,omitempty" min:"0"`
		}) (grepArgs, error) {
			out := grepArgs{Pattern: a.Pattern, Path: a.Path, Glob: a.Glob, IgnoreCase: a.IgnoreCase, Context: a.Context,
				Limit: a.HeadLimit, before: a.Before, after: a.After, mode: a.OutputMode, unnumbered: a.Numbers != nil &&
					!*a.Numbers}
			if a.HeadLimit != nil && *a.HeadLimit == 0 {
				out.Limit = nil
			}
			if out.mode == "" {
				out.mode = "files_with_matches"
			}
			return out, nil
		})},
	}.Entry()
}

func prepareGrep(ctx context.Context, env tool.Env, c tool.Call, a grepArgs) (tool.Action, error) {
	if a.Pattern == "" {
		return nil, tool.Refuse(tool.InvalidArguments,
			"%s: field pattern: expected a regular expression, found an empty string", c.Name)
	}
	if _, err := regexp.Compile(a.Pattern); err != nil {
		return nil, tool.Refuse(tool.InvalidArguments,
			"%s: field pattern: expected RE2 syntax, found %s (%v); a backslash makes a special character plain", c.Name,
			clip(a.Pattern), err)
	}
	dir, err := searched(env, a.Path)
	if err != nil {
		return nil, err
	}
	both := atMost(a.Context, 0, grepContext)
	before, after := atMost(a.before, both, grepContext), atMost(a.after, both, grepContext)
	limit := atMost(a.Limit, grepLimit, grepMost)
	q := tool.Query{Pattern: a.Pattern, Dir: dir, Glob: a.Glob, IgnoreCase: a.IgnoreCase, Context: max(before, after),
		Limit: limit}
	if a.mode == "files_with_matches" || a.mode == "count" {
		q.Context, q.Limit = 0, grepMost
	}
	lines, missed, err := env.Grep(ctx, q)
	if err != nil {
		return nil, err
	}
	show := func(path string) string { return oneLine(display(env, path)) }
	more, left := missed.More, matches.Missed(missed, show)
	if len(lines) == 0 {
		return told(strings.TrimSuffix("No lines match "+clip(a.Pattern)+".\n"+left, "\n")), nil
	}
	switch a.mode {
	case "files_with_matches", "count":
		return told(matches.Files(lines, show, a.mode == "count", limit, more) + left), nil
	}
	return told(matches.Lines(matches.Near(lines, before, after), show, !a.unnumbered, more) + left), nil
}
