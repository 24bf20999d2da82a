package web

import (
	"io"
	"net/http"

	"kerf/internal/front/web/markup"
	"kerf/internal/front/web/wording"
	"kerf/internal/protocol"
)

// document is a session as one file.
type document struct {
	Info  protocol.SessionInfo
	Turns []documentTurn
	Style markup.CSS
}

type documentTurn struct {
	turnView
	Rows markup.HTML
}

// WriteDocument writes a session as one page of HTML that needs nothing else and runs
// nothing.
func WriteDocument(w io.Writer, info protocol.SessionInfo, turns []protocol.PastTurn) error {
	pages, err := markup.Parse(files, "templates/*.html", wording.Functions(asset))
	if err != nil {
		return err
	}
	return writeDocument(pages, w, info, turns)
}

func writeDocument(pages *markup.Templates, w io.Writer, info protocol.SessionInfo, turns []protocol.PastTurn) error {
	css, err := files.ReadFile("assets/app.css")
	if err != nil {
		return err
	}
	d := document{Info: info, Style: markup.CSS(css)}
	for _, t := range turns {
		v := viewTurn(info.ID, info.Cwd, t)
		v.UndoURL = ""
		for i := range v.Items { // there is no server to ask
			v.Items[i].UndoURL, v.Items[i].Whole = "", ""
		}
		dt := documentTurn{turnView: v}
		if v.Diff != nil {
			dt.Rows = v.Diff.Rows(0, v.Diff.Len(false), false)
		}
		d.Turns = append(d.Turns, dt)
	}
	return pages.Execute(w, "document", d)
}

// export hands a session over as one file.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	info, err := s.o.Data.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	turns, err := s.o.Data.Whole(r.Context(), string(info.ID))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="kerf-`+string(info.ID)+`.html"`)
	return writeDocument(s.pages, w, info, turns)
}
