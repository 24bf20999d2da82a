package sessions

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/sessions/beside"
	"kerf/internal/sessions/records"
	"kerf/internal/text/order"
)

// UsageOptions say what a usage report covers.
type UsageOptions struct {
	Days    int    // that many days up to today; 0 is all
	Session string // only this one
	Now     time.Time
	// Known keeps what was read for the next report; nil keeps nothing.
	Known *Known
	// Soon, where it is not zero, leaves out sessions that cannot be counted until then. The
	// report says how many.
	Soon time.Time
}

// UsageReport counts tokens and what they cost.
type UsageReport struct {
	Total    UsageLine   `json:"total"`
	Days     []UsageLine `json:"days"`
	Models   []UsageLine `json:"models"`
	Sessions []UsageLine `json:"sessions"`
	// Open is how many sessions are left out, of so many, because they are not counted yet.
	Open int `json:"-"`
	Of   int `json:"-"`
	// Unread are those of them whose records have to be read first, see [Pages.CountSome].
	Unread []protocol.SessionInfo `json:"-"`
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
	list, err := s.counted(ctx, o)
	if err != nil {
		return UsageReport{}, err
	}
	since := time.Time{}
	if o.Days > 0 {
		y, m, d := o.Now.Local().Date()
		since = time.Date(y, m, d-o.Days+1, 0, 0, 0, 0, time.Local)
	}
	all := make([][]used, len(list))
	why := make([]error, len(list)) // a session is not counted
	err = beside.Each(ctx, len(list), func(i int) {
		if !list[i].Updated.Before(since) || list[i].Damage != "" {
			all[i], why[i] = s.usedBy(ctx, list[i], since, o)
		}
	})
	if err != nil {
		return UsageReport{}, err
	}
	first := ""
	if o.Days > 0 {
		first = since.Format(time.DateOnly)
	}
	r := report(list, all, first)
	r.Of = len(list)
	for i, err := range why {
		var unread *Counting
		if errors.As(err, &unread) {
			r.Unread = append(r.Unread, list[i])
		}
		if err != nil {
			r.Open++
		}
	}
	return r, nil
}

// counted are the sessions that a report is about.
func (s *Store) counted(ctx context.Context, o UsageOptions) ([]protocol.SessionInfo, error) {
	if o.Session != "" {
		info, err := s.Find(ctx, o.Session)
		return []protocol.SessionInfo{info}, err
	}
	return s.All(ctx, protocol.Filter{Agents: true})
}

func sums(m map[string]*UsageLine, compare func(a, b UsageLine) int) []UsageLine {
	list := []UsageLine{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[name])
	}
	order.Stably(list, compare)
	return list
}

// used is what a session used of a model on a day.
type used struct {
	day, model string
	line       UsageLine
}

// report adds up what sessions used from a day on.
func report(list []protocol.SessionInfo, all [][]used, from string) (r UsageReport) {
	days, models := map[string]*UsageLine{}, map[string]*UsageLine{}
	for i, info := range list {
		session := UsageLine{Name: string(info.ID), Title: info.Title}
		for _, u := range all[i] {
			if u.day < from {
				continue
			}
			for _, l := range []*UsageLine{&r.Total, &session, line(days, u.day), line(models, u.model)} {
				l.add(u.line)
			}
		}
		if session.Requests > 0 {
			r.Sessions = append(r.Sessions, session)
		}
	}
	r.Days = sums(days, func(a, b UsageLine) int { return cmp.Compare(a.Name, b.Name) })
	r.Models = sums(models, func(a, b UsageLine) int { return cmp.Compare(b.Usage.Total(), a.Usage.Total()) })
	return r
}

func (l *UsageLine) add(more UsageLine) {
	l.Requests += more.Requests
	l.Usage = l.Usage.Add(more.Usage)
	l.Cost += more.Cost
	l.Unpriced += more.Unpriced
}

// Known keeps what sessions used, as long as their records are the same. The zero value is
// empty; it may be used by several goroutines.
type Known struct {
	// Outline is where the outline of a session is kept; nil keeps none.
	Outline func(protocol.SessionID) *Outline

	mu  sync.Mutex
	all map[protocol.SessionID]knownUse
}

func (k *Known) outline(id protocol.SessionID) *Outline {
	if k == nil || k.Outline == nil {
		return &Outline{}
	}
	return k.Outline(id)
}

type knownUse struct {
	updated time.Time
	size    int64 // of the records: they grow before the metadata says so
	used    []used
}

func (k *Known) of(id protocol.SessionID) knownUse {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[id]
}

func (k *Known) keep(id protocol.SessionID, u knownUse) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[protocol.SessionID]knownUse{}
	}
	k.all[id] = u
}

// errLater says that a session is counted another time.
var errLater = errors.New("not counted yet")

// usedBy is what a session used since a time, or, where that is kept, ever. The error says why it
// is not counted: errLater or a [*Counting].
func (s *Store) usedBy(ctx context.Context, info protocol.SessionInfo, since time.Time, o UsageOptions) ([]used,
	error) {
	st, err := os.Stat(filepath.Join(s.DirOf(info.ID), "rollout.jsonl"))
	if err == nil && st.Size() >= long {
		sum, err := s.outlined(ctx, info, o)
		var counting *Counting
		if err == nil || errors.As(err, &counting) {
			return sum, err
		}
	}
	if o.Known == nil || err != nil {
		return s.count(ctx, s.DirOf(info.ID), since), nil
	}
	u := o.Known.of(info.ID)
	if u.used == nil || !u.updated.Equal(info.Updated) || u.size != st.Size() {
		if !o.Soon.IsZero() && time.Now().After(o.Soon) {
			return nil, errLater
		}
		u = knownUse{info.Updated, st.Size(), s.count(ctx, s.DirOf(info.ID), time.Time{})}
		if ctx.Err() == nil {
			o.Known.keep(info.ID, u)
		}
	}
	return u.used, nil
}

// long is the size from which on a record is not read to count what it used: its outline
// tells that.
const long = 8 << 20

// outlined is what a session used ever, by its outline. A record that is damaged has none.
func (s *Store) outlined(ctx context.Context, info protocol.SessionInfo, o UsageOptions) ([]used, error) {
	p := s.Pages(info, o.Known.outline(info.ID))
	if !o.Soon.IsZero() {
		p = p.Soon()
	}
	list, err := p.v.Used(ctx)
	sum := []used{}
	for _, u := range list {
		sum = s.spent(sum, u.Model, u.At, UsageLine{Requests: u.Requests, Usage: u.Usage})
	}
	return sum, err
}

// openUse is a response whose model is not known yet: the record is read from its
// end, and the model stands before.
type openUse struct {
	at    time.Time
	usage protocol.Usage
}

// count sums the responses of a session since a time, by day and model. Those of sub-agents
// are in their own sessions.
func (s *Store) count(ctx context.Context, dir string, since time.Time) []used {
	var open []openUse
	sum, name := []used{}, ""
	settle := func(model string) {
		for _, u := range open {
			sum = s.spent(sum, model, u.at, UsageLine{Requests: 1, Usage: u.usage})
		}
		open = nil
	}
	for r, err := range records.Backward(dir, history.TokenUsage{}, history.TurnContext{}, history.SessionMeta{}) {
		if err != nil || ctx.Err() != nil {
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
	return sum
}

// spent adds responses to the sums of their day and model.
func (s *Store) spent(sum []used, model string, at time.Time, l UsageLine) []used {
	priced := false
	if l.Cost, priced = s.o.Price(model, l.Usage); !priced {
		l.Unpriced = l.Usage.Total()
	}
	day, model := at.Local().Format(time.DateOnly), cmp.Or(model, "unknown")
	i := slices.IndexFunc(sum, func(h used) bool { return h.day == day && h.model == model })
	if i < 0 {
		i, sum = len(sum), append(sum, used{day: day, model: model})
	}
	sum[i].line.add(l)
	return sum
}

func line(m map[string]*UsageLine, name string) *UsageLine {
	if m[name] == nil {
		m[name] = &UsageLine{Name: name}
	}
	return m[name]
}
