package boundary

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"kerf/internal/work/boundary/nested"
)

// Session is the boundary of one session: the policy of each sandbox mode, and the plan
// that commands and file tools share. The plan is worked out anew before each command, and
// once after it for the file tools. A Session may be used by several goroutines.
type Session struct {
	view   View
	policy func(mode string) Policy
	roots  sync.Map // the directories that they are, by their names

	// current is what the file tools ask, nil when the disk may have changed since.
	current atomic.Pointer[Plan]

	mu    sync.Mutex // guards what follows
	mode  string     // of the file tools
	known map[string][]string
	began map[string]bool // operations of git that were absent once
	// meaning are the real paths that rules meant so far, by the rules' own.
	meaning map[string][]string
}

// NewSession begins a session whose file tools work in the given sandbox mode.
func NewSession(view View, mode string, policy func(mode string) Policy) *Session {
	if d, ok := view.(Disk); ok && d.known == nil {
		view = Disk{known: nested.New(d.Layers...)}
	}
	s := &Session{view: view, policy: policy, known: make(map[string][]string), began: make(map[string]bool),
		meaning: make(map[string][]string)}
	s.mode = toolMode(mode)
	return s
}

// toolMode is the mode in which file tools ask: in read-only mode what they write was
// allowed by the user, and then the rules of workspace-write hold.
func toolMode(mode string) string {
	if mode == FullAccess {
		return FullAccess
	}
	return WorkspaceWrite
}

// Policy is that of commands in a sandbox mode.
func (s *Session) Policy(mode string) Policy {
	p := s.policy(mode)
	p.Session = s
	return p
}

// Use sets the sandbox mode in which the file tools work from now on. A nil Session has
// none.
func (s *Session) Use(mode string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode = toolMode(mode); mode != s.mode {
		s.mode = mode
		s.current.Store(nil)
	}
}

// Settle says which directory a root is, links followed. Whoever replaces it, or a directory
// above it, by a link later does not move the workspace: nothing runs then.
func (s *Session) Settle(root, real string) {
	s.roots.Store(filepath.Clean(root), filepath.Clean(real))
}

// exchanged reports whether a root leads elsewhere by now.
func (s *Session) exchanged(root, now string) bool {
	if s == nil {
		return false
	}
	was, settled := s.roots.Load(filepath.Clean(root))
	return settled && was != now
}

// Moved says that the disk may have changed, as after a command.
func (s *Session) Moved() { s.current.Store(nil) }

// Plan is the plan of the file tools.
func (s *Session) Plan() *Plan {
	if p := s.current.Load(); p != nil {
		return p
	}
	s.mu.Lock()
	mode := s.mode
	s.mu.Unlock()
	// What cannot be met is told when a command is to run. The plan answers even so.
	p, _ := s.Resolve(s.Policy(mode))
	return &p
}

// Resolve makes the plan of a policy of this session, which the file tools ask from now on
// if it is of their mode.
func (s *Session) Resolve(p Policy) (Plan, error) {
	p.Session = s
	if p.Cwd == "" && len(p.Roots) > 0 {
		p.Cwd = p.Roots[0]
	}
	plan, err := Resolve(p, s.view)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Mode == s.mode {
		shared := plan
		s.current.Store(&shared)
	}
	return plan, err
}

// At is what the plan of the file tools says; see [Plan.At].
func (s *Session) At(path string) Verdict { return s.Plan().At(path) }

// Of is what the plan of the file tools says; see [Plan.Of].
func (s *Session) Of(path string, id FileID, several bool) Verdict {
	return s.Plan().Of(path, id, several)
}

// HidesBelow is what the plan of the file tools says; see [Plan.HidesBelow].
func (s *Session) HidesBelow(dir string) bool { return s.Plan().HidesBelow(dir) }

// maxKnown bounds the repositories that are remembered below one root.
const maxKnown = 4096

// maxMeanings bounds what is remembered of one rule.
const maxMeanings = 16

// remember returns the repositories below a root, those first that were found earlier: no
// number of new directories makes Kerf forget one. The first look is a thorough one.
func (s *Session) remember(root string, v View) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, looked := s.known[root]
	all := slices.DeleteFunc(known, func(path string) bool {
		_, err := v.Lstat(path)
		return err != nil
	})
	have := make(map[string]bool, len(all))
	for _, path := range all {
		have[path] = true
	}
	// One that went from its place may be anywhere.
	for _, path := range v.Nested(root, !looked || len(all) < len(known)) {
		if !have[path] && len(all) < maxKnown {
			have[path] = true
			all = append(all, path)
		}
	}
	s.known[root] = all
	return slices.Clone(all)
}

// meant returns what a rule that closes something meant earlier in the session, besides the
// real path that it means now, which is empty for none: a link on its way may be another
// one by now.
func (s *Session) meant(rule Rule, now string) (earlier []string) {
	if s == nil || rule.Access == Write {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.meaning[rule.Path]
	for _, path := range all {
		if path != now {
			earlier = append(earlier, path)
		}
	}
	if now != "" && len(earlier) == len(all) && len(all) < maxMeanings {
		s.meaning[rule.Path] = append(all, now)
	}
	return earlier
}

// matched returns what links that a pattern matched led to earlier in the session and do not
// now: a command may have removed them.
func (s *Session) matched(pattern string, now []string) (earlier []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.meaning[pattern]
	for _, path := range all {
		if !slices.Contains(now, path) {
			earlier = append(earlier, path)
		}
	}
	for _, path := range now {
		if !slices.Contains(all, path) && len(all) < maxKnown {
			all = append(all, path)
		}
	}
	s.meaning[pattern] = all
	return earlier
}

// begun reports whether an operation of git was begun in this session, and not by the
// user before: it was absent at an earlier look.
func (s *Session) begun(path string, there bool) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path = filepath.Clean(path)
	if !there {
		s.began[path] = true
	}
	return s.began[path]
}
