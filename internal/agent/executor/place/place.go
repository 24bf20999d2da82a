// Package place tells what the machine knows of the place where a command runs.
package place

import (
	"path/filepath"
	"strings"
	"sync"

	"kerf/internal/agent/policy"
	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/granted"
	"kerf/internal/work/proc"
	"kerf/internal/work/repo"
)

// Place is what is known for commands with one environment. It implements policy.Place.
type Place struct {
	// policy and granted are worked out when they are asked for: most commands are judged
	// without.
	policy  func() boundary.Policy
	granted func() granted.Trees
	env     []string
	stray   bool // PATH has an entry that depends on the directory
	cdPath  bool
}

var _ policy.Place = (*Place)(nil)

// New returns the place of commands that get env, while others may write what the policy
// says. The policy is asked for once, if at all.
func New(policy func() boundary.Policy, env []string) *Place {
	p := &Place{env: env, policy: sync.OnceValue(policy)}
	p.granted = sync.OnceValue(func() granted.Trees { return granted.Of(p.policy()) })
	for _, kv := range env {
		p.cdPath = p.cdPath || strings.HasPrefix(kv, "CDPATH=") && kv != "CDPATH="
		path, ok := strings.CutPrefix(kv, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if ok && !filepath.IsAbs(dir) {
				p.stray = true
			}
		}
	}
	return p
}

func real(path string) string {
	name, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return name
}

// Real is the name of a directory with all links followed.
func (p *Place) Real(dir string) (string, bool) {
	name := real(dir)
	return name, name != "" && filepath.IsAbs(name)
}

// Cd is the directory that a shell in dir goes to. Shells take a .. away from the name by
// which they came, the system from where they are: where both differ it is not known.
func (p *Place) Cd(dir, to string) (string, bool) {
	if !filepath.IsAbs(to) {
		dotted := to == "." || to == ".." || strings.HasPrefix(to, "./") || strings.HasPrefix(to, "../")
		if p.cdPath && !dotted {
			return "", false
		}
		to = dir + string(filepath.Separator) + to
	}
	spelled := filepath.Clean(to)
	physical, logical := real(to), real(spelled)
	return spelled, physical != "" && physical == logical
}

// Repo is the root of the repository that holds dir, or empty.
func (p *Place) Repo(dir string) string {
	root, _, ok := repo.Find(dir)
	if !ok {
		return ""
	}
	return root
}

// Program is the file that a command of this name starts, with all links followed, and
// whether commands in the sandbox may write it or put another one before it.
func (p *Place) Program(name string) (path string, changeable bool) {
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		return "", true
	}
	file, err := proc.Lookup(name, "", p.env)
	if err != nil {
		return "", p.stray
	}
	path = real(file)
	if path == "" {
		return file, true
	}
	for _, name := range []string{file, path, real(filepath.Dir(file))} {
		changeable = changeable || p.granted().Covers(name)
	}
	return path, changeable || p.stray
}

// Runs says which program git would start in dir because of the repository there.
func (p *Place) Runs(dir string) string { return repo.Runs(dir) }
