// Package confining makes the boundaries of what the user configured.
package confining

import (
	"path/filepath"

	"kerf/internal/config"
	"kerf/internal/work/boundary"
	"kerf/internal/work/boundary/rules"
	"kerf/internal/work/hosts"
	"kerf/internal/work/sandbox"
)

// Place is where commands work and file tools reach.
type Place struct {
	// Getenv knows the user's HOME and TMPDIR.
	Getenv func(name string) string
	// Roots are the directories of the workspace.
	Roots []string
	// Private becomes /tmp inside; see [boundary.Policy].
	Private string
}

// Policy makes the policy of each sandbox mode. Package boundary knows the modes by the
// words of the configuration.
func Policy[Mode ~string](c *config.Config, p Place) func(Mode) boundary.Policy {
	home := p.Getenv("HOME")
	profile := c.Permissions[c.DefaultPermissions]
	own, fault := rules.Permissions(profile.Filesystem, rules.Places{Home: home, Roots: p.Roots, Tmp: p.Getenv("TMPDIR")})
	// The user's own come last and win.
	all := append(rules.HideHomeSecrets(home, p.Roots), own...)
	allows := hosts.Allows(profile.Network.Domains)
	return func(mode Mode) boundary.Policy {
		network := profile.Network.Enabled || c.WorkspaceWrite.NetworkAccess && mode == boundary.WorkspaceWrite
		return boundary.Policy{Mode: string(mode), Roots: p.Roots, Network: network, Domains: profile.Network.Domains,
			Limited: profile.Network.Mode == "limited", Allows: allows,
			Limits: sandbox.DefaultLimits(),
			TmpDir: p.Private, SharedTmp: c.WorkspaceWrite.SharedTmp,
			NoTmp: c.WorkspaceWrite.ExcludeSlashTmp, NoTmpdir: c.WorkspaceWrite.ExcludeTmpdirEnvVar,
			Rules: all, Fault: fault, DenyRead: []string{c.Home}, Home: home,
			LockDir: filepath.Join(c.Home, "locks")}
	}
}

// Beside is p with what Kerf keeps in scratch, if that is not empty, because nothing can be
// written to its home.
func Beside(scratch string, p boundary.Policy) boundary.Policy {
	if scratch != "" {
		p.LockDir, p.DenyRead = filepath.Join(scratch, "locks"), append(p.DenyRead, scratch)
	}
	return p
}

// Hides tells what the plan of p hides: it returns why a path is hidden, and nothing for one
// that is not. A directory in /tmp is as good as another one here.
func Hides(c *config.Config, p Place) func(path string) (why string) {
	policy := Policy[string](c, p)(boundary.ReadOnly)
	policy.Cwd, policy.SharedTmp, policy.NoTmp = c.Cwd, true, false
	plan, _ := policy.Resolve() // it answers as strictly as it can
	return func(path string) string {
		if _, v := plan.Named(c.Cwd, path); v.Access == boundary.Hidden {
			return v.Why
		}
		return ""
	}
}
