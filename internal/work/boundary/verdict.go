package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary/links"
	"kerf/internal/work/boundary/names"
)

// Reach is what a plan lets Kerf and its commands do with a path.
type Reach string

// The answers. Protected is readable, inside a writable directory, and changed by the
// user only.
const (
	Hidden    Reach = "hidden"
	Readable  Reach = "readable"
	Protected Reach = "protected"
	Writable  Reach = "writable"
)

// Verdict is the answer of a plan about one path or host, and the reason in words.
type Verdict struct {
	Access Reach
	Why    string
}

// RefusedError says that a plan does not allow what was tried with a path.
type RefusedError struct {
	Path string
	Verdict
}

// Error gives path, answer and reason.
func (e *RefusedError) Error() string {
	if e.Access == Readable {
		return fmt.Sprintf("%s can only be read: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("%s is %s: %s", e.Path, e.Access, e.Why)
}

// answers is a plan as it is asked about paths.
type answers struct {
	everything bool // nothing is bounded
	entries    map[string]entry
	patterns   []rulePattern
	// roots are what the policy makes writable, before what is in them was closed.
	roots []string
	// folded are the closed entries by their folded names.
	folded map[string]string
	// closes are the folded names of what entries hide.
	closes []string
	tmp    string // in whose place commands have a directory of their own
	view   View
	known  identities
}

// entry is what one path, and all below it, gets.
type entry struct {
	access Access
	closed bool // not by a rule, but because only the user changes it
	why    string
}

// rulePattern is a rule whose path is a pattern.
type rulePattern struct {
	base, rest string
	rule       Rule
}

func (p rulePattern) matches(path string) bool {
	rel, ok := pathname.Rel(p.base, path)
	return ok && doublestar.MatchUnvalidated(p.rest, filepath.ToSlash(rel))
}

// At says what the plan allows with the real path p, whether or not something is there.
func (p *Plan) At(path string) Verdict {
	a := p.answers
	switch {
	case a == nil:
		return Verdict{Hidden, "no plan could be made"}
	case a.everything:
		return Verdict{Writable, "nothing is bounded in " + FullAccess}
	}
	path = filepath.Clean(path)
	v := a.nearest(path)
	if v.Access != Hidden && len(a.folded) > 0 {
		v = a.otherSpelling(path, v)
	}
	if v.Access != Writable {
		return v
	}
	// The innermost root counts: a rule may grant what is protected in another one.
	if rel, ok := pathname.Rel(a.rootOf(path), path); ok {
		if why := whyProtected(filepath.ToSlash(rel)); why != "" {
			return Verdict{Protected, why}
		}
	}
	return v
}

// rootOf is the innermost of the roots that path lies in, or empty.
func (a *answers) rootOf(path string) (in string) {
	for _, root := range a.roots {
		if len(root) > len(in) && pathname.Under(root, path) {
			in = root
		}
	}
	return in
}

// Named is the verdict about what a user in cwd names: each link on the way is asked about, then
// what they lead to, which is returned too.
func (p *Plan) Named(cwd, path string) (real string, v Verdict) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	real, passed := links.Way(filepath.Clean(path))
	if info, err := os.Lstat(real); err == nil {
		id, several := IdentityOf(info)
		v = p.Of(real, id, several && info.Mode().IsRegular())
	} else {
		v = p.At(real)
	}
	for _, at := range append(passed, path) {
		if named := p.At(at); named.Access == Hidden && v.Access != Hidden {
			v = named
		}
	}
	return real, v
}

// top is the uppermost path that is, or is above, path and that the pattern matches; it
// stands for all below it, as for commands. Empty for none.
func (p rulePattern) top(path string) (top string) {
	for at := path; pathname.Under(p.base, at); at = filepath.Dir(at) {
		if p.matches(at) {
			top = at
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	return top
}

// nearest is what the entry or pattern that is nearest above path says.
func (a *answers) nearest(path string) Verdict {
	tops := make([]string, len(a.patterns))
	for i, p := range a.patterns {
		tops[i] = p.top(path)
	}
	for at := path; ; {
		if e, ok := a.entries[at]; ok {
			return e.verdict()
		}
		for i := len(a.patterns) - 1; i >= 0; i-- {
			if tops[i] == at {
				return entry{access: a.patterns[i].rule.Access, why: whyRule(a.patterns[i].rule)}.verdict()
			}
		}
		parent := filepath.Dir(at)
		if parent == at {
			return Verdict{Readable, "the disk can be read, and is written only where that was granted"}
		}
		at = parent
	}
}

// otherSpelling looks whether path is another spelling of something that is closed, on
// a file system that minds neither case nor form.
func (a *answers) otherSpelling(path string, v Verdict) Verdict {
	fold := names.Fold(filepath.ToSlash(path))
	for at := fold; len(at) > 1; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
		real, ok := a.folded[at]
		if !ok || pathname.Under(real, path) {
			continue
		}
		depth := strings.Count(at, "/")
		parts := strings.SplitAfterN(filepath.ToSlash(path), "/", depth+2)
		same := filepath.FromSlash(strings.TrimSuffix(strings.Join(parts[:min(depth+1, len(parts))], ""), "/"))
		if sameFile(real, same) {
			return a.entries[real].verdict()
		}
	}
	return v
}

func (e entry) verdict() Verdict {
	switch {
	case e.access == Write:
		return Verdict{Writable, e.why}
	case e.access == None:
		return Verdict{Hidden, e.why}
	case e.closed:
		return Verdict{Protected, e.why}
	}
	return Verdict{Readable, e.why}
}

func whyRule(r Rule) string {
	if r.Why != "" {
		return r.Why
	}
	return fmt.Sprintf("the rule %q = %q", r.Path, r.Access)
}

// HidesBelow reports whether anything below dir, or dir itself, may be hidden.
func (p *Plan) HidesBelow(dir string) bool {
	a := p.answers
	switch {
	case a == nil:
		return true
	case a.everything:
		return false
	}
	dir = filepath.Clean(dir)
	// What hides dir hides what lies in it, unless a nearer entry decides; and what does not
	// hide dir hides nothing in it.
	return a.closesBelow(dir) || p.At(dir).Access == Hidden
}

// closesBelow reports whether a rule may hide something below dir.
func (a *answers) closesBelow(dir string) bool {
	for _, p := range a.patterns {
		if p.rule.Access == None && (pathname.Under(p.base, dir) || pathname.Under(dir, p.base)) {
			return true
		}
	}
	if len(a.closes) == 0 {
		return false
	}
	folded := names.Fold(filepath.ToSlash(dir))
	for _, at := range a.closes {
		if pathname.Under(folded, at) {
			return true
		}
	}
	return false
}

// Host says whether commands may reach a host. What the user is asked about is not
// known before.
func (p *Plan) Host(host string, port int) Verdict {
	switch {
	case p.answers != nil && p.answers.everything:
		return Verdict{Readable, "nothing is bounded in " + FullAccess}
	case p.Network:
		return Verdict{Readable, "the network is open"}
	case p.Proxy == nil:
		return Verdict{Hidden, "there is no network"}
	case p.Proxy.Allows == nil:
		return Verdict{Hidden, "only hosts that the policy names can be reached"}
	}
	if ok, why := p.Proxy.Allows(host, port); !ok {
		return Verdict{Hidden, why}
	}
	return Verdict{Readable, "the policy names it"}
}
