package web

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/front/tui/syntax"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
	"kerf/internal/pathname"
	"kerf/internal/text/visible"
)

const (
	foundFiles     = 50 // that are offered where none is named
	entriesPerPage = 100
	maxBlame       = 2000 // lines on a page
)

// below is a path below root without it.
func below(root, p string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/"); ok {
		return rest
	}
	return p
}

func splitLines(content []byte) []string {
	if len(content) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(content, []byte("\n"))), "\n")
}

// root is the workspace that a request names, which must be a known one; the own one if it
// names none.
func (s *Server) root(r *http.Request) (string, []string, error) {
	all, err := s.o.Data.Workspaces(r.Context())
	if err != nil {
		return "", nil, err
	}
	want := r.FormValue("root")
	if want == "" && len(all) > 0 {
		return all[0], all, nil
	}
	for _, known := range all {
		if want == known {
			return known, all, nil
		}
	}
	// A session may have worked below the root of a workspace.
	for _, known := range all {
		if pathname.Inside(known, path.Clean(want)) {
			return known, all, nil
		}
	}
	return "", all, fmt.Errorf("%w: Kerf has no history of %s", ErrNotFound, visible.Line(want))
}

// damageView tells in what a history differs from what was written. Again is asked for to tell it anew.
type damageView struct {
	Damage
	Root, Again string
}

// whole looks whether the history of a workspace is what was written.
func (s *Server) whole(r *http.Request, root string) (damageView, error) {
	d, err := s.o.Data.Damage(r.Context(), root)
	return damageView{d, root, query.With("/damage", nil, "root", root)}, err
}

func (s *Server) damage(w http.ResponseWriter, r *http.Request) error {
	root, _, err := s.root(r)
	if err != nil {
		return err
	}
	d, err := s.whole(r, root)
	if err != nil {
		return err
	}
	return s.part(w, "damaged", d)
}

type entryView struct {
	Entry
	URL, UndoURL string
	Root         string
}

// view draws an entry; its paths stand below root.
func view(root string, e Entry) entryView {
	v := entryView{Entry: e, Root: root, URL: query.With("/changes/"+strconv.FormatInt(e.Seq, 10), nil, "root", root)}
	v.UndoURL = query.With("/undo", nil, "root", root, "entry", strconv.FormatInt(e.Seq, 10))
	v.Changes = slices.Clone(e.Changes)
	for i, c := range v.Changes {
		v.Changes[i].Path = below(root, c.Path)
		if c.From != "" {
			v.Changes[i].From = below(root, c.From)
		}
	}
	v.Directories, v.Removed = slices.Clone(e.Directories), slices.Clone(e.Removed)
	for _, list := range [][]string{v.Directories, v.Removed} {
		for i, d := range list {
			list[i] = below(root, d)
		}
	}
	return v
}

type changesPage struct {
	Root, Cause, Path, Session string
	Roots, Causes              []string
	Rows                       []entryView
	More                       string
	Damage                     damageView
}

func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	root, all, err := s.root(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	p := changesPage{Root: root, Roots: all, Cause: q.Get("cause"), Path: q.Get("path"), Session: q.Get("session"),
		Causes: []string{"tool", "command", "outside", "undo", "redo"}}
	before, err := query.Number(q, "before")
	if err != nil {
		return err
	}
	want := LogQuery{Cause: p.Cause, Session: p.Session, Before: int64(before), Limit: entriesPerPage}
	if p.Path != "" {
		want.Path = absolute(root, p.Path)
	}
	list, more, err := s.o.Data.Log(r.Context(), root, want)
	if err != nil {
		return err
	}
	if p.Damage, err = s.whole(r, root); err != nil {
		return err
	}
	for _, e := range list {
		p.Rows = append(p.Rows, view(root, e))
	}
	if more && len(list) > 0 {
		p.More = query.With("/changes", q, "before", strconv.FormatInt(list[len(list)-1].Seq, 10))
	}
	return s.render(w, r, "changes", "Changes", p)
}

// absolute is a path that the user gave, below root.
func absolute(root, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(root, p)
}

type changePage struct {
	diffPage
	Entry  entryView
	Edits  string // where single edits are chosen, if there are any
	Damage damageView
}

// entry is the change that a request names.
func (s *Server) entry(r *http.Request) (root string, e Entry, err error) {
	if root, _, err = s.root(r); err != nil {
		return "", Entry{}, err
	}
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil {
		return "", Entry{}, query.Misuse(r.PathValue("seq") + ": give the number of a change")
	}
	e, err = s.o.Data.Entry(r.Context(), root, seq)
	return root, e, err
}

func (s *Server) change(w http.ResponseWriter, r *http.Request) error {
	root, e, err := s.entry(r)
	if err != nil {
		return err
	}
	d, err := s.diffs.Get(fmt.Sprintf("%s#%d", root, e.Seq), func() (string, error) { return e.Diff, nil })
	if err != nil {
		return err
	}
	p := changePage{Entry: view(root, e)}
	if done, err := s.diff(w, r, d, &p.diffPage); done || err != nil {
		return err
	}
	files, err := s.o.Data.Edits(r.Context(), root, e.Seq)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		p.Edits = query.With(r.URL.Path+"/edits", nil, "root", root)
	}
	if p.Damage, err = s.whole(r, root); err != nil {
		return err
	}
	return s.render(w, r, "change", fmt.Sprintf("Change #%d", e.Seq), p)
}

type blameRow struct {
	BlameLine
	HTML  markup.HTML
	First bool // the first line of those of one origin
}

type blamePage struct {
	Root, Name, Problem string
	Changes             string // of a file that is no text
	Roots, Found        []string
	Lines               []blameRow
	Cut                 int
	Next                string
	From                int
	Damage              damageView
}

func (s *Server) blame(w http.ResponseWriter, r *http.Request) error {
	root, all, err := s.root(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	p := blamePage{Root: root, Roots: all, Name: q.Get("path")}
	from, err := query.Number(q, "from")
	if err != nil {
		return err
	}
	if p.Damage, err = s.whole(r, root); err != nil {
		return err
	}
	if p.Name == "" {
		if p.Found, err = s.o.Data.Find(r.Context(), root, "", foundFiles); err != nil {
			return err
		}
		if len(p.Found) == 0 {
			p.Problem = "No file is there."
		}
		return s.render(w, r, "blame", "Blame", p)
	}
	file := absolute(root, p.Name)
	p.Name = below(root, file)
	lines, err := s.o.Data.Blame(r.Context(), root, file)
	if err != nil {
		p.Problem = err.Error()
		p.Found, _ = s.o.Data.Find(r.Context(), root, p.Name, foundFiles)
		return s.render(w, r, "blame", "Blame", p)
	}
	if slices.ContainsFunc(lines, func(l BlameLine) bool { return strings.IndexByte(l.Text, 0) >= 0 }) {
		p.Problem = "It is no text: its lines tell nothing. Its changes do."
		p.Changes = query.With("/changes", nil, "root", root, "path", file)
		return s.render(w, r, "blame", "Blame", p)
	}
	lexer, last := syntax.ForFile(file), BlameLine{Seq: -1}
	for i, l := range lines {
		if i < from {
			continue
		}
		if i == from+maxBlame {
			p.Cut, p.From = len(lines)-i, i+1
			p.Next = query.With("/blame", q, "from", strconv.Itoa(i))
			break
		}
		first := l.Seq != last.Seq || l.Root != last.Root || l.Origin != last.Origin
		p.Lines = append(p.Lines, blameRow{l, render.Line(lexer, l.Text), first})
		last = l
	}
	if len(lines) == 0 {
		p.Problem = "The file is empty."
	}
	return s.render(w, r, "blame", "Blame of "+p.Name, p)
}
