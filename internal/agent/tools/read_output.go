package tools

import (
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
)

// outputPrefix begins the name of a command's kept output, in the place of a
// path.
const outputPrefix = "output:"

// outputs is an Env that keeps outputs of commands: it returns at most limit
// lines from first on, each cut after width bytes, and how many there are.
type outputs interface {
	Output(name string, first, limit, width int) (lines []string, total int, err error)
}

// answerOutput shows lines of a kept output.
func answerOutput(env tool.Env, a readArgs, m tool.Manner) (tool.Action, error) {
	kept, ok := env.(outputs)
	if !ok {
		return nil, tool.Refuse(tool.NotFound, "%s: no outputs are kept here. Run the command again", a.FilePath)
	}
	first, limit := firstLine(a), readLines
	if a.Limit != nil {
		limit = min(*a.Limit, readBytes)
	}
	lines, total, err := kept.Output(a.FilePath, first, limit, readWidth)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, tool.Refuse(tool.InvalidArguments, "field offset: the output has %d lines, and line %d is past its end",
			total, first)
	}
	var b strings.Builder
	next := first
	for _, text := range lines {
		if next > first && b.Len()+len(text)+gutterWidth > readBytes {
			break
		}
		m.Number(&b, next, text)
		next++
	}
	if next <= total {
		fmt.Fprintf(&b, "(lines %d-%d of %d; read on with offset %d)\n", first, next-1, total, next)
	}
	return tool.Answer{Result: tool.Result{Success: true, Output: b.String()}}, nil
}
