package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"kerf/internal/front/mcpserver"
)

const helloMCP = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"

// TestMCPServerAnswersWhateverComes: a line that is no message is answered with the
// error of JSON-RPC for it, and the server lives on.
func TestMCPServerAnswersWhateverComes(t *testing.T) {
	t.Parallel()
	s := serving(t, "", nil)
	for name, test := range map[string]struct {
		send string
		id   any // of the answer; "none" for what is not answered
		code int
	}{
		"no JSON":            {"hello there\n", nil, -32700},
		"half a message":     {`{"jsonrpc":"2.0","id":1,"method":"initi` + "\n", nil, -32700},
		"control bytes":      {"\x00\x1b[2J\xff\xfe\n", nil, -32700},
		"scalar":             {"7\n", nil, -32600},
		"null":               {"null\n", nil, -32600},
		"empty object":       {"{}\n", nil, -32600},
		"empty batch":        {"[]\n", nil, -32600},
		"batch of nothing":   {"[1,2]\n", nil, -32600},
		"batch in a batch":   {`[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]` + "\n", nil, -32600},
		"no version":         {`{"id":1,"method":"ping"}` + "\n", 1, -32600},
		"another version":    {`{"jsonrpc":"1.0","id":1,"method":"ping"}` + "\n", 1, -32600},
		"version a number":   {`{"jsonrpc":2.0,"id":1,"method":"ping"}` + "\n", 1, -32600},
		"method no string":   {`{"jsonrpc":"2.0","id":1,"method":7}` + "\n", 1, -32600},
		"id an object":       {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}` + "\n", nil, -32600},
		"id a truth":         {`{"jsonrpc":"2.0","id":true,"method":"ping"}` + "\n", nil, -32600},
		"answer to nothing":  {`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n", "none", 0},
		"answer of no kind":  {`{"jsonrpc":"2.0","id":77}` + "\n", "none", 0},
		"answer, no version": {`{"id":77,"result":{}}` + "\n", "none", 0},
		"both at once":       {`{"jsonrpc":"2.0","id":77,"result":{},"error":{"code":1,"message":"x"}}` + "\n", "none", 0},
		"deep":               {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n", nil, -32700},
		"blank lines":        {"\n\r\n  \n", "none", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wired(t, func(in io.ReadCloser, out io.WriteCloser) error {
				return mcpserver.Stdio(context.Background(),
					mcpserver.Options{Engine: s.host.Engine(nil), Version: "test"}, in, out)
			})
			w.send(test.send)
			if test.id != "none" {
				if m := w.answer(test.id); codeOf(m) != test.code {
					t.Errorf("answered %v, want %d", m, test.code)
				}
			}
			w.send(helloMCP) // it still serves
			if m := w.answer("hello"); m["result"] == nil {
				t.Errorf("then answered %v", m)
			}
			w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + test.send)
			w.send(`{"jsonrpc":"2.0","id":"again","method":"tools/list"}` + "\n") // and later, too
			if m := w.answer("again"); m["result"] == nil {
				t.Errorf("at last answered %v", m)
			}
		})
	}
}
