package trying

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/tries"
)

// picker asks the user which hunks are kept.
type picker struct {
	p    *program.Program
	t    *tries.Try
	file string // about the rest of which rest decides
	rest bool
	over bool // nothing more is kept
}

func newPicker(p *program.Program, t *tries.Try) *picker {
	return &picker{p: p, t: t}
}

const pickHelp = `y  keep it
n  do not keep it
a  keep it, and all that follows in this file
d  keep neither it nor what follows in this file
q  keep nothing more
`

// pick shows a hunk and takes the answer. The end of the answers keeps nothing more.
func (x *picker) pick(h tries.Hunk) (bool, error) {
	if x.over || x.file == h.Path {
		return !x.over && x.rest, nil
	}
	fmt.Fprint(x.p.Stdout, shown.Terminal(h.Diff, x.p.Colored()))
	name := visible.Plain(changes.Relative(x.t.Meta.Roots[0], h.Path))
	what := fmt.Sprintf("keep %s (%s)?", name, h.Op)
	if h.Single {
		what = fmt.Sprintf("keep this change of %s (%d of %d)?", name, h.N, h.Of)
	}
	for {
		line, err := x.p.Ask(x.p.Stdout, "%s [y,n,a,d,q,?] ", what)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if err != nil || !x.p.OnTerminal() {
			fmt.Fprintln(x.p.Stdout)
		}
		switch answer := strings.ToLower(line); {
		case answer == "y" || answer == "yes":
			return true, nil
		case answer == "n" || answer == "no":
			return false, nil
		case answer == "a" || answer == "d":
			x.file, x.rest = h.Path, answer == "a"
			return x.rest, nil
		case answer == "q", err != nil:
			x.over = true
			return false, nil
		default:
			fmt.Fprint(x.p.Stdout, pickHelp)
		}
	}
}
