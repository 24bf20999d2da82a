package web

import (
	"net/http"
	"slices"
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

// bar is one day of the chart, in its coordinates.
type bar struct {
	Name                                             string
	Total, X, OutY, OutH, InY, InH, CachedY, CachedH int
}

type usagePage struct {
	Days   int
	Spans  []int
	Usage  Usage
	Width  int
	Bars   []bar
	Tables []usageTable
}

func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := usagePage{Days: 30, Spans: spans}
	var err error
	if q.Get("days") != "" {
		if p.Days, err = number(q, "days"); err != nil {
			return err
		}
	}
	if p.Usage, err = s.o.Data.Usage(r.Context(), p.Days); err != nil {
		return err
	}
	p.Bars, p.Width = bars(p.Usage.Days)
	days := slices.Clone(p.Usage.Days)
	slices.Reverse(days)
	sessions := table("By session", "Session", p.Usage.Sessions)
	for i := range sessions.Rows {
		sessions.Rows[i].URL = "/sessions/" + sessions.Rows[i].Name
	}
	p.Tables = []usageTable{table("Days", "Day", days), table("By model", "Model", p.Usage.Models),
		table("By repository", "Directory", p.Usage.Repositories), sessions}
	return s.render(w, r, "usage", "Usage", p)
}

func table(name, head string, lines []UsageLine) usageTable {
	t := usageTable{Name: name, Head: head, More: max(0, len(lines)-usedRows)}
	for _, l := range lines[:min(usedRows, len(lines))] {
		t.Rows = append(t.Rows, usageRow{UsageLine: l})
	}
	return t
}

// bars draws a day as a column of 130 units at most.
func bars(days []UsageLine) ([]bar, int) {
	const high, wide = 130, 20
	most := 1
	for _, d := range days {
		most = max(most, d.Usage.Total())
	}
	var list []bar
	for i, d := range days {
		units := func(n int) int { return (n*high + most/2) / most }
		b := bar{Name: d.Name, Total: d.Usage.Total(), X: i*wide + 3}
		b.CachedH, b.InH, b.OutH = units(d.Usage.Cached), units(d.Usage.Input-d.Usage.Cached), units(d.Usage.Output)
		if b.CachedH+b.InH+b.OutH == 0 {
			b.InH = 1
		}
		b.CachedY = 140 - b.CachedH
		b.InY = b.CachedY - b.InH
		b.OutY = b.InY - b.OutH
		list = append(list, b)
	}
	return list, max(1, len(days)) * wide
}
