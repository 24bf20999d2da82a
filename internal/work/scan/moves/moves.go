// Package moves finds, among files that went and files that came, those that were
// moved.
package moves

import (
	"cmp"
	"path"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/order"
)

// Mark marks the halves of moves in set: first those whose content is the same, then
// those that were edited at once.
func Mark(set delta.Set) {
	pair(set)
	pairAlike(set)
}

// pair marks the halves of moves: a deleted file and another one that has its content now.
// Of several, new ones of the same name go together first, and those that were there before last. A file
// to whose name another one moved is as good as deleted, but only the other half tells then.
func pair(set delta.Set) {
	free := make(map[delta.Sum][]int)
	for i, c := range set {
		if c.Post == nil && c.Pre.Kind == delta.File && c.Pre.Size > 0 {
			free[c.Pre.Sum] = append(free[c.Pre.Sum], i)
		}
	}
	again := false
	match := func(i int, fits func(from string) bool) {
		c := &set[i]
		if c.From != "" || c.Post == nil || c.Post.Kind != delta.File || c.Pre.At().Sum == c.Post.Sum {
			return
		}
		list := free[c.Post.Sum]
		at := slices.IndexFunc(list, func(j int) bool { return fits(set[j].Path) })
		if at < 0 {
			return
		}
		from := &set[list[at]]
		c.From = from.Path
		if from.Post == nil {
			from.To = c.Path
		}
		free[c.Post.Sum] = slices.Delete(list, at, at+1)
		if c.Pre != nil && c.Pre.Kind == delta.File && c.Pre.Size > 0 {
			free[c.Pre.Sum] = append(free[c.Pre.Sum], i)
			again = true
		}
	}
	made := func(i int) bool { return set[i].Pre == nil }
	for again = true; again; {
		again = false
		for i := range set {
			match(i, func(from string) bool { return made(i) && path.Base(from) == path.Base(set[i].Path) })
		}
		for i := range set {
			match(i, func(string) bool { return made(i) })
		}
		for i := range set {
			match(i, func(string) bool { return true })
		}
	}
}

// What a move with an edit is, and how long it is sought.
const (
	alike      = 50       // percent that two contents have in common, as in git
	maxPairs   = 2500     // beyond these only files of the same name are compared
	maxCompare = 64 << 20 // bytes that are compared in all
)

// pairAlike marks what moved and was edited at once: of the files that have no other
// half yet, those that are most alike go together, of equals those of the same name.
func pairAlike(set delta.Set) {
	var gone, made []int
	for i, c := range set {
		switch {
		case c.From != "" || c.To != "":
		case c.Post == nil && atHand(c.Pre):
			gone = append(gone, i)
		case c.Pre == nil && atHand(c.Post):
			made = append(made, i)
		}
	}
	type match struct {
		from, to, score int
		named           bool
	}
	var found []match
	budget := int64(maxCompare)
	few := len(gone)*len(made) <= maxPairs
	for _, from := range gone {
		for _, to := range made {
			a, b := set[from].Pre, set[to].Post
			named := path.Base(set[from].Path) == path.Base(set[to].Path)
			if min(a.Size, b.Size)*100 < max(a.Size, b.Size)*alike || !few && !named {
				continue
			}
			if budget -= a.Size + b.Size; budget < 0 {
				continue
			}
			if score := diff.Similarity(a.Data, b.Data); score >= alike {
				found = append(found, match{from, to, score, named})
			}
		}
	}
	order.Stably(found, func(a, b match) int {
		return cmp.Or(b.score-a.score, boolOrder(b.named, a.named))
	})
	for _, m := range found {
		if set[m.from].To == "" && set[m.to].From == "" {
			set[m.from].To, set[m.to].From = set[m.to].Path, set[m.from].Path
		}
	}
}

// atHand reports whether the bytes of a file are at hand.
func atHand(i *delta.Image) bool {
	return i != nil && i.Kind == delta.File && i.Loaded && i.Size > 0
}

// boolOrder puts false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
