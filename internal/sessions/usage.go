package sessions

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
)

// UsageOptions say what a usage report covers.
type UsageOptions struct {
	Days    int    // that many days up to today; 0 is all
	Session string // only this one
	Now     time.Time
}

// UsageReport counts tokens and what they cost.
type UsageReport struct {
	Total    UsageLine   `json:"total"`
	Days     []UsageLine `json:"days"`
	Models   []UsageLine `json:"models"`
	Sessions []UsageLine `json:"sessions"`
}

// UsageLine is one sum. Name is the day, the model or the session's id.
type UsageLine struct {
	Name     string         `json:"name,omitempty"`
	Title    string         `json:"title,omitempty"`
	Requests int            `json:"requests"`
	Usage    protocol.Usage `json:"usage"`
	Cost     float64        `json:"cost_usd"`
	// Unpriced counts the tokens of models whose prices are not known.
	Unpriced int `json:"unpriced_tokens,omitempty"`
}

// CachedShare is the share of the input that came from the provider's cache.
func (l UsageLine) CachedShare() float64 {
	if l.Usage.Input == 0 {
		return 0
	}
	return float64(l.Usage.Cached) / float64(l.Usage.Input)
}

// Usage counts the tokens of sessions, archived ones and sub-agents included, by
// day in local time, by model and by session.
func (s *Store) Usage(ctx context.Context, o UsageOptions) (UsageReport, error) {
	list, err := s.used(ctx, o)
	if err != nil {
		return UsageReport{}, err
	}
	since := time.Time{}
	if o.Days > 0 {
		y, m, d := o.Now.Local().Date()
		since = time.Date(y, m, d-o.Days+1, 0, 0, 0, 0, time.Local)
	}
	c := counter{price: s.o.Price, days: map[string]*UsageLine{}, models: map[string]*UsageLine{}}
	var report UsageReport
	for _, info := range list {
		if info.Updated.Before(since) && info.Damage == "" {
			continue
		}
		c.session = UsageLine{Name: string(info.ID), Title: info.Title}
		if err := c.count(ctx, s.DirOf(info.ID), since); err != nil {
			return report, err
		}
		if c.session.Requests > 0 {
			report.Sessions = append(report.Sessions, c.session)
		}
	}
	report.Total = c.total
	report.Days = sums(c.days, func(a, b UsageLine) int { return cmp.Compare(a.Name, b.Name) })
	report.Models = sums(c.models, func(a, b UsageLine) int { return cmp.Compare(b.Usage.Total(), a.Usage.Total()) })
	return report, nil
}

// used are the sessions that a report is about.
func (s *Store) used(ctx context.Context, o UsageOptions) ([]protocol.SessionInfo, error) {
	if o.Session != "" {
		info, err := s.Find(ctx, o.Session)
		return []protocol.SessionInfo{info}, err
	}
	return s.All(ctx, protocol.Filter{Agents: true})
}

func sums(m map[string]*UsageLine, order func(a, b UsageLine) int) []UsageLine {
	list := []UsageLine{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[name])
	}
	slices.SortStableFunc(list, order)
	return list
}

// counter adds up the records of sessions.
type counter struct {
	price        func(string, protocol.Usage) (float64, bool)
	total        UsageLine
	session      UsageLine
	days, models map[string]*UsageLine
}

// openUse is a response whose model is not known yet: the record is read from its
// end, and the model stands before.
type openUse struct {
	at    time.Time
	usage protocol.Usage
}

// count adds the responses of a session since a time. Those of sub-agents are in
// their own sessions.
func (c *counter) count(ctx context.Context, dir string, since time.Time) error {
	var open []openUse
	name := ""
	settle := func(model string) {
		for _, u := range open {
			c.add(model, u)
		}
		open = nil
	}
	for r, err := range records.Backward(dir, history.TokenUsage{}, history.TurnContext{}, history.SessionMeta{}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			break // a session that cannot be read counts as far as it can
		}
		if r.Time.Before(since) && len(open) == 0 {
			break
		}
		switch rec := r.Record.(type) {
		case history.TokenUsage:
			if rec.Agent == "" && !r.Time.Before(since) {
				open = append(open, openUse{r.Time, rec.Usage})
			}
		case history.TurnContext:
			name = rec.Settings.Model
			settle(name)
		case history.SessionMeta:
			name = rec.Model
		}
	}
	settle(name)
	return nil
}

func (c *counter) add(name string, u openUse) {
	dollars, priced := c.price(name, u.usage)
	day := u.at.Local().Format(time.DateOnly)
	for _, l := range []*UsageLine{&c.total, &c.session, line(c.days, day), line(c.models, cmp.Or(name, "unknown"))} {
		l.Requests++
		l.Usage = l.Usage.Add(u.usage)
		l.Cost += dollars
		if !priced {
			l.Unpriced += u.usage.Total()
		}
	}
}

func line(m map[string]*UsageLine, name string) *UsageLine {
	if m[name] == nil {
		m[name] = &UsageLine{Name: name}
	}
	return m[name]
}
