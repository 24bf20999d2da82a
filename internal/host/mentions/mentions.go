// Package mentions finds what a message can refer to behind an @: files, definitions in them,
// and files that earlier sessions changed.
package mentions

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/search"
	"kerf/internal/work/search/fuzzy"
	"kerf/internal/work/search/symbols"
)

// How many definitions and files of sessions are offered.
const (
	mostSymbols  = 6
	mostSessions = 4
	mostEntries  = 500 // of the history that are looked at
)

// Sources are where mentions come from. Files finds files by a fuzzy query, Bound is what hides
// files, and History reads what was changed below a directory.
type Sources struct {
	Files   func(ctx context.Context, cwd, query string, limit int) ([]string, error)
	Bound   func(cwd string) search.Boundary
	History func(root string, use func(changes.Reader) error) error
}

// Find is what a word behind an @ can mean. Files come first, up to limit. What is found besides
// is left out when it cannot be found, since the files may be meant.
func Find(ctx context.Context, s Sources, cwd, word string, limit int) ([]protocol.Mention, error) {
	files, err := s.Files(ctx, cwd, word, limit)
	if err != nil {
		return nil, err
	}
	var all []protocol.Mention
	listed := map[string]bool{}
	for _, f := range files {
		all = append(all, protocol.Mention{Text: f})
		listed[f] = true
	}
	if utf8.RuneCountInString(word) >= 2 && !strings.ContainsAny(word, "/. ") {
		finder := search.New(search.Options{Roots: []string{cwd}, Boundary: s.Bound(cwd)})
		found, _ := symbols.Find(ctx, finder, cwd, word, mostSymbols)
		for _, x := range found {
			all = append(all, protocol.Mention{Text: x.Path + ":" + strconv.Itoa(x.Line), Detail: x.Kind + " " + x.Name,
				Of: protocol.MentionSymbol})
		}
	}
	var touched []protocol.Mention
	hidden := s.Bound(cwd)
	_ = s.History(cwd, func(r changes.Reader) error {
		log, err := r.Log(changes.Filter{Limit: mostEntries, Fits: func(e row.Entry) bool { return e.Session != "" }})
		touched = Touched(log, cwd)
		return err
	})
	var names []string
	for _, m := range touched {
		path := filepath.Join(cwd, filepath.FromSlash(m.Text))
		if _, err := os.Lstat(path); err == nil && !listed[m.Text] && hidden.At(path).Access != boundary.Hidden {
			names = append(names, m.Text)
		}
	}
	names = fuzzy.Rank(names, word, mostSessions)
	for _, name := range names {
		for _, m := range touched {
			if m.Text == name {
				all = append(all, m)
			}
		}
	}
	return all, ctx.Err()
}

// Touched are the files below cwd that sessions changed, the one that was changed last first.
func Touched(log []row.Entry, cwd string) (list []protocol.Mention) {
	base := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(cwd)), "/") + "/"
	seen := map[string]bool{}
	for _, e := range log {
		for _, c := range e.Changes {
			rel, below := strings.CutPrefix(string(c.Path), base)
			if !below || seen[rel] || c.Operation == "deleted" {
				continue
			}
			seen[rel] = true
			list = append(list, protocol.Mention{Text: rel, Of: protocol.MentionSession,
				Detail: "changed " + e.Time.Local().Format(time.DateOnly+" 15:04")})
		}
	}
	return list
}
