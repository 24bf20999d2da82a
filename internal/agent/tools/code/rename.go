package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed rename.md
var renameWords string

type renameArgs struct {
	Named
	NewName string `json:"new_name" doc:"The new name, without dots."`
}

func rename() define.Entry {
	return define.Tool[renameArgs]{Name: "rename", Text: renameWords, Plan: prepareRename}.Entry()
}

func prepareRename(ctx context.Context, env tool.Env, c tool.Call, a renameArgs) (tool.Action, error) {
	if strings.TrimSpace(a.NewName) == "" {
		return nil, tool.Refuse(tool.InvalidArguments, "%s: field new_name: expected a name, found none", c.Name)
	}
	q, err := a.question(env, c, Rename)
	if err != nil {
		return nil, err
	}
	q.Name = strings.TrimSpace(a.NewName)
	answer, err := ask(ctx, env, c, q)
	if err != nil {
		return nil, err
	}
	if len(answer.Changes) == 0 {
		return nil, tool.Refuse(tool.NoChange, "%s finds nothing to change when %s becomes %s. Nothing was written",
			answer.Server, clip(a.Name), clip(a.NewName))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Renamed %s to %s: %d edits in %d files.", clip(a.Name), clip(a.NewName), answer.Edits,
		len(answer.Changes))
	for i, ch := range answer.Changes {
		if i == maxNamed {
			fmt.Fprintf(&b, "\n(%d more)", len(answer.Changes)-i)
			break
		}
		b.WriteString("\n" + display(env, ch.Path))
	}
	return tool.Change{Set: answer.Changes, Derived: true,
		Result: tool.Result{Success: true, Output: b.String(), Short: true}}, nil
}

// maxNamed bounds how many files are named.
const maxNamed = 60
