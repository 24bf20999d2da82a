package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
	"kerf/internal/agent/tools/filekind"
)

//go:embed view_image.md
var viewImageWords string

type imageArgs struct {
	Path string `json:"path" also:"file_path,filename" brief:"plain" doc:"The image file."`
}

func viewImage() entry {
	return define.Tool[imageArgs]{
		Name: "view_image", Text: viewImageWords, Parallel: true,
		Plan: func(ctx context.Context, env tool.Env, _ tool.Call, a imageArgs) (tool.Action, error) {
			t, err := look(env, "path", a.Path, "")
			switch {
			case err != nil:
				return nil, err
			case t.disk == nil:
				return nil, t.missing(ctx, env)
			case filekind.Image(t.disk.Data) == "":
				return nil, tool.Refuse(tool.InvalidArguments,
					"field path: expected a png, jpeg, gif or webp file, found another kind in %s; read_file reads text", t.name)
			}
			return t.image()
		},
	}.Entry()
}
