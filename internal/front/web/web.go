// Package web shows in a browser what was recorded, what was changed, and what runs.
//
// Pages are made by the server and work without scripts; one script adds keys, parts that
// load when they are seen, and sessions that are followed while they run. All text of
// models, tools and files is hostile: templates escape it, package render makes HTML of it,
// and the policy of package door runs nothing that is not in this package.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"kerf/internal/front/web/carry"
	"kerf/internal/front/web/door"
	"kerf/internal/front/web/fleet"
	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
	"kerf/internal/front/web/wording"
)

//go:embed assets templates
var files embed.FS

// Options say what is shown.
type Options struct {
	Data Data
	Live Live
	// Fleet is nil where there is none.
	Fleet fleet.Fleet
	// Control lets the pages change things: undo, redo, messages, interrupts and answers.
	Control bool
	Version string
	// Log is told what went wrong inside, a line each.
	Log func(string)
}

// Server answers the requests of browsers.
type Server struct {
	o     Options
	door  *door.Door
	pages *markup.Templates
	diffs render.Cache
	// carriers are the connections over which tabs follow sessions.
	carriers carry.Carriers
}

// New returns a server for a listener on the loopback.
func New(addr net.Addr, o Options) (*Server, error) {
	d, err := door.New(addr)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, door: d}
	s.pages, err = markup.Parse(files, "templates/*.html", wording.Functions(asset))
	return s, err
}

// URL is the address that lets a browser in.
func (s *Server) URL() string { return s.door.URL() }

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if h.Shutdown(soon) != nil { // streams of events stay open until they are cut
			_ = h.Close()
		}
		return nil
	}
}

// page is a request that is answered with a page or a part of one.
type page func(w http.ResponseWriter, r *http.Request) error

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	assets, _ := fs.Sub(files, "assets")
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", keepFor(http.FileServerFS(assets))))
	for pattern, p := range map[string]page{
		"GET /{$}":                         s.sessions,
		"GET /search":                      s.found,
		"GET /sessions/{id}":               s.session,
		"GET /sessions/{id}/cost":          s.cost,
		"GET /sessions/{id}/reading":       s.reading,
		"GET /sessions/{id}/items/{item}":  s.output,
		"GET /sessions/{id}/diff":          s.turnDiff,
		"GET /sessions/{id}/time":          s.overTime,
		"GET /sessions/{id}/page.html":     s.export,
		"GET /damage":                      s.damage,
		"GET /changes":                     s.changes,
		"GET /changes/{seq}":               s.change,
		"GET /changes/{seq}/edits":         s.chooseEdits,
		"GET /undo":                        s.undo,
		"GET /blame":                       s.blame,
		"GET /usage":                       s.usage,
		"GET /now":                         s.now,
		"GET /now/{id}":                    s.watch,
		"GET /now/{id}/events":             s.events,
		"GET /now/events/{connection}/{n}": s.carried,
		"POST /undo":                       s.undo,
		"POST /now/{id}/steer":             s.steer,
		"POST /now/{id}/interrupt":         s.interrupt,
		"POST /now/{id}/answer":            s.answer,
	} {
		mux.HandleFunc(pattern, s.answerWith(p))
	}
	mux.HandleFunc("GET /now/events", s.carriers.Serve)
	if s.o.Fleet != nil {
		mux.HandleFunc("GET /fleet", s.answerWith(s.fleet))
		mux.HandleFunc("POST /fleet", s.answerWith(s.fleet))
	}
	mux.HandleFunc("/", s.answerWith(func(_ http.ResponseWriter, r *http.Request) error {
		return fmt.Errorf("%w: there is no page %s", ErrNotFound, r.URL.Path)
	}))
	return s.door.Guard(s.controlled(mux))
}

// fleet lists the tasks of kerf-fleet, and answers what they ask.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return s.render(w, r, "fleet", "Fleet", fleet.Look(r.Context(), s.o.Fleet))
	}
	err := r.ParseForm()
	if err == nil {
		err = fleet.Decide(r.Context(), s.o.Fleet, r.PostForm)
	}
	if err == nil {
		http.Redirect(w, r, "/fleet", http.StatusSeeOther)
	}
	return err
}

// keepFor lets browsers keep what never changes under its name.
func keepFor(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=86400, immutable")
		h.ServeHTTP(w, r)
	})
}

// errReadOnly says that the pages may not change things.
var errReadOnly = errors.New("these pages only read: start kerf web --control to change things here")

// controlled lets requests through that change things only where the pages may do that.
func (s *Server) controlled(next http.Handler) http.Handler {
	if s.o.Control {
		return next
	}
	refused := s.answerWith(func(http.ResponseWriter, *http.Request) error { return errReadOnly })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
		} else {
			refused(w, r)
		}
	})
}

// answerWith answers with a page, or tells why there is none.
func (s *Server) answerWith(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := p(w, r)
		if errors.Is(err, ErrReading) && r.PathValue("id") != "" {
			err = s.wait(w, r)
		}
		if err == nil || r.Context().Err() != nil {
			return
		}
		code, title := http.StatusInternalServerError, "This did not work"
		var wrong query.Misuse
		switch {
		case errors.Is(err, ErrNotFound):
			code, title = http.StatusNotFound, "Not found"
		case errors.Is(err, errReadOnly):
			code, title = http.StatusForbidden, "Read-only"
		case errors.As(err, &wrong):
			code, title = http.StatusBadRequest, "This request makes no sense"
		default:
			s.o.Log(r.URL.Path + ": " + err.Error())
		}
		if strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
			http.Error(w, err.Error(), code)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(code)
		_ = s.render(w, r, "fault", title, err.Error())
	}
}

// layout is what every page has.
type layout struct {
	Title, Version string
	Nav            []navLink
	Control        bool
	Body           any
}

type navLink struct {
	Name, URL string
	Here      bool
}

// render writes a whole page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, name, title string, body any) error {
	here := r.URL.Path
	l := layout{Title: title, Version: s.o.Version, Control: s.o.Control, Body: body}
	links := []navLink{{Name: "Sessions", URL: "/"}, {Name: "Changes", URL: "/changes"},
		{Name: "Blame", URL: "/blame"}, {Name: "Now", URL: "/now"}, {Name: "Usage", URL: "/usage"}}
	if s.o.Fleet != nil {
		links = append(links, navLink{Name: "Fleet", URL: "/fleet"})
	}
	for _, n := range links {
		n.Here = n.URL == here || n.URL != "/" && strings.HasPrefix(here, n.URL+"/") ||
			n.URL == "/" && strings.HasPrefix(here, "/sessions/") || n.URL == "/changes" && here == "/undo"
		l.Nav = append(l.Nav, n)
	}
	return s.part(w, name, l)
}

// buffers are used again: pages are made whole before a byte of them is sent.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// part writes a part of a page.
func (s *Server) part(w http.ResponseWriter, name string, data any) error {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	defer buffers.Put(b)
	if err := s.pages.Execute(b, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := w.Write(b.Bytes())
	return err
}

// sums are the versions of the assets, so that browsers keep each as long as it is the same.
var sums sync.Map

// asset is the address of a file in assets.
func asset(name string) (string, error) {
	if v, ok := sums.Load(name); ok {
		return v.(string), nil
	}
	b, err := files.ReadFile("assets/" + name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	url := "/assets/" + name + "?" + hex.EncodeToString(sum[:6])
	sums.Store(name, url)
	return url, nil
}
