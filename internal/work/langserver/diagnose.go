package langserver

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"kerf/internal/work/langserver/position"
	"kerf/internal/work/langserver/wire"
)

// Source is a file with what it holds.
type Source struct {
	Path string
	Data []byte
	// Past says that it held this before. The server is told what it holds now with the next Refresh.
	Past bool
}

// Problems asks what is wrong in files, which become open in the server as they are given.
// Found has an entry, perhaps empty, for each file about which the server answered for this
// very version; the others were not checked in time.
func (c *Client) Problems(ctx context.Context, files []Source) (found map[string][]Problem, err error) {
	texts := map[string]position.Text{}
	var paths []string
	for _, f := range files {
		text, ok := position.Of(f.Data)
		if !ok || len(f.Data) > maxText {
			continue
		}
		if err := c.open(f); err != nil {
			return nil, err
		}
		texts[f.Path] = text
		paths = append(paths, f.Path)
	}
	if !c.settled(ctx) {
		return nil, ErrLate
	}
	c.mu.Lock()
	way := c.server.Way
	if way == "" && (wire.Has(c.can.Diagnostic) || c.asked["textDocument/diagnostic"]) {
		way = Pull
	}
	c.mu.Unlock()
	var said map[string][]wire.Diagnostic
	switch way {
	case Pull:
		said, err = c.pull(ctx, paths)
	case TSServer:
		said, err = c.tsserver(ctx, paths)
	default:
		said, err = c.wait(ctx, paths, texts)
	}
	found = make(map[string][]Problem, len(said))
	for path, list := range said {
		found[path] = problems(path, list, texts[path], c.Encoding())
	}
	return found, err
}

// problems are the errors among diagnostics.
func problems(path string, list []wire.Diagnostic, text position.Text, e position.Encoding) []Problem {
	found := []Problem{}
	for _, d := range list {
		if d.Severity > wire.Error || len(found) == maxProblems {
			continue
		}
		p := Problem{Path: path, Line: int(min(d.Range.Start.Line, 1<<30)) + 1, Column: 1, Message: clip(d.Message)}
		if offset, ok := text.Offset(d.Range.Start, e); ok {
			p.Column = int(text.At(offset, position.UTF32).Character) + 1
		}
		var word string
		var number json.Number
		switch {
		case json.Unmarshal(d.Code, &word) == nil:
			p.Code = clip(word)
		case json.Unmarshal(d.Code, &number) == nil:
			p.Code = number.String()
		}
		found = append(found, p)
	}
	return found
}

func clip(s string) string { return s[:min(len(s), maxWords)] }

// abreast is how many questions are under way at the same time.
const abreast = 8

// each asks about each file, several at a time, until ctx is done.
func each[T any](ctx context.Context, paths []string, ask func(path string) (jsonrpc2.Waiter, error),
	take func(path string, answer T, err error) (again bool)) error {
	type question struct {
		path string
		w    jsonrpc2.Waiter
	}
	var under []question
	for len(paths)+len(under) > 0 {
		for len(paths) > 0 && len(under) < abreast {
			w, err := ask(paths[0])
			if err != nil {
				return err
			}
			under, paths = append(under, question{paths[0], w}), paths[1:]
		}
		var answer T
		q := under[0]
		under = under[1:]
		err := q.w.Wait(ctx, &answer)
		if ctx.Err() != nil || errors.Is(err, jsonrpc2.ErrClosed) {
			return err
		}
		if take(q.path, answer, err) {
			paths = append(paths, q.path)
		}
	}
	return nil
}

// The answers of a server whose files changed while it worked.
const (
	contentModified = -32801
	serverCancelled = -32802
)

// pull asks for the diagnostics of files. The server gets messages in their order, so that
// an answer is about the versions that were told before.
func (c *Client) pull(ctx context.Context, paths []string) (map[string][]wire.Diagnostic, error) {
	said := map[string][]wire.Diagnostic{}
	err := each(ctx, paths, func(path string) (jsonrpc2.Waiter, error) {
		return c.conn.DispatchCall(ctx, "textDocument/diagnostic",
			wire.Object{"textDocument": wire.Document{URI: uriOf(path)}})
	}, func(path string, r wire.Report, err error) bool {
		var refused *jsonrpc2.Error
		switch {
		case errors.As(err, &refused) && (refused.Code == contentModified || refused.Code == serverCancelled):
			pause(ctx)
			return true
		case err == nil && r.Kind != "unchanged":
			said[path] = r.Items
		}
		return false
	})
	return said, c.because(ctx, err)
}

// pause gives a server that is not ready a moment.
func pause(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// tsserver asks tsserver itself, through typescript-language-server: what that sends by
// itself names no versions.
func (c *Client) tsserver(ctx context.Context, paths []string) (map[string][]wire.Diagnostic, error) {
	type place struct{ Line, Offset uint32 }
	type answer struct {
		Body []struct {
			Start, End place
			Text       string
			Category   string
			Code       json.RawMessage
		}
	}
	said, halves := map[string][]wire.Diagnostic{}, map[string]int{}
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		err := each(ctx, paths, func(path string) (jsonrpc2.Waiter, error) {
			return c.conn.DispatchCall(ctx, "workspace/executeCommand", wire.Object{"command": "typescript.tsserverRequest",
				"arguments": []any{command, wire.Object{"file": path}}})
		}, func(path string, a answer, err error) bool {
			if err != nil {
				return false
			}
			halves[path]++
			for _, d := range a.Body {
				if d.Category != "error" {
					continue
				}
				at := position.Position{Line: max(d.Start.Line, 1) - 1, Character: max(d.Start.Offset, 1) - 1}
				said[path] = append(said[path], wire.Diagnostic{Range: position.Range{Start: at, End: at}, Severity: wire.Error,
					Code: d.Code, Message: d.Text})
			}
			return false
		})
		if err != nil {
			return nil, c.because(ctx, err)
		}
	}
	for _, path := range paths {
		if halves[path] < 2 {
			delete(said, path)
		} else if said[path] == nil {
			said[path] = []wire.Diagnostic{}
		}
	}
	return said, nil
}

// wait takes what the server sends by itself, and only words about the newest version count.
// Each file gets a new one after all of them were told: what the server says then knows them all.
func (c *Client) wait(ctx context.Context, paths []string,
	texts map[string]position.Text) (map[string][]wire.Diagnostic, error) {
	for _, path := range paths {
		if d := c.docs[path]; d != nil {
			if err := c.change(path, d, texts[path]); err != nil {
				return nil, err
			}
		}
	}
	said := map[string][]wire.Diagnostic{}
	all := c.await(ctx, func() bool {
		for _, path := range paths {
			d, p := c.docs[path], c.pushed[path]
			if d != nil && p.Version != nil && *p.Version == d.version {
				said[path] = p.Diagnostics
			}
		}
		return len(said) == len(paths)
	})
	if !all {
		return said, ErrLate
	}
	return said, nil
}
