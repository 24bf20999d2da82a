package langserver

import (
	"context"
	"fmt"
	"slices"

	"kerf/internal/work/langserver/position"
	"kerf/internal/work/langserver/wire"
)

// The bounds of answers.
const (
	maxPlaces  = 2000
	maxSymbols = 2000
	maxEdited  = 5000 // files
)

// Place is a passage of a file, as the server counts.
type Place struct {
	Path  string
	Range position.Range
}

// Symbol is something that has a name.
type Symbol struct {
	Name, Kind, Container string
	Place                 Place
	Whole                 position.Range // with its body
	Depth                 int
}

// at is a place for the wire.
func (c *Client) at(f Source, offset int) (wire.At, error) {
	text, ok := position.Of(f.Data)
	if !ok {
		return wire.At{}, ErrNotText
	}
	err := c.open(f)
	return wire.At{Document: wire.Document{URI: uriOf(f.Path)}, Position: text.At(offset, c.Encoding())}, err
}

// Definition says where what stands at an offset of a file is defined.
func (c *Client) Definition(ctx context.Context, f Source, offset int) ([]Place, error) {
	return c.places(ctx, c.can.Definition, "textDocument/definition", f, offset, false)
}

// References says where it is named, its definition among them.
func (c *Client) References(ctx context.Context, f Source, offset int) ([]Place, error) {
	return c.places(ctx, c.can.References, "textDocument/references", f, offset, true)
}

func (c *Client) places(ctx context.Context, can []byte, method string, f Source, offset int,
	all bool) ([]Place, error) {
	if !wire.Has(can) {
		return nil, ErrUnable
	}
	at, err := c.at(f, offset)
	if err != nil {
		return nil, err
	}
	if !c.settled(ctx) {
		return nil, ErrLate
	}
	params := wire.Object{"textDocument": at.Document, "position": at.Position}
	if all {
		params["context"] = wire.Object{"includeDeclaration": true}
	}
	var answer wire.Locations
	if err := c.call(ctx, method, params, &answer); err != nil {
		return nil, err
	}
	var places []Place
	for _, l := range answer[:min(len(answer), maxPlaces)] {
		if path, ok := pathOf(l.URI); ok {
			places = append(places, Place{path, l.Range})
		}
	}
	return places, nil
}

// Outline are the symbols of a file, in their order.
func (c *Client) Outline(ctx context.Context, f Source) ([]Symbol, error) {
	if !wire.Has(c.can.Symbols) {
		return nil, ErrUnable
	}
	at, err := c.at(f, 0)
	if err != nil {
		return nil, err
	}
	if !c.settled(ctx) {
		return nil, ErrLate
	}
	var answer []wire.Symbol
	if err := c.call(ctx, "textDocument/documentSymbol", wire.Object{"textDocument": at.Document}, &answer); err != nil {
		return nil, err
	}
	var list []Symbol
	var add func(symbols []wire.Symbol, in string, depth int)
	add = func(symbols []wire.Symbol, in string, depth int) {
		for _, s := range symbols {
			if len(list) == maxSymbols {
				return
			}
			y := Symbol{Name: clip(s.Name), Kind: s.Word(), Container: in, Place: Place{f.Path, s.Selection}, Whole: s.Range,
				Depth: depth}
			if s.Location != nil {
				y.Place.Range, y.Whole, y.Container = s.Location.Range, s.Location.Range, clip(s.Container)
			}
			list = append(list, y)
			if depth < 8 {
				add(s.Children, y.Name, depth+1)
			}
		}
	}
	add(answer, "", 0)
	return list, nil
}

// Find are the symbols of the project with a name like query.
func (c *Client) Find(ctx context.Context, query string) ([]Symbol, error) {
	if !wire.Has(c.can.Workspace) {
		return nil, ErrUnable
	}
	if !c.settled(ctx) {
		return nil, ErrLate
	}
	var answer []wire.Symbol
	if err := c.call(ctx, "workspace/symbol", wire.Object{"query": query}, &answer); err != nil {
		return nil, err
	}
	var list []Symbol
	for _, s := range answer[:min(len(answer), maxSymbols)] {
		if s.Location == nil {
			continue
		}
		if path, ok := pathOf(s.Location.URI); ok {
			list = append(list, Symbol{Name: clip(s.Name), Kind: s.Word(), Container: clip(s.Container),
				Place: Place{path, s.Location.Range}})
		}
	}
	return list, nil
}

// MovesError says that a server wants files made, moved or removed.
type MovesError struct{ What string }

// Error says what it wants.
func (e *MovesError) Error() string { return "it would " + e.What }

// Rename says which edits of which files give what stands at an offset a new name. They are
// about the files as the server knows them: as they are open, and else as they are on disk.
func (c *Client) Rename(ctx context.Context, f Source, offset int, name string) (map[string][]position.Edit, error) {
	if !wire.Has(c.can.Rename) {
		return nil, ErrUnable
	}
	at, err := c.at(f, offset)
	if err != nil {
		return nil, err
	}
	if !c.settled(ctx) {
		return nil, ErrLate
	}
	var answer wire.Edits
	if err := c.call(ctx, "textDocument/rename", wire.Object{"textDocument": at.Document, "position": at.Position,
		"newName": name}, &answer); err != nil {
		return nil, err
	}
	return c.edits(answer)
}

// edits are those of an answer by path. Of a file that is open they must be about the
// version that the server was told.
func (c *Client) edits(w wire.Edits) (map[string][]position.Edit, error) {
	all := map[string][]position.Edit{}
	add := func(uri string, edits []position.Edit) error {
		path, ok := pathOf(uri)
		if !ok {
			return fmt.Errorf("it wants to edit %s, which is no file here", clip(uri))
		}
		if all[path] = append(all[path], edits...); len(all) > maxEdited {
			return fmt.Errorf("it wants to edit more than %d files", maxEdited)
		}
		return nil
	}
	for _, d := range w.Document {
		switch d.Kind {
		case "":
		case "rename":
			return nil, &MovesError{"move " + clip(d.Old) + " to " + clip(d.New)}
		default:
			return nil, &MovesError{clip(d.Kind) + " " + clip(d.URI)}
		}
		path, _ := pathOf(d.Document.URI)
		if open := c.docs[path]; open != nil && d.Document.Version != 0 && d.Document.Version != open.version {
			return nil, fmt.Errorf("its edits of %s are about another version", path)
		}
		if err := add(d.Document.URI, d.Edits); err != nil {
			return nil, err
		}
	}
	if len(w.Document) > 0 {
		return all, nil // the other form says the same
	}
	for uri, edits := range w.Changes {
		if err := add(uri, edits); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Tell opens files in the server as they are given, so that what it says is about them.
func (c *Client) Tell(files []Source) error {
	for _, f := range files {
		if err := c.open(f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// Room is how many files can be open at the same time.
const Room = maxOpen

// Paths are the files of edits, sorted.
func Paths(edits map[string][]position.Edit) []string {
	var paths []string
	for p := range edits {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}
