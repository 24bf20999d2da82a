package tools

import (
	"context"
	_ "embed"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/define"
)

//go:embed web_fetch.md
var webFetchWords string

type fetchArgs struct {
	URL string `json:"url" brief:"plain" doc:"The address, with http:// or https://."`
}

// WebFetch is the name of the tool that reads pages, which is not offered by default.
const WebFetch = "web_fetch"

func webFetch() entry {
	return define.Tool[fetchArgs]{
		Name: WebFetch, Text: webFetchWords, Parallel: true,
		Plan: func(_ context.Context, _ tool.Env, c tool.Call, a fetchArgs) (tool.Action, error) {
			if a.URL == "" {
				return nil, tool.Refuse(tool.InvalidArguments, "%s: field url: expected an address, found an empty string", c.Name)
			}
			return tool.Fetch{URL: a.URL}, nil
		},
		Aliases: []define.Alias[fetchArgs]{define.As("WebFetch", func(a struct {
			URL    string `json:"url"`
			Prompt string `json:"prompt,omitempty"` // what to look for: the model sees the page itself
		}) (fetchArgs, error) {
			return fetchArgs{a.URL}, nil
		})},
	}.Entry()
}
