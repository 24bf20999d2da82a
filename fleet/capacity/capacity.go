// Package capacity works out what a fleet of a size needs, from what one task costs. It is
// arithmetic and the play of one day, nothing is measured here.
package capacity

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kerf/fleet/task"
)

// Params are the size of a fleet and what one task costs.
type Params struct {
	Workers, Slots int
	Tasks          int           // a day
	Work           time.Duration // of a task, the median; the distribution is log-normal
	Spread         float64       // its sigma
	Peak           float64       // the busiest hour against the mean one
	Deaths         float64       // of a worker, a day
	Checkpoint     time.Duration // the work that a death costs at most
	Repositories   int
	// Measured of one task:
	Events     int // in its history
	EventBytes int // each, in the engine's store
	StoreBytes int // in the blob store
	Puts       int // requests to the blob store
	CloneBytes int // of the first clone of a repository on a worker
	FetchBytes int // of each later fetch
	Retention  int // days
	// Of the engine, as its operators give them:
	ShardRate float64 // history events a second that one shard takes
}

// Result is what such a fleet needs.
type Result struct {
	Params          Params
	Rate            float64 // tasks a second at the peak
	EventRate       float64 // events a second at the peak
	Shards          int
	HistoryBytes    int64 // of all kept histories
	StoreBytes      int64 // of all kept results
	PutRate         float64
	CloneBytesDay   int64
	Busy            float64 // mean share of the slots
	PeakBusy        float64
	Waited50        time.Duration
	Waited99        time.Duration
	Done            int
	Resumed         int
	LostWork        time.Duration
	LargestParents  int // parts of one map over all tasks
	EventsOfOnePart int
}

// Check says what cannot be worked out.
func (p Params) Check() error {
	if p.Workers < 1 || p.Slots < 1 || p.Tasks < 1 || p.Work <= 0 || p.Events < 1 || p.Peak < 1 || p.Repositories < 1 {
		return errors.New("all numbers must be positive, and the peak at least 1")
	}
	if p.Tasks > 20_000_000 || p.Workers > 1_000_000 {
		return errors.New("at most 20,000,000 tasks and 1,000,000 workers can be played")
	}
	return nil
}

const day = 24 * time.Hour

// Plan works it out and plays a day.
func Plan(p Params) Result {
	seconds := day.Seconds()
	r := Result{Params: p}
	r.Rate = float64(p.Tasks) / seconds * p.Peak
	r.EventRate = r.Rate * float64(p.Events)
	r.Shards = power(r.EventRate / p.ShardRate)
	kept := int64(p.Tasks) * int64(p.Retention)
	r.HistoryBytes = kept * int64(p.Events) * int64(p.EventBytes)
	r.StoreBytes = kept * int64(p.StoreBytes)
	r.PutRate = r.Rate * float64(p.Puts)
	// Each worker meets each repository once; how many it meets of R in n draws is
	// R(1-(1-1/R)^n), the expected number of distinct ones.
	n := float64(p.Tasks) / float64(p.Workers)
	met := float64(p.Repositories) * (1 - math.Pow(1-1/float64(p.Repositories), n))
	r.CloneBytesDay = int64(float64(p.Workers) * (met*float64(p.CloneBytes) + (n-met)*float64(p.FetchBytes)))
	r.LargestParents = (p.Tasks + task.PartMost - 1) / task.PartMost
	r.EventsOfOnePart = task.PartMost * 6 // started, initiated, completed, and workflow tasks between
	play(p, &r)
	return r
}

// power is the next power of two, and at least 512: the number of shards is for ever, so it
// is chosen with room.
func power(n float64) int {
	s := 512
	for float64(s) < n {
		s *= 2
	}
	return s
}

// ends is a heap of the times at which slots become free.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(v any)        { *e = append(*e, v.(float64)) }
func (e *ends) Pop() any {
	old := *e
	v := old[len(old)-1]
	*e = old[:len(old)-1]
	return v
}

// play lets the tasks of one day arrive, with one busy hour, at a queue for all slots. The
// same parameters give the same day.
func play(p Params, r *Result) {
	rnd := rand.New(rand.NewPCG(1, 2))
	slots := p.Workers * p.Slots
	free := make(ends, 0, min(slots, p.Tasks))
	waits := make([]float64, 0, p.Tasks)
	peak := p.Peak / 24 // the share of the busiest hour
	arrivals := make([]float64, p.Tasks)
	for i := range arrivals {
		if rnd.Float64() < peak {
			arrivals[i] = 12*3600 + rnd.Float64()*3600
		} else {
			at := rnd.Float64() * 23 * 3600
			if at >= 12*3600 {
				at += 3600
			}
			arrivals[i] = at
		}
	}
	slices.Sort(arrivals)
	var worked, busiest, lost float64
	for _, at := range arrivals {
		took := p.Work.Seconds() * math.Exp(rnd.NormFloat64()*p.Spread)
		// Deaths hit a task by how long it holds its slot.
		for deaths := p.Deaths * took / day.Seconds(); rnd.Float64() < deaths; deaths /= 2 {
			again := rnd.Float64() * min(p.Checkpoint.Seconds(), took)
			took, lost = took+again, lost+again
			r.Resumed++
		}
		start := at
		if len(free) == slots {
			if first := heap.Pop(&free).(float64); first > at {
				start = first
			}
		} else if len(free) > 0 && free[0] <= at {
			heap.Pop(&free)
		}
		heap.Push(&free, start+took)
		busiest = max(busiest, float64(len(free)))
		waits = append(waits, start-at)
		worked += took
		if start+took <= day.Seconds() {
			r.Done++
		}
	}
	slices.Sort(waits)
	at := func(q float64) time.Duration {
		return time.Duration(waits[int(q*float64(len(waits)-1))] * float64(time.Second)).Round(time.Millisecond)
	}
	r.Waited50, r.Waited99 = at(0.5), at(0.99)
	r.Busy = worked / (float64(slots) * day.Seconds())
	r.PeakBusy = busiest / float64(slots)
	r.LostWork = time.Duration(lost * float64(time.Second)).Round(time.Second)
}

// String is the result for people.
func (r Result) String() string {
	var b strings.Builder
	p := r.Params
	line := func(what, format string, v ...any) { fmt.Fprintf(&b, "%-22s %s\n", what, fmt.Sprintf(format, v...)) }
	line("fleet", "%d workers of %d slots, %d tasks a day of %s", p.Workers, p.Slots, p.Tasks, p.Work)
	line("tasks at the peak", "%.1f a second", r.Rate)
	line("events at the peak", "%.0f a second (%d of a task)", r.EventRate, p.Events)
	line("history shards", "%d", r.Shards)
	line("histories", "%s for %d days", size(r.HistoryBytes), p.Retention)
	line("blob store", "%s for %d days, %.0f writes a second at the peak", size(r.StoreBytes), p.Retention, r.PutRate)
	line("clones and fetches", "%s a day", size(r.CloneBytesDay))
	line("slots in use", "%.0f %% of the day, at most %.0f %%", r.Busy*100, r.PeakBusy*100)
	line("wait for a slot", "median %s, 99 of 100 at most %s", r.Waited50, r.Waited99)
	line("workers that die", "%d tasks resumed, %s worked twice", r.Resumed, r.LostWork)
	line("one map of all tasks", "%d parts, each about %d events", r.LargestParents, r.EventsOfOnePart)
	return b.String()
}

func size(n int64) string {
	f, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
