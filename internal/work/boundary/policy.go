// Package boundary works out what commands and file tools may reach.
//
// A [Policy] is resolved against the disk into a [Plan]: pure data, the same on
// every system. Package sandbox carries a plan out, or refuses; it never carries out a
// weaker one.
//
// Under a plan the disk is readable, the roots are writable, /tmp is the
// session's own, and there is neither network nor a process of anybody else.
// What git or Kerf would run or follow is protected inside the roots too, also
// where it does not exist yet: placeholders stand in its place while commands
// run.
package boundary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/pathname"
	"kerf/internal/text/order"
	"kerf/internal/work/boundary/mounts"
	"kerf/internal/work/repo"
)

// The modes of a policy.
const (
	ReadOnly       = "read-only"
	WorkspaceWrite = "workspace-write"
	FullAccess     = "danger-full-access"
)

// Access is what a rule grants.
type Access string

// The grants. None hides the content.
const (
	Read  Access = "read"
	Write Access = "write"
	None  Access = "none"
)

// Rule grants access to a path and all below it; the most specific path wins,
// and of two rules for one path the later. A path with any of * ? [ { is a
// pattern, with ** for any number of directories.
type Rule struct {
	Path   string
	Access Access
	// Why says in words where the rule is from; empty for one that the user wrote.
	Why string
}

// Policy says what commands may do.
type Policy struct {
	Mode string
	// Roots are the writable directories of workspace-write.
	Roots []string
	// Cwd is where commands start. It becomes writable only by Roots or Rules.
	Cwd     string
	Network bool
	// Domains, when there are any, narrow Network to what a filtering proxy lets
	// through; see package proxy for the patterns. Ask decides on other hosts, Log
	// is told what was refused.
	Domains map[string]string
	// Limited narrows Network to the Domains also when there are none, and plain HTTP to
	// requests that only ask for something.
	Limited bool
	Ask     func(host string, port int) bool
	Log     func(line string)
	// Allows tells without asking anybody whether a host is let through, and why not.
	Allows func(host string, port int) (bool, string)
	// TmpDir is a directory that becomes /tmp inside and keeps its content
	// between commands. Empty: a new /tmp for each command.
	TmpDir string
	// SharedTmp gives commands the real /tmp instead, writable.
	SharedTmp bool
	// NoTmp leaves commands without a /tmp that they can write. NoTmpdir leaves TMPDIR as
	// it is.
	NoTmp, NoTmpdir bool
	Rules           []Rule
	// Fault is why the rules are not complete: no command runs then.
	Fault error
	// DenyRead names what no rule can open, such as Kerf's own credentials.
	DenyRead []string
	// Home is the user's home directory, in which programs start by themselves; empty for none.
	Home string
	// Session, when not nil, keeps the plan for the file tools too; see [Session].
	Session *Session
	// LockDir is where Kerf processes that share a workspace coordinate, private
	// to the user; empty for a directory below the system's temporary one.
	LockDir string
	// Limits bound each command.
	Limits Limits
	// Backend names the only one that may be used; empty for the best there is.
	Backend string
	// Witness is the socket through which the listener for calls that change files is
	// handed out; nil when nobody watches. It is closed with the box.
	Witness *os.File
}

// The backends of Linux, in the order of preference.
const (
	// OwnLauncher is Kerf itself, started again.
	OwnLauncher = "kerf"
	Bubblewrap  = "bwrap"
	// Landlock is for plans that it can express only.
	Landlock = "landlock"
)

// MountKind says how a path appears inside.
type MountKind string

// The kinds of mounts.
const (
	MountRead  MountKind = "read"
	MountWrite MountKind = "write"
	// MountHideDir and MountHideFile are empty in place of the real thing.
	MountHideDir  MountKind = "hide-dir"
	MountHideFile MountKind = "hide-file"
	// MountTmp is a temporary directory: Source, or empty memory without it.
	MountTmp MountKind = "tmp"
)

// Mount is one entry of the view that a command has.
type Mount struct {
	Kind   MountKind
	Path   string
	Source string // of MountTmp
	// Pass is set for a hidden directory below which something is open.
	Pass bool
}

// MaskKind is what a placeholder is.
type MaskKind string

// The kinds of placeholders. A socket is neither a file nor a directory to git
// and other tools, so that nothing takes it for the real thing.
const (
	MaskSocket MaskKind = "socket"
	MaskFile   MaskKind = "file"
	MaskDir    MaskKind = "dir"
)

// Mask is a protected name that does not exist. While commands run, a
// placeholder stands there. Where that is a directory, others than the commands
// may fill it meanwhile; what they made stays.
type Mask struct {
	Kind    MaskKind
	Path    string
	Content string // of a file
}

// Plan is a policy resolved against the disk. It is immutable but for TTY and
// Privileged, which say how it is used.
type Plan struct {
	Mode    string
	Cwd     string
	Network bool
	// Mounts are in order, the most specific last.
	Mounts []Mount
	Masks  []Mask
	// Kept are directories that git removes when they are empty. While commands run
	// there is a [Keeper] in each.
	Kept []string
	// GitDirs are swept after commands; Links are the links that were there.
	GitDirs []string
	Links   []string
	// Untouched are names that only the user makes, for which no placeholder can stand.
	Untouched []Name
	// NoTmpdir leaves the TMPDIR of commands as it is.
	NoTmpdir bool
	LockDir  string
	Limits   Limits
	Backend  string
	// Proxy is set when the network is reached through a filter only; Network is
	// off then.
	Proxy *Filter
	// Witness is that of the policy.
	Witness *os.File
	// TTY is set by the caller when the command gets a terminal of its own.
	TTY bool
	// Privileged is set by Wrap when Kerf runs as root. To the kernel root inside
	// is root outside then, and sysctl looks at nothing else.
	Privileged bool

	answers *answers
	// before is what [Sweep] would have found before the command.
	before map[string]string
}

// Name is a name that is closed to file tools, and that commands can make or replace.
type Name struct {
	Path string
	// Aside says that what a command makes there is moved away.
	Aside bool
}

// Filter says what a proxy lets through; see Policy.
type Filter struct {
	Domains map[string]string
	Limited bool
	Ask     func(host string, port int) bool
	Log     func(line string)
	// Allows tells without asking anybody whether a host is let through, and why not.
	Allows func(host string, port int) (bool, string)
}

// View is what Resolve needs to know of the disk. [Disk] is the real one.
type View interface {
	Lstat(path string) (fs.FileInfo, error)
	// Real returns path with all links followed; it must exist.
	Real(path string) (string, error)
	// Pointer returns the target of a `.git` file.
	Pointer(file string) (string, error)
	// Placeholder reports whether path is one of ours, left or in use: a socket, or something
	// with the sticky bit that nobody filled.
	Placeholder(path string) bool
	// Makes tells whether this user, and so a command, can make something in a directory now,
	// and whether that is possible at all: it is not where the directory is somebody else's
	// and closed, or its file system is read-only.
	Makes(dir string) (now, ever bool)
	// Links returns what is neither file nor directory below a git directory.
	Links(gitDir string) []string
	// Home is the working tree that a git directory says it belongs to, or "".
	Home(gitDir string) string
	// Follows is what the settings of a git directory, whose working tree is top, have git
	// run or read.
	Follows(gitDir, top, home string) []repo.Target
	// Nested returns the repositories below a directory, each as its `.git` or,
	// when it is bare, as itself, and the directories of Kerf. Large trees are looked
	// through in part only, in a larger part when that is asked for.
	Nested(dir string, thorough bool) []string
	// Match returns what a pattern of a rule matches, links and all other names
	// of the same file included.
	Match(pattern string) ([]string, error)
	// Mounts are the mount points of the machine.
	Mounts() []mounts.Point
	// Identity tells a file from all others; several says that it has more names than
	// one. It is zero where the system does not tell.
	Identity(path string) (id FileID, several bool)
	// Multiples are the files below dir that have more names than one. It looks at limit
	// files and directories.
	Multiples(dir string, limit int) []Multiple
	// Names are the paths below dirs of the files that are wanted. It looks at a limited
	// number of files.
	Names(wanted map[FileID]bool, dirs []string) map[FileID][]string
}

var ErrSymlink = errors.New("a protected name is a symbolic link; replace it by what it points to")

// Resolve makes the plan of a policy on the disk as it is now.
func (p Policy) Resolve() (Plan, error) {
	if p.Session != nil {
		return p.Session.Resolve(p)
	}
	return Resolve(p, Disk{})
}

// Resolve makes a plan. Errors name the path of the policy that cannot be met. Even
// with an error the plan answers questions about paths, as strictly as it can.
func Resolve(p Policy, v View) (Plan, error) {
	plan := Plan{Mode: p.Mode, Cwd: p.Cwd, Network: p.Network, LockDir: p.LockDir, Limits: p.Limits, Backend: p.Backend}
	switch p.Mode {
	case FullAccess:
		plan.answers = &answers{everything: true}
		return plan, nil
	case ReadOnly, WorkspaceWrite:
	default:
		return Plan{}, fmt.Errorf("sandbox mode %q: must be %s, %s or %s", p.Mode, ReadOnly, WorkspaceWrite, FullAccess)
	}
	if p.Network && (p.Limited || len(p.Domains) > 0) {
		plan.Network, plan.Proxy = false, &Filter{p.Domains, p.Limited, p.Ask, p.Log, p.Allows}
	}
	r := resolver{view: v, plan: &plan, access: make(map[string]Access), why: make(map[string]string),
		closed: make(map[string]bool), later: make(map[string]entry), seen: make(map[string]state),
		session: p.Session, home: p.Home, table: v.Mounts(), aliased: make(map[string]bool)}
	plan.NoTmpdir = p.NoTmp || p.NoTmpdir
	cwd, err := v.Real(p.Cwd)
	if err != nil {
		err = fmt.Errorf("sandbox: working directory: %w", err)
	} else {
		plan.Cwd = cwd
	}
	for _, root := range p.Roots {
		if real, err := v.Real(root); err == nil && !p.Session.exchanged(root, real) {
			r.places = append(r.places, real)
		}
	}
	err = errors.Join(p.Fault, err, r.grants(p))
	r.temporary(p)
	done := make(map[string]bool)
	r.alsoMounted(done) // first: nothing is kept fit for commits in what a rule closes
	err = errors.Join(err, r.protect(p))
	r.alsoMounted(done)
	r.alsoKnownAs()
	r.pinClosed()
	r.finish()
	plan.answers = r.answers()
	plan.before = plan.sightings(r.found)
	return plan, oneLine(err)
}

// oneLine is the first of several errors: one is mended after the other.
func oneLine(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return oneLine(joined.Unwrap()[0])
	}
	return err
}

// resolver collects what each path gets.
type resolver struct {
	view     View
	plan     *Plan
	access   map[string]Access // by real path
	why      map[string]string // of access
	closed   map[string]bool   // what is read-only because only the user changes it
	later    map[string]entry  // what rules close that is not there yet
	seen     map[string]state  // what stands at paths
	table    []mounts.Point    // of the machine
	aliased  map[string]bool   // what has its access since it is also something else
	roots    []string          // what the policy makes writable
	places   []string          // the directories of the workspace, in every mode
	patterns []rulePattern
	session  *Session
	tmp      *Mount
	home     string   // of the user
	byLink   []Rule   // whose path passes a link of the workspace
	found    []string // repositories and directories of Kerf below the roots
	pins     []pinned // for pinClosed
}

func (r *resolver) grants(p Policy) error {
	rules := make([]Rule, 0, len(p.Roots)+len(p.Rules)+len(p.DenyRead))
	for _, root := range p.Roots { // what is below DenyRead has to be opened to be read
		hidden := func(dir string) bool { return pathname.Inside(dir, root) }
		if p.Mode == WorkspaceWrite || slices.ContainsFunc(p.DenyRead, hidden) {
			rules = append(rules, Rule{Path: root, Access: Write, Why: "a directory of the workspace"})
		}
	}
	rules = append(rules, p.Rules...)
	for i := range rules {
		if rules[i].Access == Write && p.Mode == ReadOnly {
			rules[i].Access = Read
		}
	}
	for _, path := range p.DenyRead {
		rules = append(rules, Rule{Path: path, Access: None, Why: "Kerf keeps its own settings and keys there"})
	}
	rules, fault := r.expanded(rules)
	var missing []Rule
	for _, rule := range rules {
		path, err := r.place(rule)
		if err == nil && r.session.exchanged(rule.Path, path) {
			path, err = "", fmt.Errorf("a link leads to %s by now", path)
		}
		for _, old := range r.session.meant(rule, path) {
			if _, err := r.view.Lstat(old); err == nil && r.access[old] == "" {
				r.access[old], r.why[old] = rule.Access, whyRule(rule)
			}
		}
		switch {
		case err == nil && r.passesLink(p.Roots, rule.Path, path):
			r.byLink = append(r.byLink, Rule{path, rule.Access, whyRule(rule)})
		case err == nil:
			r.access[path], r.why[path] = rule.Access, whyRule(rule)
			if rule.Access == Write {
				r.roots = append(r.roots, path)
			}
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, rule)
		default:
			fault = errors.Join(fault, fmt.Errorf("sandbox: %s: %w", rule.Path, err))
		}
	}
	for _, rule := range r.byLink {
		if now := r.effective(rule.Path); now != Write && rule.Access == Write {
			fault = errors.Join(fault, fmt.Errorf(
				"sandbox: %s leads to %s by a link in the workspace; name that itself", rule.Why, rule.Path))
		} else if rule.Access == None || now == Write && rule.Access == Read {
			r.access[rule.Path], r.why[rule.Path] = rule.Access, rule.Why
		}
	}
	for _, rule := range missing {
		if path := r.lead(filepath.Clean(rule.Path)); rule.Access != Write {
			r.missing(rule, path)
		} else if r.effective(path) != Write { // it grants nothing otherwise: a command may have moved what was there
			fault = errors.Join(fault, fmt.Errorf("sandbox: %s: %w", rule.Path, fs.ErrNotExist))
		}
	}
	return fault
}

// expanded puts in the place of each rule with a pattern a rule for each match.
// Those come first: a path that is spelled out is more specific than a pattern
// that it matches. What comes to be while a command runs is found by the next.
func (r *resolver) expanded(rules []Rule) (all []Rule, fault error) {
	var matched, plain []Rule
	for _, rule := range rules {
		if !strings.ContainsAny(rule.Path, "*?[{") {
			plain = append(plain, rule)
			continue
		}
		if rule.Access == Write {
			fault = errors.Join(fault, fmt.Errorf("sandbox: %s: a pattern can be read or none, not write", rule.Path))
			continue
		}
		r.notePattern(rule)
		paths, err := r.view.Match(rule.Path)
		if err != nil {
			fault = errors.Join(fault, fmt.Errorf("sandbox: %s: %w", rule.Path, err))
		}
		var linked []string
		for _, path := range paths {
			if r.at(path) != link {
				matched = append(matched, Rule{path, rule.Access, whyRule(rule)})
			} else if path = r.linked(rule.Path, path); path != "" {
				linked = append(linked, path)
			}
		}
		for _, path := range append(r.session.matched(rule.Path, linked), linked...) {
			if _, err := r.view.Lstat(path); err == nil {
				r.byLink = append(r.byLink, Rule{path, rule.Access, whyRule(rule)})
			}
		}
	}
	return append(matched, plain...), fault
}

// passesLink reports whether a rule for what lies in the workspace means something else by a
// link there. A repository can hold such links, so that the rule closes and never opens.
func (r *resolver) passesLink(roots []string, path, real string) bool {
	for _, root := range slices.Concat(r.places, roots) {
		rel, ok := pathname.Rel(root, filepath.Clean(path))
		top, err := r.view.Real(root)
		if ok && err == nil {
			return filepath.Join(top, rel) != real
		}
	}
	return false
}

// linked is what a link leads to that a pattern matched, or empty where no rule can be about
// it: the kernel's own files, which are others for each process, and a directory in which the
// pattern itself looks. A repository can hold such links.
func (r *resolver) linked(pattern, path string) string {
	real, err := r.view.Real(path)
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	if err != nil || inSystem(real) || pathname.Under(real, filepath.FromSlash(base)) {
		return ""
	}
	return real
}

// inSystem reports whether path is one of the kernel's own. What lies in shared memory are
// files like others; commands get a /dev/shm of their own.
func inSystem(path string) bool {
	within := func(system string) bool { return pathname.Under(system, path) }
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, within) && (path == "/dev/shm" || !within("/dev/shm"))
}

// notePattern keeps a pattern for what comes to be later.
func (r *resolver) notePattern(rule Rule) {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(rule.Path))
	if !doublestar.ValidatePattern(rest) {
		return
	}
	base = filepath.FromSlash(base)
	if real, err := r.view.Real(base); err == nil {
		base = real
	}
	for _, at := range mounts.Others(r.table, base) { // of a part of base this may close more than was asked for
		if rule.Access != Write {
			r.patterns = append(r.patterns, rulePattern{at, rest, rule})
		}
	}
	r.patterns = append(r.patterns, rulePattern{base, rest, rule})
}

var errForbidden = errors.New("the system's own directories cannot be granted")

func (r *resolver) place(rule Rule) (string, error) {
	switch rule.Access {
	case Read, Write, None:
	default:
		return "", fmt.Errorf("access %q must be read, write or none", rule.Access)
	}
	if !filepath.IsAbs(rule.Path) {
		return "", errors.New("the path must be absolute")
	}
	path, err := r.view.Real(rule.Path)
	if err != nil {
		return "", err
	}
	if path == "/" && rule.Access != Read || rule.Access == Write && inSystem(path) {
		return "", errForbidden
	}
	return path, nil
}

// missing covers a path that a rule closes and that is not there: commands do not make it, and
// when others do the rule holds for the file tools at once.
func (r *resolver) missing(rule Rule, path string) {
	r.later[path] = entry{access: rule.Access, why: whyRule(rule)}
	if above := filepath.Dir(path); r.at(above) == dir && r.effective(above) == Write {
		r.mask(MaskSocket, path, "")
	}
}

// lead is the path that a name leads to, whether or not something is there.
func (r *resolver) lead(path string) string {
	rest := ""
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if found, err := r.view.Real(at); err == nil {
			return filepath.Join(found, rest)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
	return path
}

// effective is what the most specific entry above or at path grants.
func (r *resolver) effective(path string) Access {
	for {
		if a, ok := r.access[path]; ok {
			return a
		}
		if r.tmp != nil && r.tmp.Path == path {
			return None // what is there outside is not there inside
		}
		parent := filepath.Dir(path)
		if parent == path {
			return Read
		}
		path = parent
	}
}

func (r *resolver) temporary(p Policy) {
	tmp, err := r.view.Real("/tmp")
	if err != nil {
		return
	}
	if p.SharedTmp && !p.NoTmp {
		if _, ruled := r.access[tmp]; !ruled && p.Mode == WorkspaceWrite {
			r.access[tmp], r.why[tmp] = Write, "sandbox_workspace_write.shared_tmp"
		}
		return
	}
	if _, ruled := r.access[tmp]; ruled {
		return // /tmp itself was granted or closed
	}
	r.tmp = &Mount{Kind: MountTmp, Path: tmp, Source: p.TmpDir}
	if p.NoTmp {
		r.tmp.Kind = MountHideDir
	}
	if pathname.Under(tmp, r.plan.Cwd) && r.effective(r.plan.Cwd) == None && !r.denied(r.plan.Cwd) {
		r.access[r.plan.Cwd], r.why[r.plan.Cwd] = Read, "the working directory"
	}
}

// denied reports whether an entry, not merely the private /tmp, closes path.
func (r *resolver) denied(path string) bool {
	closes := func(dir string) bool { return r.access[dir] == None && pathname.Under(dir, path) }
	return slices.ContainsFunc(r.paths(), closes)
}

// mask has a placeholder made, unless neither Kerf nor a command can make anything there, or
// commands do not see the place.
func (r *resolver) mask(kind MaskKind, path, content string) (made bool) {
	if r.effective(filepath.Dir(path)) == None {
		return false
	}
	if _, ever := r.view.Makes(filepath.Dir(path)); !ever {
		r.plan.Untouched = append(r.plan.Untouched, Name{path, true})
		return false
	}
	r.plan.Masks = append(r.plan.Masks, Mask{kind, path, content})
	return true
}

// finish orders the mounts: parents before what lies in them.
func (r *resolver) finish() {
	var mounts []Mount
	order.By(r.plan.Masks, func(a, b Mask) int { return strings.Compare(a.Path, b.Path) })
	r.plan.Masks = slices.CompactFunc(r.plan.Masks, func(a, b Mask) bool { return a.Path == b.Path })
	for path, a := range r.access {
		mounts = append(mounts, r.mount(path, a))
	}
	for _, m := range r.plan.Masks {
		mounts = append(mounts, Mount{Kind: MountRead, Path: m.Path})
	}
	if r.tmp != nil {
		if r.plan.Mode == ReadOnly || r.tmp.Kind == MountHideDir {
			r.tmp.Kind, r.tmp.Source, r.tmp.Pass = MountHideDir, "", true
		}
		mounts = append(mounts, *r.tmp)
	}
	order.By(mounts, func(a, b Mount) int {
		if d := depth(a.Path) - depth(b.Path); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	for i, m := range mounts {
		if m.Kind == MountHideDir {
			for _, n := range mounts[i+1:] {
				mounts[i].Pass = mounts[i].Pass || pathname.Under(m.Path, n.Path)
			}
		}
	}
	r.plan.Mounts = mounts
	slices.Sort(r.plan.GitDirs)
	r.plan.GitDirs = slices.Compact(r.plan.GitDirs)
	for _, dir := range r.plan.GitDirs {
		r.plan.Links = append(r.plan.Links, r.view.Links(dir)...)
	}
}

func (r *resolver) mount(path string, a Access) Mount {
	switch a {
	case Write:
		return Mount{Kind: MountWrite, Path: path}
	case Read:
		return Mount{Kind: MountRead, Path: path}
	}
	if info, err := r.view.Lstat(path); err == nil && !info.IsDir() {
		return Mount{Kind: MountHideFile, Path: path}
	}
	return Mount{Kind: MountHideDir, Path: path}
}

func depth(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }

// TempDir is the host directory that serves as the session's own, if any.
func (p Plan) TempDir() string {
	for _, m := range p.Mounts {
		if m.Kind == MountTmp {
			return m.Source
		}
	}
	return ""
}

// WritableRoots returns the directories from which no helper may be taken.
func (p Plan) WritableRoots() []string {
	dirs := []string{p.Cwd}
	for _, m := range p.Mounts {
		switch m.Kind {
		case MountWrite:
			dirs = append(dirs, m.Path)
		case MountTmp:
			dirs = append(dirs, m.Path)
			if m.Source != "" {
				dirs = append(dirs, m.Source)
			}
		}
	}
	return dirs
}
