package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed list_dir.md
var listDirWords string

// Bounds of a listing.
const (
	listDepth = 2
	listLimit = 500
	listMost  = 5000
)

type listArgs struct {
	Path  string `json:"path,omitempty" also:"dir,directory" brief:"plain" doc:"The directory (default: the working directory)."`
	Depth *int   `json:"depth,omitempty" min:"1" doc:"How many levels to show (default 2)."`
	Limit *int   `json:"limit,omitempty" min:"1" doc:"How many entries to show at most (default 500)."`
}

func listDir() entry {
	return define.Tool[listArgs]{
		Name: "list_dir", Text: listDirWords, Parallel: true, Plan: prepareList,
		Aliases: []define.Alias[listArgs]{define.As("LS", func(a struct {
			Path string `json:"path,omitempty"`
		}) (listArgs, error) {
			return listArgs{Path: a.Path}, nil
		})},
	}.Entry()
}

func prepareList(ctx context.Context, env tool.Env, _ tool.Call, a listArgs) (tool.Action, error) {
	dir, err := searched(env, a.Path)
	if err != nil {
		return nil, err
	}
	depth, limit := atMost(a.Depth, listDepth, 32), atMost(a.Limit, listLimit, listMost)
	entries, more, err := env.List(ctx, dir, depth, limit)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(oneLine(e.Path) + "\n")
	}
	if len(entries) == 0 {
		b.WriteString("(the directory is empty)\n")
	}
	if more {
		fmt.Fprintf(&b, "(more than %d entries; list a directory below, or set limit)\n", len(entries))
	}
	return told(b.String()), nil
}

// searched is the directory that a search names, the working directory if none.
func searched(env tool.Env, path string) (string, error) {
	if path == "" {
		path = "."
	}
	return resolve(env, "path", path)
}

func atMost(n *int, otherwise, most int) int {
	if n == nil {
		return otherwise
	}
	return min(*n, most)
}

// oneLine keeps a name on its line: file names may hold anything.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, name)
}

// told is an answer with nothing but words.
func told(words string) tool.Action {
	return tool.Answer{Result: tool.Result{Success: true, Output: strings.TrimSuffix(words, "\n")}}
}
