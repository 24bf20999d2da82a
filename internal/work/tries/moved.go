package tries

import (
	"path/filepath"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

// movesOf tells for what moved in a try where it was before.
func movesOf(list []ledger.Entry) map[string]string {
	var sets []delta.Set
	for _, e := range list {
		sets = append(sets, e.Set())
	}
	net := delta.Fold(sets...)
	changed := map[string]bool{}
	for _, c := range net {
		changed[c.Path] = true
	}
	moved := map[string]string{}
	for _, c := range net {
		if changed[c.From] { // and not only copied
			moved[c.Path] = c.From
		}
	}
	return moved
}

// hold leaves what is at a path there if the try moved it to another one, and it does not get there.
func (p *planner) hold() {
	at := map[string]*Row{}
	for i := range p.plan.Rows {
		at[p.plan.Rows[i].Path] = &p.plan.Rows[i]
	}
	for again := true; again; {
		again = false
		for to, from := range p.moved {
			src, dst := at[from], at[to]
			if src == nil || dst == nil || !src.writes() || dst.writes() || dst.Outcome == There {
				continue
			}
			again = true
			root := filepath.ToSlash(p.t.Meta.Roots[0])
			src.Note = "what it holds does not get to " + changes.Relative(root, filepath.ToSlash(to))
			if src.Outcome = Conflict; p.o.Conflicts == settle.Ours {
				src.Outcome, src.Next.Post = Settled, src.Next.Pre
			}
		}
	}
}

// writes reports whether keeping changes the path.
func (r *Row) writes() bool {
	return (r.Outcome == Kept || r.Outcome == Merged || r.Outcome == Settled) && !r.Next.Pre.Same(r.Next.Post)
}
