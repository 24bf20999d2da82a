package languages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/order"
	"kerf/internal/text/visible"
	"kerf/internal/work/langserver"
	"kerf/internal/work/langserver/position"
)

// look is what a server said of a project before a change.
type look struct {
	Project
	beside []string        // further files that the change may break
	there  map[string]bool // the changed files that were there
	found  map[string][]langserver.Problem
	pre    map[string][]byte // what the changed files held, nil where they were not there
	err    error
}

// before asks the servers of the files that change what is wrong already.
func (s *Servers) before(ctx context.Context, c tool.Change) []look {
	var looks []look
	byProject := map[key]delta.Set{}
	for _, ch := range c.Set {
		ch.Path = real(ch.Path)
		server, root, ok := s.pool.Touched(ch.Path)
		p := Project{server, root}
		if !ok || len(byProject) == maxProjects && byProject[p.key()] == nil {
			continue
		}
		if byProject[p.key()] == nil {
			looks = append(looks, look{Project: p})
		}
		byProject[p.key()] = append(byProject[p.key()], ch)
	}
	for i := range looks {
		l := &looks[i]
		set := byProject[l.key()]
		l.pre, l.there = map[string][]byte{}, map[string]bool{}
		for _, ch := range set {
			if _, twice := l.pre[ch.Path]; twice {
				continue
			}
			l.pre[ch.Path] = nil
			if l.there[ch.Path] = ch.Pre != nil; ch.Pre != nil {
				l.pre[ch.Path] = ch.Pre.Data
			}
		}
		l.err = s.first(ctx, l, set)
	}
	return looks
}

// first takes the look before a change.
func (s *Servers) first(ctx context.Context, l *look, set delta.Set) error {
	lease, err := s.lease(ctx, l.Project, false)
	if err != nil {
		return err
	}
	defer lease.end()
	l.beside = s.affected(lease, l.Project, set)
	l.found, err = lease.Problems(lease.ctx, s.sources(set.Paths(), l.beside))
	s.judge(lease, err)
	return err
}

// sources reads files within bounds: those that change, and as many of the others as fit.
func (s *Servers) sources(paths, beside []string) []langserver.Source {
	var list []langserver.Source
	total := 0
	seen := map[string]bool{}
	for _, p := range slices.Concat(sorted(paths), beside) {
		if _, _, ok := s.pool.For(p); !ok || seen[p] {
			continue // it says something about the project, or was there
		}
		seen[p] = true
		f, ok := s.source(p)
		if total += len(f.Data); ok && total <= maxBytes {
			list = append(list, f)
		}
	}
	return list
}

// affected are the files that a change may break: all of a small project, and else those
// that use a name whose lines change, then those beside the changed ones.
func (s *Servers) affected(l *lease, p Project, set delta.Set) []string {
	changed := set.Paths()
	all := slices.DeleteFunc(s.files(l.ctx, p), func(path string) bool { return slices.Contains(changed, path) })
	if len(all) <= maxBeside {
		return all
	}
	var near []string
	for _, ch := range set {
		near = append(near, s.users(l, ch)...)
	}
	for _, p := range all {
		if slices.ContainsFunc(changed, func(c string) bool { return filepath.Dir(c) == filepath.Dir(p) }) {
			near = append(near, p)
		}
	}
	var list []string
	for _, p := range near {
		if len(list) < maxBeside && slices.Contains(all, p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// files are those of a project that its server is for.
func (s *Servers) files(ctx context.Context, p Project) (all []string) {
	for _, path := range s.o.List(ctx, p.Server, p.Root) {
		path = filepath.FromSlash(path)
		if server, root, ok := s.pool.For(path); ok && (Project{server, root}).key() == p.key() {
			all = append(all, path)
		}
	}
	s.mu.Lock()
	s.large[p.key()] = len(all) > maxBeside
	s.mu.Unlock()
	return all
}

// users are the files that use the names whose lines a change touches.
func (s *Servers) users(l *lease, ch delta.Change) []string {
	if ch.Pre == nil || !ch.Pre.Loaded {
		return nil
	}
	text, ok := position.Of(ch.Pre.Data)
	if !ok {
		return nil
	}
	var after []byte
	if ch.Post != nil {
		after = ch.Post.Data
	}
	if _, _, ok := s.pool.For(ch.Path); !ok {
		return nil
	}
	file := langserver.Source{Path: ch.Path, Data: ch.Pre.Data, Past: true}
	symbols, err := l.Outline(l.ctx, file)
	if err != nil {
		return nil
	}
	edits := diff.Lines(ch.Pre.Data, after)
	type touched struct{ at, size int }
	var names []touched
	for _, y := range symbols {
		from, ok := text.Offset(y.Whole.Start, l.Encoding())
		to, ok2 := text.Offset(y.Whole.End, l.Encoding())
		at, ok3 := text.Offset(y.Place.Range.Start, l.Encoding())
		touches := func(e diff.Edit) bool { return e.Start <= to && from <= e.End }
		if ok && ok2 && ok3 && slices.ContainsFunc(edits, touches) {
			names = append(names, touched{at, to - from})
		}
	}
	order.Stably(names, func(a, b touched) int { return a.size - b.size })
	var paths []string
	for _, n := range names[:min(len(names), maxAsked)] {
		places, err := l.References(l.ctx, file, n.at)
		if err != nil {
			continue
		}
		for _, p := range places {
			paths = append(paths, p.Path)
		}
	}
	return slices.Compact(paths)
}

// The bounds of what is told.
const (
	maxTold  = 20
	maxWords = 300
)

// why is an error in words for the model.
func why(err error) string {
	if errors.Is(err, langserver.ErrLate) {
		return "not checked in time"
	}
	return visible.OneLine(err.Error(), maxWords)
}

// second takes the look after a change. Fresh is what was not there before, known how many
// errors were.
func (s *Servers) second(ctx context.Context, l look, landed []string) (fresh []langserver.Problem, known int,
	err error) {
	lease, err := s.lease(ctx, l.Project, false)
	if err != nil {
		return nil, 0, err
	}
	defer lease.end()
	files := s.sources(landed, l.beside)
	found, err := lease.Problems(lease.ctx, files)
	s.judge(lease, err)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range files {
		now, checked := found[f.Path]
		was, before := l.found[f.Path]
		made := slices.Contains(landed, f.Path) && !l.there[f.Path]
		if !checked || !before && !made {
			continue // it is not known what is new
		}
		if data, err := s.o.Read(f.Path); err != nil || !bytes.Equal(data, f.Data) {
			continue // what was said is about what it was
		}
		news := newer(was, now)
		known += len(now) - len(news)
		fresh = append(fresh, news...)
	}
	return fresh, known, nil
}

// newer are the problems of now that are not among those of before. A problem is known by
// its words, for its line moves.
func newer(before, now []langserver.Problem) []langserver.Problem {
	type key struct{ code, message string }
	left := map[key]int{}
	for _, p := range before {
		left[key{p.Code, p.Message}]++
	}
	var news []langserver.Problem
	for _, p := range now {
		k := key{p.Code, p.Message}
		if left[k] > 0 {
			left[k]--
			continue
		}
		news = append(news, p)
	}
	return news
}

// tell writes new errors down, those of a file after each other.
func (s *Servers) tell(b *strings.Builder, name, since string, fresh []langserver.Problem, known int) {
	byFile := map[string][]langserver.Problem{}
	for _, p := range fresh {
		byFile[p.Path] = append(byFile[p.Path], p)
	}
	plural := "s"
	if len(fresh) == 1 {
		plural = ""
	}
	fmt.Fprintf(b, "\n\nLanguage server %s: %d new error%s since %s, in its words:", name, len(fresh), plural, since)
	n := 0
	for _, path := range slices.Sorted(maps.Keys(byFile)) {
		order.Stably(byFile[path], func(a, b langserver.Problem) int { return a.Line - b.Line })
		for _, p := range byFile[path] {
			if n++; n > maxTold {
				continue
			}
			fmt.Fprintf(b, "\n  %s:%d:%d: %s", visible.Line(s.short(path)), p.Line, p.Column,
				visible.OneLine(p.Message, maxWords))
		}
	}
	if n > maxTold {
		fmt.Fprintf(b, "\n  (%d more)", n-maxTold)
	}
	if known > 0 {
		fmt.Fprintf(b, "\n(%d more were there before; leave them)", known)
	}
}
