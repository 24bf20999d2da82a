package scan

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Snapshot looks at the roots. What it finds is reported in the Snap, also what
// it could not read or keep; an error means that ctx is done, and changes
// nothing.
func (s *Scanner) Snapshot(ctx context.Context) (*Snap, error) {
	s.gen++
	snap := &Snap{Taken: time.Now(), roots: make([]*node, len(s.roots))}
	w := &walker{s: s, ctx: ctx, start: snap.Taken, gen: s.gen,
		workers: make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 1))}
	open := make([][]*pending, len(s.roots))
	for i, root := range s.roots {
		var prev *node
		if s.last != nil {
			prev = s.last.roots[i]
		}
		var err error
		if snap.roots[i], open[i], err = w.root(root, prev); err != nil {
			return nil, fmt.Errorf("scan %s: %w", root, err)
		}
	}
	snap.sum(s.gen)
	var budget atomic.Int64
	budget.Store(s.caps.Total - snap.Held)
	for i, root := range s.roots {
		k := keeper{s: s, ctx: ctx, top: root, start: snap.Taken, budget: &budget}
		if err := k.keep(open[i]); err != nil {
			return nil, fmt.Errorf("scan %s: %w", root, err)
		}
	}
	snap.sum(s.gen)
	snap.tell(s)
	s.last = snap
	return snap, nil
}

// sum computes the sums of the new nodes and of the Snap.
func (s *Snap) sum(gen uint64) {
	s.Files, s.Held = 0, 0
	for _, n := range s.roots {
		if n != nil {
			n.finish(gen)
			s.Files += n.files
			s.Held += n.held
		}
	}
}

// tell fills in the gaps.
func (s *Snap) tell(of *Scanner) {
	s.Gaps = append([]Gap(nil), of.refused...)
	all := 0
	for i, n := range s.roots {
		if n != nil {
			s.Gaps = n.collect(of.roots[i], s.Gaps)
			all += n.gaps
		}
	}
	if len(s.Gaps) >= maxGaps && all > maxGaps {
		s.Gaps[maxGaps-1] = Gap{of.roots[0], Limit, fmt.Sprintf("and %d more files and directories", all-maxGaps+1)}
	}
}
