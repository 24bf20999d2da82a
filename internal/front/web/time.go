package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/front/tui/syntax"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
)

// momentRows is how many files of one kind a page of a moment lists.
const momentRows = 200

// momentName is a file or directory at a moment. State is what had become of it.
type momentName struct {
	Name, URL, State string
	Here             bool
}

// momentList is a part of a list of them, and how to see the rest.
type momentList struct {
	Rows         []momentName
	Count, From  int
	Before, Next string
}

type timePage struct {
	Info             protocol.SessionInfo
	Root, Path, Name string
	Dir, Find        string // which part of the tree is listed
	From             string
	Moments          []Entry
	At               int
	Entry            *Entry
	Changed, Tree    momentList
	Above            []momentName
	Note             string
	Lines            []markup.HTML
	Cut              int
	Damage           damageView

	here  string
	touch map[string]*touched
}

// overTime shows files as they were at one of the moments of a session.
func (s *Server) overTime(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	info, err := s.o.Data.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	p := timePage{Info: info, Path: q.Get("path"), Dir: strings.Trim(q.Get("dir"), "/"), Find: q.Get("find"),
		From: q.Get("from"), here: r.URL.Path}
	from, err := query.Number(q, "from")
	if err != nil {
		return err
	}
	if p.Root, p.Moments, err = s.o.Data.Moments(r.Context(), string(info.ID)); err != nil {
		return err
	}
	p.At = len(p.Moments)
	if q.Get("at") != "" {
		if p.At, err = query.Number(q, "at"); err != nil {
			return err
		}
		p.At = min(p.At, len(p.Moments))
	}
	if p.At > 0 {
		e := p.Moments[p.At-1]
		e.Prompt = s.o.Data.Prompt(r.Context(), e.Session, e.Turn)
		p.Entry = &e
	}
	p.touch = touchedBy(p.Moments, p.At)
	present, err := s.o.Data.Find(r.Context(), p.Root, "", 0)
	if err != nil {
		return err
	}
	p.list(present, from)
	if err := s.file(r, &p); err != nil {
		return err
	}
	if q.Get("part") != "" {
		return s.part(w, "moment", p)
	}
	if p.Damage, err = s.whole(r, p.Root); err != nil {
		return err
	}
	return s.render(w, r, "time", "Files over time", p)
}

// file adds the file that a page shows.
func (s *Server) file(r *http.Request, p *timePage) error {
	if p.Path == "" || len(p.Moments) == 0 {
		p.Path = ""
		return nil
	}
	p.Path = absolute(p.Root, p.Path)
	if p.Name = below(p.Root, p.Path); p.Name == p.Path {
		return fmt.Errorf("%w: %s is outside of the workspace", ErrNotFound, visible.Line(p.Path))
	}
	seq := p.Moments[0].Seq - 1
	if p.Entry != nil {
		seq = p.Entry.Seq
	}
	c, err := s.o.Data.FileAt(r.Context(), p.Root, p.Path, seq)
	if err != nil { // it is there, and no file that can be shown
		p.Note = err.Error()
		return nil
	}
	p.show(c)
	return nil
}

// touched is a path that the moments tell of: whether it was there at one of them, and what
// had become of it.
type touched struct {
	there bool
	state string
}

// touchedBy are the paths that moments tell of, as they were behind the first so many.
func touchedBy(moments []Entry, at int) map[string]*touched {
	all := map[string]*touched{}
	for i, e := range moments {
		for _, c := range e.Changes {
			if strings.HasSuffix(c.Path, "/") { // a directory whose mode changed
				continue
			}
			t := all[c.Path]
			if t == nil {
				t = &touched{there: c.Operation != "created"}
				if !t.there {
					t.state = "not there yet"
				}
				all[c.Path] = t
			}
			if i >= at {
				continue
			}
			t.there, t.state = c.Operation != "deleted", ""
			switch {
			case !t.there:
				t.state = "gone"
			case i == at-1:
				t.state = c.Operation + " now"
			}
		}
	}
	return all
}

// link is the address of this page with other values.
func (p *timePage) link(pairs ...string) string {
	q := url.Values{}
	for _, v := range [][2]string{{"at", strconv.Itoa(p.At)}, {"path", p.Path}, {"dir", p.Dir}, {"find", p.Find}} {
		if v[1] != "" {
			q.Set(v[0], v[1])
		}
	}
	return query.With(p.here, q, pairs...)
}

// list names the files that the moments tell of, and those of a directory, or those whose
// paths have some letters, of the tree as it was.
func (p *timePage) list(present []string, from int) {
	for path, t := range p.touch {
		name := below(p.Root, path)
		if strings.Contains(name, p.Find) {
			p.Changed.Rows = append(p.Changed.Rows, momentName{Name: name, State: t.state, URL: p.link("path", path),
				Here: path == absolute(p.Root, p.Path)})
		}
	}
	order.By(p.Changed.Rows, func(a, b momentName) int { return cmp.Compare(a.Name, b.Name) })
	p.Changed.Count = len(p.Changed.Rows)
	p.Changed.Rows = p.Changed.Rows[:min(momentRows, p.Changed.Count)]
	p.Tree.Rows = p.named(p.tree(present))
	p.Tree.Count, p.Tree.From = len(p.Tree.Rows), min(from, len(p.Tree.Rows))
	end := min(p.Tree.From+momentRows, p.Tree.Count)
	if p.Tree.From > 0 {
		p.Tree.Before = p.link("from", strconv.Itoa(max(0, p.Tree.From-momentRows)))
	}
	if end < p.Tree.Count {
		p.Tree.Next = p.link("from", strconv.Itoa(end))
	}
	p.Tree.Rows = p.Tree.Rows[p.Tree.From:end]
	p.Above = append(p.Above, momentName{Name: "all", URL: p.link("dir", "", "find", "")})
	for i, c := range p.Dir + "/" {
		if c == '/' && i > 0 {
			p.Above = append(p.Above, momentName{Name: path.Base(p.Dir[:i]), URL: p.link("dir", p.Dir[:i], "find", "")})
		}
	}
}

// tree are the files at the moment, relative to the root: those that are there now and came
// before, and those that went since.
func (p *timePage) tree(present []string) []string {
	var all []string
	for _, f := range present {
		if p.touch[absolute(p.Root, f)] == nil {
			all = append(all, f)
		}
	}
	for f, t := range p.touch {
		if t.there {
			all = append(all, below(p.Root, f))
		}
	}
	slices.Sort(all)
	return all
}

// named are the rows for the part of a tree that is listed: directories first.
func (p *timePage) named(tree []string) []momentName {
	var dirs, files []momentName
	prefix := ""
	if p.Dir != "" && p.Find == "" {
		prefix = p.Dir + "/"
	}
	for _, f := range tree {
		rest, inside := strings.CutPrefix(f, prefix)
		if !inside || !strings.Contains(f, p.Find) {
			continue
		}
		if d, _, deep := strings.Cut(rest, "/"); deep && p.Find == "" {
			if len(dirs) == 0 || dirs[len(dirs)-1].Name != d+"/" {
				dirs = append(dirs, momentName{Name: d + "/", URL: p.link("dir", prefix+d)})
			}
			continue
		}
		row := momentName{Name: rest, URL: p.link("path", absolute(p.Root, f)),
			Here: p.Path != "" && f == below(p.Root, p.Path)}
		if t := p.touch[absolute(p.Root, f)]; t != nil {
			row.State = cmp.Or(t.state, "changed")
		}
		files = append(files, row)
	}
	return append(dirs, files...)
}

func (p *timePage) show(c Content) {
	p.Note = c.Note
	switch {
	case p.Note == "" && !c.There:
		p.Note = "There was no such file at this moment."
	case bytes.IndexByte(c.Bytes, 0) >= 0:
		p.Note = strings.TrimSpace(fmt.Sprintf("It is no text: %d bytes. %s", len(c.Bytes), p.Note))
		return
	case c.Known && len(c.Bytes) == 0:
		p.Note = strings.TrimSpace("It was empty. " + p.Note)
	}
	p.Lines, p.Cut = coloured(syntax.ForFile(p.Path), c.Bytes)
}

// coloured are the first lines of a file, and how many more it has.
func coloured(lexer *syntax.Lexer, content []byte) (lines []markup.HTML, more int) {
	all := splitLines(content)
	for _, l := range all[:min(maxLines, len(all))] {
		lines = append(lines, render.Line(lexer, l))
	}
	return lines, len(all) - len(lines)
}
