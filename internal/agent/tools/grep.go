package tools

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/excerpt"
)

//go:embed grep.md
var grepWords string

// Bounds of a search.
const (
	grepLimit   = 200
	grepMost    = 5000
	grepContext = 50
	grepBytes   = 36_000
)

type grepArgs struct {
	Pattern    string `json:"pattern" doc:"The regular expression."`
	Path       string `json:"path,omitempty" doc:"The file or directory to search (default: the working directory)."`
	Glob       string `json:"glob,omitempty" doc:"Search only files whose path matches this pattern, such as *.go."`
	IgnoreCase bool   `json:"ignore_case,omitempty" doc:"Upper and lower case are the same."`
	Context    *int   `json:"context,omitempty" min:"0" doc:"How many lines to show around each match (default 0)."`
	Limit      *int   `json:"limit,omitempty" min:"1" doc:"How many matching lines to show at most (default 200)."`

	before, after *int   // lines of context on one side only
	mode          string // content, or what to show instead: files_with_matches, count
	unnumbered    bool
}

func grepTool() entry {
	return definition[grepArgs]{
		name: "grep", words: grepWords, parallel: true, prepare: prepareGrep,
		aliases: []alias[grepArgs]{as("Grep", func(a struct {
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
				Limit: a.HeadLimit, before: a.Before, after: a.After, mode: a.OutputMode, unnumbered: a.Numbers != nil && !*a.Numbers}
			if a.HeadLimit != nil && *a.HeadLimit == 0 {
				out.Limit = nil
			}
			if out.mode == "" {
				out.mode = "files_with_matches"
			}
			return out, nil
		})},
	}
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
	q := tool.Query{Pattern: a.Pattern, Dir: dir, Glob: a.Glob, IgnoreCase: a.IgnoreCase, Context: max(before, after), Limit: limit}
	if a.mode == "files_with_matches" || a.mode == "count" {
		q.Context, q.Limit = 0, grepMost
	}
	lines, more, err := env.Grep(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return told("No lines match " + clip(a.Pattern) + "."), nil
	}
	switch a.mode {
	case "files_with_matches", "count":
		return told(perFile(env, lines, a.mode == "count", limit, more)), nil
	}
	return told(content(env, near(lines, before, after), a.unnumbered, more)), nil
}

// near leaves out the context lines that are further from a match than asked for.
func near(lines []tool.Line, before, after int) []tool.Line {
	if before == after {
		return lines
	}
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if !l.Match {
			continue
		}
		for j := i; j >= 0 && lines[j].Path == l.Path && l.Number-lines[j].Number <= before; j-- {
			keep[j] = true
		}
		for j := i; j < len(lines) && lines[j].Path == l.Path && lines[j].Number-l.Number <= after; j++ {
			keep[j] = true
		}
	}
	var kept []tool.Line
	for i, l := range lines {
		if keep[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// content shows lines, with -- between stretches that do not touch.
func content(env tool.Env, lines []tool.Line, unnumbered, more bool) string {
	context := false
	for _, l := range lines {
		context = context || !l.Match
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && context && (l.Path != lines[i-1].Path || l.Number != lines[i-1].Number+1) {
			b.WriteString("--\n")
		}
		mark := byte(':')
		if !l.Match {
			mark = '-'
		}
		where := fmt.Sprintf("%s%c%d%c ", oneLine(display(env, l.Path)), mark, l.Number, mark)
		if unnumbered {
			where = fmt.Sprintf("%s%c ", oneLine(display(env, l.Path)), mark)
		}
		b.WriteString(where + excerpt.Shorten(excerpt.Chomp([]byte(l.Text)), excerpt.Width) + "\n")
		if b.Len() > grepBytes && i+1 < len(lines) {
			more = true
			break
		}
	}
	if more {
		b.WriteString("(there are more matches; narrow the pattern, the path or the glob, or set limit)\n")
	}
	return b.String()
}

// perFile shows the files that have matches, and how many.
func perFile(env tool.Env, lines []tool.Line, count bool, limit int, more bool) string {
	var order []string
	matches := map[string]int{}
	for _, l := range lines {
		if !l.Match {
			continue
		}
		if matches[l.Path]++; matches[l.Path] == 1 {
			order = append(order, l.Path)
		}
	}
	var b strings.Builder
	for i, p := range order {
		if i == limit {
			more = true
			break
		}
		b.WriteString(oneLine(display(env, p)))
		if count {
			fmt.Fprintf(&b, ":%d", matches[p])
		}
		b.WriteByte('\n')
	}
	if more {
		b.WriteString("(there are more; narrow the pattern, the path or the glob)\n")
	}
	return b.String()
}
