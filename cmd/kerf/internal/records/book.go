package records

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/workspace"
)

// book is the open history of a workspace.
type book struct {
	p    *program.Program
	h    *host.Host
	ws   *workspace.Workspace
	rows []row.Entry // newest first, without diffs
}

// openBook opens the history of the workspace of the working directory, or of a session,
// whose id it returns whole.
func openBook(p *program.Program, session string) (*book, string, error) {
	h, err := p.Tolerant()
	if err != nil {
		return nil, "", err
	}
	root := workspace.Find(h.Config.Home, h.Config.Cwd)
	if session != "" {
		if info, err := h.FindSession(session); err == nil { // the ledger may know it anyway
			session, root = string(info.ID), cmp.Or(info.Cwd, root)
		}
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: root, Sandbox: protocol.SandboxFull})
	if err != nil {
		return nil, "", err
	}
	b := &book{p: p, h: h, ws: ws}
	if b.rows, err = ws.Changes().Log(changes.Filter{}); err != nil {
		ws.Close()
		return nil, "", err
	}
	return b, session, nil
}

// scope is what the words of a command name.
type scope struct {
	targets []named.Target
	paths   []string // absolute
}

// scope tells words that name something of the history from paths, as git does: a word that
// may be both is an error, and all behind -- are paths.
// Dash is how many args stand before it, or below 0.
func (b *book) scope(command string, dash int, args []string) (scope, error) {
	var s scope
	for i, word := range args {
		if dash < 0 || i < dash {
			t, ok, err := b.target(word)
			if err != nil {
				return s, err
			}
			if ok {
				s.targets = append(s.targets, t)
				continue
			}
		}
		path := workspace.Real(b.h.Config.Cwd, word)
		if !b.known(path) {
			return s, fmt.Errorf("%s %s: no such file, here or in the history%s", command, visible.Line(word),
				orName(dash >= 0 && i >= dash))
		}
		s.paths = append(s.paths, path)
	}
	return s, nil
}

func orName(path bool) string {
	if path {
		return ""
	}
	return ", and no entry, turn, call or session of kerf log"
}

// target is what a word names in the history, if it is not to be a path.
func (b *book) target(word string) (named.Target, bool, error) {
	if strings.HasPrefix(word, ".") || strings.ContainsAny(word, `/\`) {
		return named.Target{}, false, nil
	}
	path := b.known(workspace.Real(b.h.Config.Cwd, word))
	t, ok, err := named.Find(b.rows, word)
	switch {
	case strings.HasPrefix(word, "#"):
		return t, ok, err
	case path && (ok || err != nil && t.Entry != 0):
		return t, false, program.Misuse("%q is a file and a name in kerf log; say ./%s for the file, or %s", word, word,
			map[bool]string{true: "#" + word, false: "give an entry"}[t.Entry != 0])
	case path:
		return t, false, nil
	}
	return t, ok, err
}

// known reports whether a path is there, or was in the history.
func (b *book) known(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		return true
	}
	for i := range b.rows {
		e := &b.rows[i]
		for _, c := range e.Changes {
			if pathname.Inside(path, string(c.Path)) || c.From != "" && pathname.Inside(path, string(c.From)) {
				return true
			}
		}
		for _, d := range slices.Concat(e.Dirs, e.Gone) {
			if pathname.Inside(path, string(d)) {
				return true
			}
		}
	}
	return false
}

// shortPath names a path below the working directory without it.
func shortPath(p *program.Program, path string) string {
	if cwd, err := p.Cwd(); err == nil {
		if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
	}
	return p.Named(path)
}

// nearName names a directory from the working directory, also with .., where that is shorter.
func nearName(p *program.Program, dir string) string {
	if cwd, err := p.Cwd(); err == nil {
		if rel, err := filepath.Rel(cwd, dir); err == nil && len(rel) < len(dir) {
			dir = filepath.ToSlash(rel)
		}
	}
	return p.Named(dir)
}

// The colours of lists on a terminal.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// paint colours text where there are colours.
func paint(p *program.Program, color, text string) string {
	if !p.Colored() || text == "" {
		return text
	}
	return color + text + plain
}

// printDiff prints a diff: as it is in a pipe, harmless and in colours on a terminal.
func printDiff(p *program.Program, text string) error {
	if program.IsTerminal(p.Stdout) {
		text = shown.Terminal(text, p.Colored())
	}
	_, err := fmt.Fprint(p.Stdout, text)
	return err
}
