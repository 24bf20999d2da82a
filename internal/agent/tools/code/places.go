package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed definition.md
var definitionWords string

//go:embed references.md
var referencesWords string

func definition() define.Entry {
	return define.Tool[Named]{Name: "definition", Text: definitionWords, Parallel: true,
		Plan: func(ctx context.Context, env tool.Env, c tool.Call, n Named) (tool.Action, error) {
			return places(ctx, env, c, n, Definition)
		}}.Entry()
}

func references() define.Entry {
	return define.Tool[Named]{Name: "references", Text: referencesWords, Parallel: true,
		Plan: func(ctx context.Context, env tool.Env, c tool.Call, n Named) (tool.Action, error) {
			return places(ctx, env, c, n, References)
		}}.Entry()
}

func places(ctx context.Context, env tool.Env, c tool.Call, n Named, k Kind) (tool.Action, error) {
	q, err := n.question(env, c, k)
	if err != nil {
		return nil, err
	}
	answer, err := ask(ctx, env, c, q)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if len(answer.Places) == 0 {
		fmt.Fprintf(&b, "%s knows no %s of %s there.\n", answer.Server, k, clip(n.Name))
	}
	writePlaces(&b, env, answer.Places)
	return told(&b, answer), nil
}
