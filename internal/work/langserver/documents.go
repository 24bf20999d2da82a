package langserver

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/text/order"
	"kerf/internal/work/langserver/position"
	"kerf/internal/work/langserver/wire"
)

// stamp is what tells that a file changed without reading it.
type stamp struct {
	size  int64
	mtime time.Time
	mode  os.FileMode
}

func stampOf(path string) (stamp, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	return stamp{info.Size(), info.ModTime(), info.Mode()}, true
}

// maxText is the largest file that a server is told of.
const maxText = 4 << 20

// open tells the server what a file holds: a new version where that is not what it knows.
func (c *Client) open(f Source) error {
	path, data := f.Path, f.Data
	text, ok := position.Of(data)
	if !ok || len(data) > maxText {
		return ErrNotText
	}
	c.uses++
	sum, d := sha256.Sum256(data), c.docs[path]
	var at stamp // no file has it
	if !f.Past {
		at, _ = stampOf(path)
	}
	switch {
	case d == nil:
		c.makeRoom()
		d = &document{version: 1}
		c.docs[path] = d
		c.mu.Lock()
		c.pushed[path] = wire.Published{}
		c.mu.Unlock()
		if err := c.notify("textDocument/didOpen", wire.Object{"textDocument": wire.Item{URI: uriOf(path),
			Language: c.server.language(path), Version: d.version, Text: text.Told()}}); err != nil {
			return err
		}
	case d.sum != sum:
		if err := c.change(path, d, text); err != nil {
			return err
		}
	}
	d.sum, d.stamp, d.used = sum, at, c.uses
	return nil
}

// change tells a new version, and that it is what lies on the disk. clangd would not look
// again at what did not change, and so not at a header of it, without being told to.
func (c *Client) change(path string, d *document, text position.Text) error {
	d.version++
	doc := wire.Document{URI: uriOf(path), Version: d.version}
	if err := c.notify("textDocument/didChange", wire.Object{"textDocument": doc,
		"contentChanges": []wire.Object{{"text": text.Told()}}, "wantDiagnostics": true, "forceRebuild": true}); err != nil {
		return err
	}
	return c.notify("textDocument/didSave", wire.Object{"textDocument": wire.Document{URI: doc.URI}})
}

// close has the server look at the disk again.
func (c *Client) close(path string) error {
	if c.docs[path] == nil {
		return nil
	}
	delete(c.docs, path)
	c.mu.Lock()
	delete(c.pushed, path)
	c.mu.Unlock()
	return c.notify("textDocument/didClose", wire.Object{"textDocument": wire.Document{URI: uriOf(path)}})
}

// makeRoom closes the files that were not asked about for the longest time.
func (c *Client) makeRoom() {
	if len(c.docs) < maxOpen {
		return
	}
	var paths []string
	for p := range c.docs {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int { return c.docs[a].used - c.docs[b].used })
	for _, p := range paths[:len(paths)/4] {
		_ = c.close(p)
	}
}

// look notes which files there are, and returns those that came, changed or went since the
// last look.
func look(ctx context.Context, seen map[string]stamp, paths []string) (now map[string]stamp, events []wire.Event) {
	now = make(map[string]stamp, len(paths))
	for _, p := range paths {
		if ctx.Err() != nil {
			return seen, nil
		}
		p = filepath.FromSlash(p)
		at, ok := stampOf(p)
		if !ok {
			continue
		}
		now[p] = at
		if before, was := seen[p]; !was {
			events = append(events, wire.Event{URI: uriOf(p), Type: wire.Created})
		} else if before != at {
			events = append(events, wire.Event{URI: uriOf(p), Type: wire.Changed})
		}
	}
	for p := range seen {
		if _, is := now[p]; !is {
			events = append(events, wire.Event{URI: uriOf(p), Type: wire.Deleted})
		}
	}
	order.By(events, func(a, b wire.Event) int { return strings.Compare(a.URI, b.URI) })
	return now, events
}

// Refresh tells the server what anybody changed since it was told last. List names the files
// of the project, read reads one as the caller sees it.
func (c *Client) Refresh(ctx context.Context, list func(context.Context) []string,
	read func(string) ([]byte, error)) error {
	now, events := look(ctx, c.seen, list(ctx))
	c.seen = now
	for path, d := range c.docs {
		at, there := stampOf(path)
		if there && at == d.stamp {
			continue
		}
		data, err := read(path)
		if err == nil && there {
			err = c.open(Source{Path: path, Data: data})
		}
		if err != nil || !there {
			if err := c.close(path); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	return c.notify("workspace/didChangeWatchedFiles", wire.Object{"changes": events})
}
