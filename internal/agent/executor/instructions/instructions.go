// Package instructions finds what a model is told before a turn: instruction files, the
// directory, the branch, the policy, skills.
package instructions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"kerf/internal/agent/prompt"
	"kerf/internal/agent/skills"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/work/boundary"
	"kerf/internal/work/repo"
)

// Sources are where it is found.
type Sources struct {
	Home string // KERF_HOME, for the user's own AGENTS.md
	Cwd  string
	Root string // the project's root; Cwd when there is none
	// DocBytes bounds the project's instruction files together; DocNames are tried in a
	// directory after AGENTS.override.md and AGENTS.md, and before those of other agents.
	DocBytes  int
	DocNames  []string
	Developer string
	Shell     string
	Network   bool
	Memory    bool // the model proposes notes for AGENTS.md
	Roots     []string
	Now       func() time.Time
	Skills    []skills.Skill
	// Others are the ids of the other sessions that work in this directory now; nil for none.
	Others func() []string
	// Boundary says what may be read; nil for everything. Kerf's home, which it hides, is
	// where the user's own instructions are: those it is not asked about.
	Boundary *boundary.Session

	once   sync.Once
	looked atomic.Pointer[chan struct{}] // closed when git has answered; nil before it is asked
	dirty  atomic.Pointer[bool]
}

// Look begins to ask git whether the work tree is dirty, unless that was begun before. Only
// the metadata tell it, so no turn waits for the answer. Gather begins it at the first turn
// of a session in a repository; who knows that one follows at once may begin it earlier.
func (s *Sources) Look(ctx context.Context) {
	s.once.Do(func() {
		done := make(chan struct{})
		s.looked.Store(&done)
		go func() { // ends with git, which has its own time limit
			defer close(done)
			if dirty, err := repo.Dirty(ctx, s.Cwd); err == nil {
				s.dirty.Store(&dirty)
			}
		}()
	})
}

// Dirty tells whether the work tree was dirty when the session began, if that is known
// within the time.
func (s *Sources) Dirty(within time.Duration) (dirty, known bool) {
	if done := s.looked.Load(); done != nil && within > 0 {
		late := time.NewTimer(within)
		defer late.Stop()
		select {
		case <-*done:
		case <-late.C:
		}
	}
	if d := s.dirty.Load(); d != nil {
		return *d, true
	}
	return false, false
}

// Gather returns the items that are new since e.Before, and the facts now told.
func (s *Sources) Gather(ctx context.Context, e turn.Gather) turn.Gathered {
	var items []*model.Item
	if e.First {
		if it := prompt.Developer(s.Developer); it != nil {
			items = append(items, it)
		}
		if s.Memory && e.Settings.Mode().Approval() != protocol.PolicyNever { // nothing is written unseen
			items = append(items, prompt.Memory())
		}
		if it := prompt.Instructions(s.Cwd, s.userDocs(), s.ProjectDocs()); it != nil {
			items = append(items, it)
		}
	}
	if e.First {
		if it := listed(s.Skills).Item(); it != nil {
			items = append(items, it)
		}
	}
	before := e.Before
	if e.First {
		before = nil
	}
	now := s.facts(e.Settings)
	s.addOthers(e.Before, now)
	if it := prompt.PlanMode(before["approval_policy"], now["approval_policy"]); it != nil {
		items = append(items, it)
	}
	if it := prompt.Surroundings(before, now); it != nil {
		items = append(items, it)
	}
	in := turn.Gathered{Items: items, Facts: now, Warnings: beside(e.Before, now)}
	if _, ok := now["git_branch"]; ok && e.First {
		s.Look(context.WithoutCancel(ctx))
	}
	for _, k := range mentioned(s.Skills, e.Input) {
		in.Notices = append(in.Notices, prompt.Skill(k.Name, k.Body))
	}
	return in
}

// privateTmp is told where commands have a /tmp of their own.
const privateTmp = "what commands write below /tmp, the workspace excepted, is seen by commands of this session " +
	"only, and is gone with it"

func (s *Sources) facts(set protocol.Settings) map[string]string {
	mode := set.Mode()
	f := map[string]string{"cwd": s.Cwd, "shell": s.Shell, "current_date": s.Now().Format(time.DateOnly),
		"sandbox_mode": string(mode.Sandbox()), "approval_policy": string(mode.Approval()), "network_access": "restricted"}
	if s.Network || mode.Sandbox() == protocol.SandboxFull {
		f["network_access"] = "enabled"
	}
	if len(s.Roots) > 1 {
		f["writable_roots"] = strings.Join(s.Roots, ", ")
	}
	if mode.Sandbox() == protocol.SandboxWorkspace && s.ownTmp() {
		f["private_tmp"] = privateTmp
	}
	if c, ok := repo.Look(s.Cwd); ok {
		f["git_branch"] = branchText(c)
	}
	return f
}

// ownTmp reports whether commands have a /tmp of their own.
func (s *Sources) ownTmp() bool {
	return s.Boundary != nil && slices.ContainsFunc(s.Boundary.Plan().Mounts, func(m boundary.Mount) bool {
		return m.Kind == boundary.MountTmp
	})
}

func branchText(c repo.Checkout) string {
	name, detached, unborn := c.Branch()
	switch {
	case detached:
		return "(detached at " + name + ")"
	case unborn:
		return name + " (no commit yet)"
	}
	return name
}

// hidden reports whether the boundary hides a file that was opened by a path, or another
// one stands there by now.
func (s *Sources) hidden(path string, opened os.FileInfo) bool {
	if s.Boundary == nil {
		return false
	}
	real, v := s.Boundary.Plan().Named(s.Cwd, path)
	named, err := os.Lstat(real)
	if err != nil || !os.SameFile(named, opened) {
		return true
	}
	// Above the working directory a private /tmp hides what commands need not see; a file of
	// the project itself is told from there all the same.
	inside := slices.ContainsFunc(s.Roots, func(root string) bool { return pathname.Inside(root, real) })
	return v.Access == boundary.Hidden && (inside || real != path)
}

// readDoc reads at most limit bytes of a regular file beneath root. Links that
// lead out, what is hidden, and whatever is not a file, do not count.
func readDoc(root, rel string, limit int, hidden func(string, os.FileInfo) bool) (string, bool) {
	if _, err := os.Lstat(filepath.Join(root, rel)); errors.Is(err, fs.ErrNotExist) {
		return "", false // as most of them; this is one call
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", false
	}
	defer r.Close()
	return readIn(r, root, rel, limit, hidden)
}

// readIn is readDoc in an open directory.
func readIn(r *os.Root, root, rel string, limit int, hidden func(string, os.FileInfo) bool) (string, bool) {
	f, err := r.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || hidden != nil && hidden(filepath.Join(root, rel), st) {
		return "", false
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	if err != nil {
		return "", false
	}
	return revealed(strings.ToValidUTF8(strings.TrimPrefix(string(b), "\ufeff"), "\uFFFD")), true
}

// revealed is a text with what its reader does not see, and a model would, as
// visible text: <U+202E>. The joiners of scripts and pictographs stay.
func revealed(text string) string {
	unseen := func(r rune) bool {
		switch r {
		case '\n', '\t', '\r', '\u200c', '\u200d':
			return false
		}
		return unicode.In(r, unicode.Cf, unicode.Cc) || r > 0xfe0f && unicode.Is(unicode.Variation_Selector, r)
	}
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// others is the fact that names other sessions. It is there once there were some.
const others = "other_sessions_here"

func (s *Sources) addOthers(before, now map[string]string) {
	var ids []string
	if s.Others != nil {
		ids = s.Others()
	}
	if len(ids) > 0 || before[others] != "" {
		now[others] = cmp.Or(strings.Join(ids, ", "), "none")
	}
}

// beside tells the user of other sessions that came.
func beside(before, now map[string]string) []string {
	if now[others] == "" || now[others] == "none" || now[others] == before[others] {
		return nil
	}
	return []string{"other sessions work in this directory: " + now[others] + " (kerf ps shows what they do)"}
}
