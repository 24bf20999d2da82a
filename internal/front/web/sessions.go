package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
)

// The sizes of pages.
// room is about how much of a session is read for a page, and beside for the turns that stand
// around one that was asked for.
var (
	room   = Room{Items: 100, Bytes: 1 << 20}
	beside = Room{Items: 40, Bytes: 256 << 10}
)

const (
	sessionsPerPage = 50
	turnsPerPage    = 10
	windowRows      = 500 // of a diff
	maxLines        = 5000
	// choosing is how long sessions are looked at one by one for those that fit.
	choosing = 150 * time.Millisecond
)

// outcomes are the ways in which turns end.
var outcomes = []string{"completed", "failed", "interrupted"}

type sessionRow struct {
	protocol.SessionInfo
	Ended string
}

// costs are the sums in US dollars by which sessions can be chosen.
var costs = []string{"0.10", "1", "10"}

type sessionsPage struct {
	Query, Dir, Ended string
	Cost              string
	Costs             []string
	Archived          bool
	Dirs, Outcomes    []string
	Live              []LiveSession
	Found             *foundView
	Rows              []sessionRow
	More              string
	Reading           bool // what some sessions cost is not known yet
	// Since is when the last session was made that was looked at, where the others were not for lack
	// of time.
	Since time.Time
}

func (s *Server) sessions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := sessionsPage{Query: q.Get("q"), Dir: q.Get("dir"), Ended: q.Get("ended"), Archived: q.Get("archived") != "",
		Outcomes: outcomes, Cost: q.Get("cost"), Costs: costs}
	least, err := query.Dollars(p.Cost)
	if err != nil {
		return err
	}
	if p.Dirs, err = s.o.Data.Workspaces(r.Context()); err != nil {
		return err
	}
	if p.Live, err = s.running(r.Context()); err != nil {
		s.o.Log("running sessions: " + err.Error())
	}
	after := q.Get("after")
	if p.Query != "" && after == "" {
		if p.Found, err = s.find(r, p.Query); err != nil {
			return err
		}
	}
	for end := time.Now().Add(choosing); len(p.Rows) < sessionsPerPage; {
		list, more, err := s.o.Data.Sessions(r.Context(), SessionQuery{Words: p.Query, Root: p.Dir, Archived: p.Archived,
			After: after, Limit: sessionsPerPage - len(p.Rows)})
		if err != nil {
			return err
		}
		for _, info := range list {
			ended := s.o.Data.Outcome(r.Context(), string(info.ID))
			fits, err := s.costs(r.Context(), string(info.ID), least)
			if errors.Is(err, ErrReading) {
				p.Reading, err = true, nil
			}
			if err != nil {
				return err
			}
			if fits && (p.Ended == "" || p.Ended == ended) {
				p.Rows = append(p.Rows, sessionRow{info, ended})
			}
			after = string(info.ID)
			if late := (least > 0 || p.Ended != "") && time.Now().After(end); late {
				p.Since, p.More = info.Created, query.With("/", q, "after", after)
				return s.render(w, r, "sessions", "Sessions", p)
			}
		}
		if p.More = ""; !more || len(list) == 0 {
			break
		}
		p.More = query.With("/", q, "after", after)
	}
	return s.render(w, r, "sessions", "Sessions", p)
}

// foundView is where words were said. Again is asked for to tell it anew.
type foundView struct {
	Found
	Again, Here string
}

func (s *Server) find(r *http.Request, words string) (*foundView, error) {
	f, err := s.o.Data.Search(r.Context(), words, 20)
	return &foundView{f, query.With("/search", nil, "q", words), r.URL.RequestURI()}, err
}

// found is where words were said, as far as it is known.
func (s *Server) found(w http.ResponseWriter, r *http.Request) error {
	f, err := s.find(r, r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	return s.part(w, "found", f)
}

// costs reports whether a session cost so many dollars at least, as far as prices are known.
func (s *Server) costs(ctx context.Context, id string, least float64) (bool, error) {
	if least == 0 {
		return true, nil
	}
	l, err := s.o.Data.Cost(ctx, id)
	return err == nil && l.Cost >= least, err
}

func (s *Server) cost(w http.ResponseWriter, r *http.Request) error {
	l, err := s.o.Data.Cost(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.part(w, "cost", l)
}

type sessionPage struct {
	Info         protocol.SessionInfo
	Live         bool
	Turns        []turnView
	Split        bool
	Older, Newer string
	Other        string // the page with the diffs in the other way
	Reading      *readingView
	Damage       string
}

// readingView tells how much of a record is read. Again is asked for to tell it anew, and Done is
// the page that has all when that is so.
type readingView struct {
	Reading
	Again, Done string
	Now         bool // a page waits for it
}

// reading is how much of the record of a session is read.
func (s *Server) reading(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p, err := s.read(r, q.Get("to"), q.Get("now") != "")
	if err != nil {
		return err
	}
	return s.part(w, "reading", p)
}

// read looks how much of the record is read that a request is about. When that is enough the
// page to shows all.
func (s *Server) read(r *http.Request, to string, waits bool) (*readingView, error) {
	id := r.PathValue("id")
	p, err := s.o.Data.Reading(r.Context(), id)
	if err != nil {
		return nil, err
	}
	here := "/sessions/" + id
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || u.Path != here && !strings.HasPrefix(u.Path, here+"/") {
		to = here
	}
	again := query.With(here+"/reading", nil, "to", to, "now", map[bool]string{true: "1"}[waits])
	return &readingView{p, again, to, waits}, nil
}

// wait answers a request that needs more of a record than is read: the page shows how much is
// read, and goes on when it is enough.
func (s *Server) wait(w http.ResponseWriter, r *http.Request) error {
	p, err := s.read(r, r.URL.RequestURI(), true)
	if err != nil {
		return err
	}
	if r.Header.Get("Kerf-Part") != "" { // a part of a page: it is asked for again
		return s.part(w, "waiting", p)
	}
	return s.render(w, r, "wait", "Reading the record", p)
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	info, err := s.o.Data.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	p := sessionPage{Info: info, Split: q.Get("view") == "split"}
	view := map[bool]string{true: "split"}[p.Split]
	here := "/sessions/" + string(info.ID)
	skip, err := query.Number(q, "skip")
	if err != nil {
		return err
	}
	if want := q.Get("turn"); want != "" {
		back, err := s.o.Data.Behind(r.Context(), string(info.ID), want)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		skip = back - back%turnsPerPage
	}
	page, err := s.turns(r, string(info.ID), skip)
	if err != nil {
		return err
	}
	if p.Turns = views(info, page.Turns, p.Split); page.Reading {
		if p.Reading, err = s.read(r, r.URL.RequestURI(), false); err != nil {
			return err
		}
	}
	if page.Older {
		p.Older = query.With(here, nil, "view", view, "skip", strconv.Itoa(skip+turnsPerPage))
	}
	if q.Get("part") != "" {
		return s.part(w, "turns", p)
	}
	p.Other = query.With(here, q, "view", map[bool]string{false: "split"}[p.Split])
	if skip > 0 {
		p.Newer = query.With(here, nil, "view", view, "skip", strconv.Itoa(max(0, skip-turnsPerPage)))
	}
	if p.Damage, err = s.damaged(r, string(info.ID)); err != nil {
		return err
	}
	live, _ := s.o.Live.List(r.Context())
	p.Live = slices.ContainsFunc(live, func(l LiveSession) bool { return l.ID == info.ID })
	return s.render(w, r, "session", title(info), p)
}

// damaged tells of lines of a record that cannot be read.
func (s *Server) damaged(r *http.Request, id string) (string, error) {
	read, err := s.o.Data.Reading(r.Context(), id)
	if err != nil || read.Damaged == 0 {
		return "", err
	}
	return fmt.Sprintf("%s of its record cannot be read, the first at byte %d. What they told is missing here. "+
		"kerf verify %s says more.", humanize.Count(read.Damaged, "line"), read.At, id), nil
}

// turns are the turns of a page. With the value before or after it is a part of one turn; with
// a call its turn is cut around that.
func (s *Server) turns(r *http.Request, id string, skip int) (Page, error) {
	q := r.URL.Query()
	before, err := query.Number(q, "before")
	if err != nil {
		return Page{}, err
	}
	after, err := query.Number(q, "after")
	if err != nil {
		return Page{}, err
	}
	turn := q.Get("turn")
	if turn != "" && (before > 0 || after > 0) {
		part, err := s.o.Data.Part(r.Context(), id, turn, Place{Before: int64(before), After: int64(after)}, room)
		return Page{Turns: []Part{part}}, err
	}
	if turn == "" {
		return s.o.Data.Page(r.Context(), id, skip, turnsPerPage, room)
	}
	page, err := s.o.Data.Page(r.Context(), id, skip, turnsPerPage, beside)
	if err != nil {
		return Page{}, err
	}
	for i := range page.Turns { // the turn that was asked for has more than its end
		if string(page.Turns[i].ID) != turn {
			continue
		}
		part, err := s.o.Data.Part(r.Context(), id, turn, Place{Call: q.Get("call")}, room)
		switch {
		case err == nil:
			page.Turns[i] = part
		case !errors.Is(err, ErrNotFound):
			return Page{}, err
		}
		break
	}
	return page, nil
}

// views draws parts of turns, and of the newest items what they printed.
func views(info protocol.SessionInfo, parts []Part, split bool) []turnView {
	var list []turnView
	view := map[bool]string{true: "split"}[split]
	for _, t := range parts {
		v := viewPart(info.ID, info.Cwd, t)
		part := func(name string, at int64) string {
			return query.With("/sessions/"+string(info.ID), nil, "turn", string(t.ID), name, strconv.FormatInt(at, 10),
				"view", view)
		}
		if t.Before > 0 {
			v.EarlierURL = part("before", t.Before)
		}
		if t.After > 0 {
			v.LaterURL = part("after", t.After)
		}
		list = append(list, v)
	}
	room := maxPage
	for _, v := range slices.Backward(list) {
		for i := range slices.Backward(v.Items) {
			iv := &v.Items[i]
			if split {
				iv.SideBySide()
			}
			used := len(iv.Output) + len(iv.DiffRows)
			if used > room {
				used = iv.Trim()
			}
			room = max(0, room-used)
		}
	}
	return list
}

// output is all that one item printed.
func (s *Server) output(w http.ResponseWriter, r *http.Request) error {
	text, err := s.o.Data.Printed(r.Context(), r.PathValue("id"), r.URL.Query().Get("turn"), r.PathValue("item"))
	if err != nil {
		return err
	}
	defer text.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return render.Outputs(w, text)
}

func title(info protocol.SessionInfo) string {
	if info.Title != "" {
		return info.Title
	}
	return string(info.ID)
}

type window struct {
	From, Count int
	Part, URL   string
	Rows        markup.HTML
}

type fileLink struct {
	render.File
	URL string
	Row int
}

// diffPage is a diff in windows. Its first windows are in the page.
type diffPage struct {
	Title, Other, Back string
	Undo               string
	Split              bool
	Diff               *render.Diff
	Files              []fileLink
	Windows            []window
}

// windows cuts a diff into windows, of which the one that begins at first is in the page.
func windows(d *render.Diff, split bool, here string, q url.Values, first int) (list []window) {
	for from := 0; from < d.Len(split); from += windowRows {
		w := window{From: from, Count: min(windowRows, d.Len(split)-from)}
		w.URL = query.With(here, q, "from", strconv.Itoa(from))
		w.Part = query.With(here, q, "from", strconv.Itoa(from), "part", "1")
		if from == first {
			w.Rows = d.Rows(from, from+windowRows, split)
		}
		list = append(list, w)
	}
	return list
}

// diff fills a page with a diff, or answers with one window of it and returns true.
func (s *Server) diff(w http.ResponseWriter, r *http.Request, d *render.Diff, p *diffPage) (bool, error) {
	q := r.URL.Query()
	from, err := query.Number(q, "from")
	if err != nil {
		return false, err
	}
	from -= from % windowRows
	p.Diff, p.Split = d, q.Get("view") == "split"
	if q.Get("part") != "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, err := w.Write([]byte(d.Rows(from, from+windowRows, p.Split)))
		return true, err
	}
	q.Del("from")
	p.Windows = windows(d, p.Split, r.URL.Path, q, from)
	for i, f := range d.Files {
		row := f.Row
		if p.Split {
			row = f.SplitRow
		}
		p.Files = append(p.Files, fileLink{f, query.With(r.URL.Path, q, "from", strconv.Itoa(row)) + fmt.Sprintf("#file-%d", i), row})
	}
	p.Other = query.With(r.URL.Path, q, "view", map[bool]string{false: "split"}[p.Split])
	return false, nil
}

// changedFiles is what a turn changed, in short.
type changedFiles struct {
	Diff    *render.Diff
	DiffURL string
}

func (s *Server) turnDiff(w http.ResponseWriter, r *http.Request) error {
	id, turn := r.PathValue("id"), r.URL.Query().Get("turn")
	now, err := s.o.Data.Part(r.Context(), id, turn, Place{}, Room{}) // a turn that runs changes more
	if err != nil {
		return err
	}
	d, err := s.diffs.Get(fmt.Sprintf("%s/%s/%d", id, turn, now.Changes), func() (string, error) {
		return s.o.Data.TurnDiff(r.Context(), id, turn)
	})
	if err != nil {
		return err
	}
	if r.URL.Query().Get("part") == "files" {
		return s.part(w, "turnfiles", changedFiles{d, query.With("/sessions/"+id+"/diff", nil, "turn", turn)})
	}
	p := diffPage{Title: "Changed by the turn", Back: query.With("/sessions/"+id, nil, "turn", turn)}
	info, err := s.o.Data.Session(r.Context(), id)
	if err != nil {
		return err
	}
	p.Undo = query.With("/undo", nil, "root", info.Cwd, "session", id, "turn", turn)
	if done, err := s.diff(w, r, d, &p); done || err != nil {
		return err
	}
	return s.render(w, r, "diff", p.Title, p)
}
