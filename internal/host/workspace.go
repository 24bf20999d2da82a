package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/agent/session"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
	"kerf/internal/work/proc"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/scan"
	"kerf/internal/work/search"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// workspace is the writable roots of a session with what Kerf keeps about them.
type workspace struct {
	roots    []string
	dir      string // below KERF_HOME/workspaces
	tree     *tree.Tree
	store    *store.Store
	ledger   *ledger.Ledger
	work     *txn.Workspace
	scanner  *scan.Scanner
	unscan   string
	warnings []string
}

func (w *workspace) close() {
	_ = w.work.Close()
	_ = w.ledger.Close()
	_ = w.store.Close()
}

// openWorkspace opens the workspace of the settings. With full access the file
// tools reach everything, and the first root still is where changes are kept.
func (h *Host) openWorkspace(set protocol.Settings, addDirs []string) (*workspace, error) {
	roots, err := h.roots(set.Cwd, addDirs)
	if err != nil {
		return nil, err
	}
	w := &workspace{roots: roots}
	reach := roots
	if set.Sandbox == protocol.SandboxFull {
		reach = append([]string{roots[0]}, rootOf(roots[0]))
	}
	w.tree, err = tree.Open(tree.Options{Roots: reach, Cwd: set.Cwd, Protected: protected(set.Sandbox)})
	if err != nil {
		return nil, err
	}
	w.dir = txn.HomeFor(h.Config.Home, roots)
	if w.store, err = store.Open(filepath.Join(w.dir, "store")); err != nil {
		return nil, err
	}
	if w.ledger, err = ledger.Open(w.dir); err != nil {
		return nil, err
	}
	w.work, err = txn.Open(txn.Options{Tree: w.tree, Store: w.store, Ledger: w.ledger, Dir: w.dir, Durable: true})
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", roots[0], err)
	}
	w.openScanner()
	if set.Sandbox != protocol.SandboxFull {
		if warning := sandbox.Warning(context.Background(), filepath.Join(h.Config.Home, "locks"), roots...); warning != "" {
			w.warnings = append(w.warnings, warning)
		}
	}
	return w, nil
}

func (w *workspace) openScanner() {
	s, err := scan.Open(scan.Options{Roots: w.roots, Store: w.store})
	switch {
	case err != nil:
		w.unscan = err.Error()
	case !s.Enabled():
		w.unscan = s.Reason()
	default:
		w.scanner = s
		return
	}
	w.warnings = append(w.warnings, "what commands change is not tracked here: "+w.unscan)
}

// rootOf is the root of path's volume.
func rootOf(path string) string {
	return filepath.VolumeName(path) + string(filepath.Separator)
}

// roots are the writable roots: the working directory, then what was added.
func (h *Host) roots(cwd string, addDirs []string) ([]string, error) {
	roots := []string{cwd}
	for _, dir := range append(append([]string{}, addDirs...), h.Config.WorkspaceWrite.WritableRoots...) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		st, err := os.Stat(dir)
		if err != nil || !st.IsDir() {
			return nil, fmt.Errorf("writable root %s is not a directory", dir)
		}
		roots = append(roots, filepath.Clean(dir))
	}
	return roots, nil
}

// runs names what git or Kerf would run or follow when it is changed. The file
// tools refuse it in a confined session, as the sandbox does for commands.
var runs = []string{"hooks", "config", "config.worktree", "info/attributes", "info/grafts", "commondir",
	"objects/info/alternates", "modules"}

// protected refuses writes to the parts of a root that run or redirect.
func protected(mode protocol.SandboxMode) func(root, rel string) error {
	if mode == protocol.SandboxFull {
		return nil
	}
	return func(_, rel string) error {
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for i, p := range parts {
			switch strings.ToLower(p) {
			case ".kerf":
				return fmt.Errorf("%s is protected: Kerf's own settings are changed by the user only", rel)
			case ".git":
				if why := gitPart(parts[i+1:]); why != "" {
					return fmt.Errorf("%s is protected: %s", rel, why)
				}
			}
		}
		return nil
	}
}

func gitPart(rest []string) string {
	inside := strings.ToLower(strings.Join(rest, "/"))
	if inside == "" {
		return "a .git of this kind redirects git"
	}
	for _, r := range runs {
		if inside == r || strings.HasPrefix(inside, r+"/") {
			return "git runs or follows it"
		}
	}
	if strings.HasPrefix(inside, "worktrees/") {
		return "git follows it"
	}
	return ""
}

// handsOptions joins the configuration with what Hands need.
func (h *Host) handsOptions(ws *workspace, set protocol.Settings, o protocol.OpenOptions, l *log, private string) session.HandsOptions {
	base := set.Cwd
	if root, _, ok := repo.Find(set.Cwd); ok {
		base = root
	}
	ho := session.HandsOptions{
		Cwd: set.Cwd, Base: base, Tree: ws.tree, Work: ws.work, Images: ws.store.Get,
		Scanner: ws.scanner, Unscanned: ws.unscan, Search: search.New(search.Options{Roots: ws.roots}),
		Sandbox: h.policy(ws.roots, private),
		Env:     h.childEnv(l.id),
		Origin:  txn.Origin{Session: string(l.id), Client: orElse(o.Source, "kerf")},
		Client:  o.Client, Keep: ws.store.Put, OutputTokens: h.Config.ToolOutputTokenLimit, Headless: o.Headless,
		Fleeting: o.Ephemeral,
	}
	if h.Config.EditCorrection.Enabled {
		ho.CorrectModel = orElse(h.Config.EditCorrection.Model, set.Model)
	}
	if l.writer != nil {
		ho.SaveDiff = l.writer.SaveDiff
		ho.Transcript = filepath.Join(l.dir, "rollout.jsonl")
	}
	if l.state != nil {
		ho.Seen = l.state.Seen
	}
	return ho
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// policy makes the sandbox policy of a command.
func (h *Host) policy(roots []string, private string) func(protocol.SandboxMode) sandbox.Policy {
	c := h.Config
	profile := c.Permissions[c.DefaultPermissions]
	rules := append(h.hiddenHome(roots), rulesOf(profile)...) // the user's own come last and win
	return func(mode protocol.SandboxMode) sandbox.Policy {
		network := profile.Network.Enabled || c.WorkspaceWrite.NetworkAccess && mode == protocol.SandboxWorkspace
		return sandbox.Policy{Mode: string(mode), Roots: roots, Network: network, Domains: profile.Network.Domains, Limits: sandbox.DefaultLimits(),
			TmpDir: private, SharedTmp: c.WorkspaceWrite.SharedTmp, Rules: rules, DenyRead: []string{c.Home},
			LockDir: filepath.Join(c.Home, "locks")}
	}
}

func rulesOf(p config.Permission) []sandbox.Rule {
	var rules []sandbox.Rule
	for path, access := range p.Filesystem {
		rules = append(rules, sandbox.Rule{Path: path, Access: sandbox.Access(access)})
	}
	return rules
}

// childEnv makes the environment of commands.
func (h *Host) childEnv(id protocol.SessionID) func(bool) []string {
	se := h.Config.ShellEnvironment
	p := proc.EnvPolicy{Inherit: se.Inherit, IgnoreDefaultExcludes: se.IgnoreDefaultExcludes, Exclude: se.Exclude,
		IncludeOnly: se.IncludeOnly, Set: se.Set, TTY: false, Session: string(id)}
	return func(tty bool) []string {
		p := p
		p.TTY = tty
		return proc.Environment(h.Env, p)
	}
}
