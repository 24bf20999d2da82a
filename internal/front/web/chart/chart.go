// Package chart works out columns of tokens by day.
package chart

import "kerf/internal/protocol"

// The units of a chart: how high its highest column is, where columns stand, and how far apart.
const (
	high = 130
	foot = 140
	Wide = 20
)

// Bar is one day. Name, Usage and X, its left edge, are given; Draw adds the others, in units
// from the top: where each of its three parts begins, and how high it is.
type Bar struct {
	Name                                   string
	Usage                                  protocol.Usage
	X                                      int
	OutY, OutH, InY, InH, CachedY, CachedH int
}

// Draw works out columns, of which the highest has the full height, and returns how many tokens
// that is.
func Draw(bars []Bar) (most int) {
	most = 1
	for _, b := range bars {
		most = max(most, b.Usage.Total())
	}
	for i := range bars {
		b := &bars[i]
		units := func(n int) int { return (n*high + most/2) / most }
		b.CachedH, b.InH, b.OutH = units(b.Usage.Cached), units(b.Usage.Input-b.Usage.Cached), units(b.Usage.Output)
		if b.CachedH+b.InH+b.OutH == 0 {
			b.InH = 1
		}
		b.CachedY = foot - b.CachedH
		b.InY = b.CachedY - b.InH
		b.OutY = b.InY - b.OutH
	}
	return most
}
