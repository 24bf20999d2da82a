package records

import (
	"fmt"
	"strings"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/work/workspace"
)

// mostNamed is how many directories are named.
const mostNamed = 3

// tellBeside says on standard error which directories here have histories that are not in this
// one, and how to see them.
func (b *book) tellBeside() {
	all := b.beside()
	if len(all) == 0 {
		return
	}
	var names []string
	for _, n := range all[:min(len(all), mostNamed)] {
		names = append(names, b.dir(n))
	}
	what := strings.Join(names, ", ")
	if more := len(all) - len(names); more > 0 {
		what += fmt.Sprintf(" and %d more directories", more)
	}
	verb := "has a history of its own"
	if len(all) > 1 {
		verb = "have histories of their own"
	}
	fmt.Fprintf(b.p.Stderr, "kerf: %s %s: kerf -C %s log\n", what, verb, names[0])
}

// tellNewer says on standard error where the last change here was, if it is not in this history.
func (b *book) tellNewer(command string) {
	own := workspace.WrittenAt(b.h.Config.Home, b.ws.Roots[0])
	if all := b.beside(); len(all) > 0 && all[0].Written.After(own) {
		name := b.dir(all[0])
		fmt.Fprintf(b.p.Stderr, "kerf: the last change here is in the history of %s: kerf -C %s %s\n", name, name, command)
	}
}

func (b *book) beside() []workspace.Near {
	return workspace.Beside(b.h.Config.Home, b.ws.Roots[0], b.h.Config.Cwd)
}

// dir names a directory as a shell takes it.
func (b *book) dir(n workspace.Near) string { return program.Quoted(nearName(b.p, n.Root)) }
