package languages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/langserver"
	"kerf/internal/work/ledger"
)

// debt is what is still to be told of a project: its files were changed, and no server has said
// yet what became wrong. Where the server was not ready before a change, a goroutine asks it
// later what was wrong when the files held what they held then. What is wrong now is asked for
// when it is told, so that it is never old.
type debt struct {
	look             // with beside, there, found, pre and err of all its changes
	changed []string // the files that changed
	added   int      // counts the changes
	// working is closed when the goroutine has ended; nil while there is none.
	working chan struct{}
}

// The bounds of what is looked at later.
const (
	lateLimit   = 15 * time.Minute // until nobody looks any more
	maxChanged  = 50               // files of a project that one call changes
	quickLook   = 2 * time.Second  // before a command
	namedInNews = 2                // files
)

// owe notes changes of a project, and has somebody look if it is not known what was wrong before.
func (s *Servers) owe(l look, changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.debts[l.key()]
	if d == nil {
		d = &debt{look: look{Project: l.Project, there: map[string]bool{}, found: map[string][]langserver.Problem{},
			pre: map[string][]byte{}}}
		s.debts[l.key()] = d
	}
	d.add(l, changed)
	if d.working == nil && (len(d.pre) > 0 || len(d.changed) == 0) && !s.closed {
		d.working = make(chan struct{})
		s.wg.Go(func() { s.work(d, d.working) })
	}
}

// add takes in a change. What is known of a file from before is of an older change, and stays.
func (d *debt) add(l look, changed []string) {
	d.added++
	known := l.err == nil && len(d.pre) == 0
	if known {
		d.knows(l)
	}
	for _, p := range changed {
		if slices.Contains(d.changed, p) {
			continue
		}
		d.changed = append(d.changed, p)
		d.there[p] = l.there[p]
		if pre, ok := l.pre[p]; ok && !known {
			d.pre[p] = pre
		}
	}
	d.beside = sorted(append(d.beside, l.beside...))
}

// knows takes in what was wrong before.
func (d *debt) knows(l look) {
	for path, list := range l.found {
		if _, ok := d.found[path]; !ok {
			d.found[path] = list
		}
	}
}

// work has the server say what was wrong before the changes of a debt, however long it takes.
func (s *Servers) work(d *debt, working chan struct{}) {
	defer close(working)
	ctx, cancel := context.WithTimeout(s.ctx, lateLimit)
	defer cancel()
	for {
		s.mu.Lock()
		l, changed, added := d.look, slices.Clone(d.changed), d.added
		l.pre, l.beside = maps.Clone(d.pre), slices.Clone(d.beside)
		s.mu.Unlock()
		err := s.suppose(ctx, &l, changed)
		if ctx.Err() != nil {
			s.pool.Hung(l.Server.Name, l.Root)
		}
		s.mu.Lock()
		if err == nil && d.added != added {
			s.mu.Unlock()
			continue
		}
		if err == nil {
			d.knows(l)
			d.pre, d.beside = map[string][]byte{}, sorted(append(d.beside, l.beside...))
		}
		if d.err, d.working = err, nil; len(d.changed) == 0 && s.debts[d.key()] == d {
			delete(s.debts, d.key()) // it was only to be ready
		}
		s.mu.Unlock()
		return
	}
}

// suppose asks what is wrong when files hold what they held before, and has the server come to
// know what they hold now.
func (s *Servers) suppose(ctx context.Context, l *look, changed []string) error {
	c, err := s.pool.In(ctx, l.Server, l.Root)
	if err == nil {
		err = c.Settled(ctx)
	}
	if err != nil {
		return err
	}
	lease, err := s.hold(ctx, c, l.Project)
	if err != nil {
		return err
	}
	defer lease.end()
	if len(l.pre) > 0 {
		var set delta.Set
		var before []langserver.Source
		for _, p := range slices.Sorted(maps.Keys(l.pre)) {
			set = append(set, delta.Change{Path: p, Pre: delta.NewFile(l.pre[p], 0)})
			if now, ok := s.source(p); ok {
				set[len(set)-1].Post = delta.NewFile(now.Data, 0)
			}
			if _, _, ok := s.pool.For(p); ok {
				before = append(before, langserver.Source{Path: p, Data: l.pre[p], Past: true})
			}
		}
		l.beside = sorted(append(l.beside, s.affected(lease, l.Project, set)...))
		if l.found, err = lease.Problems(ctx, append(before, s.sources(nil, l.beside)...)); err != nil {
			return err
		}
	}
	_, err = lease.Problems(ctx, s.sources(changed, l.beside))
	return err
}

// idle waits until nobody looks at a project beside the calls.
func (s *Servers) idle(ctx context.Context, k key) bool {
	s.mu.Lock()
	var working chan struct{}
	if d := s.debts[k]; d != nil {
		working = d.working
	}
	s.mu.Unlock()
	if working == nil {
		return true
	}
	select {
	case <-working:
		return true
	default:
	}
	select {
	case <-working:
		return true
	case <-ctx.Done():
		return false
	}
}

// warm has the server of a file that somebody reads get ready.
func (s *Servers) warm(path string) {
	server, root, ok := s.pool.For(path)
	if ok && !s.pool.Started(server, root) {
		s.owe(look{Project: Project{server, root}, beside: []string{path}}, nil)
	}
}

// beforeCommand takes a look at the projects whose servers are ready and that are small: for
// nobody knows what the command will change.
func (s *Servers) beforeCommand(ctx context.Context) (looks []look) {
	ctx, cancel := context.WithTimeout(ctx, quickLook)
	defer cancel()
	for _, r := range s.pool.Running() {
		p := Project{r.Server, r.Root}
		s.mu.Lock()
		large := s.large[p.key()] // it is not listed before each command
		s.mu.Unlock()
		if large || s.isTired(p.key()) || r.Busy() || !s.idleNow(p.key()) {
			continue
		}
		l := look{Project: p, there: map[string]bool{}}
		if s.firstOfAll(ctx, &l) == nil {
			looks = append(looks, l)
		}
	}
	return looks
}

var errLarge = errors.New("the project is large")

func (s *Servers) firstOfAll(ctx context.Context, l *look) error {
	lease, err := s.lease(ctx, l.Project, false)
	if err != nil {
		return err
	}
	defer lease.end()
	if l.beside = s.files(lease.ctx, l.Project); len(l.beside) > maxBeside {
		return errLarge
	}
	for _, p := range l.beside {
		l.there[p] = true
	}
	l.found, err = lease.Problems(lease.ctx, s.sources(nil, l.beside))
	return err
}

// changed are the files of changes, with what the records say that they held before.
func (s *Servers) changed(list []history.FileChange) (pre map[string]string) {
	pre = map[string]string{}
	for _, c := range list {
		if path := real(string(c.Path)); c.Cause != ledger.CauseOutside {
			if _, ok := pre[path]; !ok {
				pre[path] = c.Before
			}
		}
	}
	return pre
}

// after tells what is new after a call that changed files. Looks are those that were taken before it.
func (s *Servers) after(ctx context.Context, what string, looks []look, changed map[string]string) string {
	byProject := map[key][]string{}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		server, root, ok := s.pool.Touched(path)
		p := Project{server, root}
		if !ok {
			continue
		}
		has := func(l look) bool { return l.key() == p.key() }
		if byProject[p.key()] == nil && !slices.ContainsFunc(looks, has) {
			if !s.pool.Started(server, root) {
				continue
			}
			looks = append(looks, look{Project: p, err: langserver.ErrLate})
		}
		byProject[p.key()] = append(byProject[p.key()], path)
	}
	var b strings.Builder
	for _, l := range looks {
		switch mine := byProject[l.key()]; {
		case len(mine) == 0:
		case l.err != nil && !errors.Is(l.err, langserver.ErrLate):
			b.WriteString(s.trouble(l.Project, l.err))
		case len(mine) > maxChanged && l.pre == nil:
			s.forget(l.key())
			fmt.Fprintf(&b, "\n\nLanguage server %s: errors were not looked for: %s changed %d files.", l.Server.Name, what,
				len(mine))
		default:
			if l.pre == nil {
				s.remember(&l, mine, changed)
			}
			s.owe(l, mine)
			b.WriteString(s.pay(ctx, l.Project, what))
		}
	}
	return b.String()
}

// remember adds to a look what files held before, as far as that is kept.
func (s *Servers) remember(l *look, paths []string, sums map[string]string) {
	l.pre, l.there = map[string][]byte{}, map[string]bool{}
	for _, p := range paths {
		if l.there[p] = sums[p] != ""; !l.there[p] {
			l.pre[p] = nil
		} else if data, err := s.o.Image(sums[p]); err == nil && len(data) <= maxFile {
			l.pre[p] = data
		}
	}
}

// forget drops what is owed of a project.
func (s *Servers) forget(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.debts, k)
	delete(s.lately, k)
}

// answered notes that what was not told in time is told, or never will be.
func (s *Servers) answered(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lately, k)
}

// take takes the debt of a project out; nil where there is none, or somebody works on it.
func (s *Servers) take(k key) *debt {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.debts[k]
	if d == nil || d.working != nil {
		return nil
	}
	delete(s.debts, k)
	return d
}

// pay tells what is owed of a project after a call, what being its name.
func (s *Servers) pay(ctx context.Context, p Project, what string) string {
	soon, cancel := context.WithTimeout(ctx, s.bound(p.Server))
	defer cancel()
	if s.isTired(p.key()) {
		cancel()
	}
	if !s.idle(soon, p.key()) {
		s.tire(p.key(), true)
		return s.later(p)
	}
	return s.told(ctx, p, what)
}

// idleNow is idle without waiting.
func (s *Servers) idleNow(k key) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.idle(ctx, k)
}

// trouble says why nobody looked; of a server that is not used any more once.
func (s *Servers) trouble(p Project, err error) string {
	s.answered(p.key())
	if !s.pool.Started(p.Server, p.Root) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.mute[p.key()] {
			return ""
		}
		s.mute[p.key()] = true
	}
	return fmt.Sprintf("\n\nLanguage server %s: errors were not looked for: %s.", p.Server.Name, why(err))
}

// later says that nobody knows yet: once, until the server answers.
func (s *Servers) later(p Project) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lately[p.key()] {
		return ""
	}
	s.lately[p.key()] = true
	return fmt.Sprintf("\n\nLanguage server %s: errors were not looked for: %s; what is new is told when it answers.",
		p.Server.Name, why(langserver.ErrLate))
}

// late tells what is owed of all projects and can be told now.
func (s *Servers) late(ctx context.Context) string {
	s.mu.Lock()
	var list []Project
	for _, d := range s.debts {
		if d.working == nil && len(d.changed) > 0 {
			list = append(list, d.Project)
		}
	}
	s.mu.Unlock()
	order.By(list, func(a, b Project) int { return strings.Compare(a.Server.Name+a.Root, b.Server.Name+b.Root) })
	var b strings.Builder
	for _, p := range list {
		b.WriteString(s.told(ctx, p, ""))
	}
	return b.String()
}

// told tells what is owed of a project. What is the name of the call after which that is, empty
// for a later one.
func (s *Servers) told(ctx context.Context, p Project, what string) string {
	d := s.take(p.key())
	if d == nil || len(d.changed) == 0 {
		return ""
	}
	fresh, known, err := []langserver.Problem(nil), 0, d.err
	if err == nil {
		fresh, known, err = s.second(ctx, d.look, d.changed)
	}
	switch {
	case errors.Is(err, langserver.ErrLate) && d.err == nil:
		s.again(d)
		if what == "" {
			return "" // it was told before
		}
		return s.later(p)
	case err != nil:
		return s.trouble(p, err)
	}
	s.answered(p.key())
	if len(fresh) == 0 {
		return ""
	}
	if what == "" || d.added > 1 {
		what = s.names(d.changed) + " changed"
	}
	var b strings.Builder
	s.tell(&b, p.Server.Name, what, fresh, known)
	return b.String()
}

// again has somebody wait for a server that did not answer in time.
func (s *Servers) again(d *debt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if newer := s.debts[d.key()]; newer != nil { // of a call beside this one
		d.add(newer.look, newer.changed)
	}
	s.debts[d.key()] = d
	if d.working == nil {
		d.working = make(chan struct{})
		s.wg.Go(func() { s.work(d, d.working) })
	}
}

// names are the first of some files, and how many more there are.
func (s *Servers) names(paths []string) string {
	var words []string
	for _, p := range paths[:min(len(paths), namedInNews)] {
		words = append(words, filepath.ToSlash(s.short(p)))
	}
	if n := len(paths) - len(words); n > 0 {
		return fmt.Sprintf("%s and %d more files", strings.Join(words, ", "), n)
	}
	return strings.Join(words, " and ")
}
