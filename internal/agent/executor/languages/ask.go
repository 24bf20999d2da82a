package languages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/code"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
	"kerf/internal/work/langserver"
	"kerf/internal/work/langserver/position"
)

// Ask answers a question about code. Refusals are *tool.Errors.
func (s *Servers) Ask(ctx context.Context, env tool.Env, q code.Question) (code.Answer, error) {
	if q.Kind == code.Find {
		return s.find(ctx, env, q)
	}
	path := real(q.Path)
	server, root, ok := s.pool.For(path)
	if !ok {
		return code.Answer{}, tool.Refuse(tool.NotFound, "there is no language server for %s. Use grep", s.short(q.Path))
	}
	answer := code.Answer{Server: server.Name}
	l, err := s.lease(ctx, Project{server, root}, true)
	if err == nil {
		defer l.end()
		err = s.ask(l, env, langserver.Source{Path: path, Data: q.Image.Data}, q, &answer)
		s.judge(l, err)
	}
	return answer, refusal(server.Name, err)
}

// real is the path without links, as servers are told it. Of one that is not there it is that
// of the nearest directory that is.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(real(dir), filepath.Base(path))
	}
	return path
}

// refusal is an error as models read it.
func refusal(name string, err error) error {
	var refused *tool.Error
	var said *langserver.SaidError
	switch {
	case err == nil, errors.As(err, &refused):
		return err
	case errors.Is(err, langserver.ErrLate):
		return tool.Refuse(tool.NotFound, "the language server %s did not answer in time; it may be reading the project. "+
			"Ask again later, or use grep", name)
	case errors.As(err, &said):
		return tool.Refuse(tool.NotFound, "the language server %s says: %s", name, visible.OneLine(said.Message, maxWords))
	}
	return tool.Refuse(tool.NotFound, "the language server %s does not answer: %s. Use grep", name,
		visible.OneLine(err.Error(), maxWords))
}

func (s *Servers) ask(l *lease, env tool.Env, f langserver.Source, q code.Question, a *code.Answer) (err error) {
	var places []langserver.Place
	switch q.Kind {
	case code.Outline:
		symbols, err := l.Outline(l.ctx, f)
		a.Symbols = s.symbols(env, l, symbols)
		return err
	case code.Definition:
		places, err = l.Definition(l.ctx, f, q.Offset)
	case code.References:
		places, err = l.References(l.ctx, f, q.Offset)
	case code.Rename:
		return s.rename(l, env, f, q, a)
	}
	texts := texts{env: env, read: map[string]*position.Text{}}
	for _, p := range places {
		a.Places = append(a.Places, texts.place(p, l.Encoding()))
	}
	order.Stably(a.Places, func(x, y code.Place) int {
		if x.Path != y.Path {
			if x.Path < y.Path {
				return -1
			}
			return 1
		}
		return x.Line - y.Line
	})
	return err
}

// find asks the servers of all languages that are here.
func (s *Servers) find(ctx context.Context, env tool.Env, q code.Question) (code.Answer, error) {
	var answer code.Answer
	var last error
	for _, p := range s.o.Present(ctx) {
		l, err := s.lease(ctx, p, true)
		if err == nil {
			var symbols []langserver.Symbol
			symbols, err = l.Find(l.ctx, q.Query)
			answer.Symbols = append(answer.Symbols, s.symbols(env, l, symbols)...)
			s.judge(l, err)
			l.end()
		}
		if err != nil {
			last = refusal(p.Server.Name, err)
			answer.Late = last.Error()
			continue
		}
		answer.Server = p.Server.Name
	}
	if answer.Server == "" && last != nil {
		return answer, last
	}
	return answer, nil
}

// texts reads the lines of places, each file once.
type texts struct {
	env  tool.Env
	read map[string]*position.Text
}

func (t texts) of(path string) *position.Text {
	if x, ok := t.read[path]; ok {
		return x
	}
	t.read[path] = nil
	if len(t.read) > maxSameNames {
		return nil
	}
	if _, err := t.env.Resolve(path); err != nil {
		return nil // the file tools do not read it either
	}
	if img, _, err := t.env.Read(path); err == nil && img != nil {
		if x, ok := position.Of(img.Data); ok {
			t.read[path] = &x
		}
	}
	return t.read[path]
}

// place is a place in numbers that people count.
func (t texts) place(p langserver.Place, e position.Encoding) code.Place {
	c := code.Place{Path: p.Path, Line: int(min(p.Range.Start.Line, 1<<30)) + 1, Column: int(min(p.Range.Start.Character, 1<<30)) + 1}
	if x := t.of(p.Path); x != nil {
		line, _ := x.Line(c.Line - 1)
		c.Text = string(bytes.TrimSpace(line))
		if at, ok := x.Offset(p.Range.Start, e); ok {
			c.Column = int(x.At(at, position.UTF32).Character) + 1
		}
	}
	return c
}

func (s *Servers) symbols(env tool.Env, l *lease, list []langserver.Symbol) []code.Symbol {
	var symbols []code.Symbol
	texts := texts{env: env, read: map[string]*position.Text{}}
	for _, y := range list {
		if texts.of(y.Place.Path) == nil {
			continue // not of the workspace
		}
		symbols = append(symbols, code.Symbol{Name: y.Name, Kind: y.Kind, Container: y.Container, Depth: y.Depth,
			Place: texts.place(y.Place, l.Encoding()), Last: int(min(y.Whole.End.Line, 1<<30)) + 1})
	}
	return symbols
}

// rename works a rename out. The server is asked which files it would change; it is told what
// these hold now, and asked again: its edits are then about the very images that the change
// is made of, and whoever writes one of the files meanwhile makes the change fail.
func (s *Servers) rename(l *lease, env tool.Env, f langserver.Source, q code.Question, a *code.Answer) error {
	edits, err := l.Rename(l.ctx, f, q.Offset, q.Name)
	for range 3 {
		if err != nil {
			return renameRefusal(l.Name(), err)
		}
		var images map[string]*delta.Image
		if images, err = s.images(env, edits); err != nil {
			return err
		}
		if images[f.Path] != nil && !bytes.Equal(images[f.Path].Data, f.Data) {
			return tool.Refuse(tool.VersionMismatch, "%s changed while the rename was worked out. Ask again", s.short(f.Path))
		}
		var files []langserver.Source
		for _, path := range langserver.Paths(edits) {
			files = append(files, langserver.Source{Path: path, Data: images[path].Data})
		}
		if err := l.Tell(files); err != nil {
			return err
		}
		before := langserver.Paths(edits)
		if edits, err = l.Rename(l.ctx, f, q.Offset, q.Name); err == nil && slices.Equal(before, langserver.Paths(edits)) {
			return s.changes(l, images, edits, a)
		}
	}
	return tool.Refuse(tool.VersionMismatch, "the files change faster than the language server %s answers. "+
		"Nothing was written. Ask again", l.Name())
}

// images reads the files of edits, all of which must be in the workspace.
func (s *Servers) images(env tool.Env, edits map[string][]position.Edit) (map[string]*delta.Image, error) {
	if len(edits) > langserver.Room-1 {
		return nil, tool.Refuse(tool.TooLarge, "the rename would change %d files; at most %d are changed at once", len(edits),
			langserver.Room-1)
	}
	images := map[string]*delta.Image{}
	for _, path := range langserver.Paths(edits) {
		if _, err := env.Resolve(path); err != nil {
			return nil, err
		}
		img, _, err := env.Read(path)
		switch {
		case err != nil:
			return nil, err
		case img == nil:
			return nil, tool.Refuse(tool.NotFound, "the rename would change %s, which does not exist", s.short(path))
		}
		images[path] = img
	}
	return images, nil
}

// changes makes a set of edits.
func (s *Servers) changes(l *lease, images map[string]*delta.Image, edits map[string][]position.Edit,
	a *code.Answer) error {
	for _, path := range langserver.Paths(edits) {
		img := images[path]
		text, ok := position.Of(img.Data)
		if !ok {
			return tool.Refuse(tool.EncodingError, "the rename would change %s, which is not UTF-8. Nothing was written",
				s.short(path))
		}
		data, ok := text.Apply(edits[path], l.Encoding())
		if !ok {
			return tool.Refuse(tool.PatchFailed, "the edits that the language server %s wants in %s overlap, or lie outside "+
				"of it. Nothing was written", l.Name(), s.short(path))
		}
		if bytes.Equal(data, img.Data) {
			continue
		}
		a.Edits += len(edits[path])
		a.Changes = append(a.Changes, delta.Change{Path: filepath.ToSlash(path), Pre: img,
			Post: delta.NewFile(data, img.Mode)})
	}
	return nil
}

func renameRefusal(name string, err error) error {
	var moves *langserver.MovesError
	if errors.As(err, &moves) {
		return tool.Refuse(tool.Denied, "%s wants more than edits: %s. Nothing was written. Edit the files, and move them "+
			"with exec_command", name, visible.OneLine(fmt.Sprint(moves), maxWords))
	}
	return err
}
