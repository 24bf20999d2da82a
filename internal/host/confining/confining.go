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
	// Home and Tmp are the user's HOME and TMPDIR.
	Home, Tmp string
	// Roots are the directories of the workspace.
	Roots []string
	// Private becomes /tmp inside; see [boundary.Policy].
	Private string
}

// Policy makes the policy of each sandbox mode. Package boundary knows the modes by the
// words of the configuration.
func Policy(c *config.Config, p Place) func(mode string) boundary.Policy {
	profile := c.Permissions[c.DefaultPermissions]
	own, fault := rules.Permissions(profile.Filesystem, rules.Places{Home: p.Home, Roots: p.Roots, Tmp: p.Tmp})
	// The user's own come last and win.
	all := append(rules.HideHomeSecrets(p.Home, p.Roots), own...)
	allows := hosts.Allows(profile.Network.Domains)
	return func(mode string) boundary.Policy {
		network := profile.Network.Enabled || c.WorkspaceWrite.NetworkAccess && mode == boundary.WorkspaceWrite
		return boundary.Policy{Mode: mode, Roots: p.Roots, Network: network, Domains: profile.Network.Domains,
			Limited: profile.Network.Mode == "limited", Allows: allows,
			Limits: sandbox.DefaultLimits(),
			TmpDir: p.Private, SharedTmp: c.WorkspaceWrite.SharedTmp,
			NoTmp: c.WorkspaceWrite.ExcludeSlashTmp, NoTmpdir: c.WorkspaceWrite.ExcludeTmpdirEnvVar,
			Rules: all, Fault: fault, DenyRead: []string{c.Home}, Home: p.Home,
			LockDir: filepath.Join(c.Home, "locks")}
	}
}

// Hidden says why dir is closed to clients that name it themselves: the plan of the directories
// that the user named, those of p, hides it. It is empty where that does not. To begin a
// session in a hidden place, or to add it, is the user's own choice.
func Hidden(c *config.Config, p Place, dir string) string {
	policy := Policy(c, p)(boundary.ReadOnly)
	policy.Cwd, policy.SharedTmp, policy.NoTmp = c.Cwd, true, false // a directory in /tmp is as good as another one
	plan, _ := policy.Resolve()                                     // it answers as strictly as it can
	if _, v := plan.Named(c.Cwd, dir); v.Access == boundary.Hidden {
		return v.Why
	}
	return ""
}
