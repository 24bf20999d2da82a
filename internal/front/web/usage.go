package web

import (
	"net/http"
	"slices"
	"strconv"

	"kerf/internal/front/web/chart"
	"kerf/internal/front/web/query"
)

// spans are the numbers of days to choose from; 0 is all.
var spans = []int{7, 30, 90, 365, 0}

// usedRows is how many rows a table of the usage page has.
const usedRows = 50

type usageRow struct {
	UsageLine
	URL string
}

type usageTable struct {
	Name, Head string
	Rows       []usageRow
	More       int
}

type usagePage struct {
	Days    int
	Spans   []int
	Usage   Usage
	Width   int
	Bars    []chart.Bar
	Tables  []usageTable
	Highest int    // tokens of the highest column
	Again   string // is asked for to show more, where not all is counted yet
}

func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := usagePage{Days: 30, Spans: spans}
	var err error
	if q.Get("days") != "" {
		if p.Days, err = query.Number(q, "days"); err != nil {
			return err
		}
	}
	if p.Usage, err = s.o.Data.Usage(r.Context(), p.Days); err != nil {
		return err
	}
	for i, d := range p.Usage.Days {
		p.Bars = append(p.Bars, chart.Bar{Name: d.Name, Usage: d.Usage, X: i*chart.Wide + 3})
	}
	p.Width = max(1, len(p.Bars)) * chart.Wide
	p.Highest = chart.Draw(p.Bars)
	days := slices.Clone(p.Usage.Days)
	slices.Reverse(days)
	sessions := table("By session", "Session", p.Usage.Sessions)
	for i := range sessions.Rows {
		sessions.Rows[i].URL = "/sessions/" + sessions.Rows[i].Name
	}
	p.Tables = []usageTable{table("Days", "Day", days), table("By model", "Model", p.Usage.Models),
		table("By repository", "Directory", p.Usage.Repositories), sessions}
	if p.Usage.Open > 0 {
		p.Again = query.With("/usage", nil, "days", strconv.Itoa(p.Days), "part", "1")
	}
	if q.Get("part") != "" {
		return s.part(w, "used", p)
	}
	return s.render(w, r, "usage", "Usage", p)
}

func table(name, head string, lines []UsageLine) usageTable {
	t := usageTable{Name: name, Head: head, More: max(0, len(lines)-usedRows)}
	for _, l := range lines[:min(usedRows, len(lines))] {
		t.Rows = append(t.Rows, usageRow{UsageLine: l})
	}
	return t
}
