package config

import (
	"path/filepath"
	"slices"

	"kerf/internal/config/peers"
	"kerf/internal/config/trust"
)

// TrustState is the user's decision about a directory, compared with what is there.
type TrustState string

// The states of trust. Only Trusted lets a project's files count.
const (
	Trusted   TrustState = "trusted"
	Untrusted TrustState = "untrusted"
	Undecided TrustState = "undecided"
	// Changed means that the content is not the one that the user trusted.
	Changed TrustState = "changed"
)

// Trust says whether the .kerf directories from root down to the working
// directory are trusted as they are now. What cannot be read is not trusted.
func (c *Config) Trust(root string) TrustState { return c.trustOf(root, trust.Once()) }

// trustOf is Trust, with what files has of other agents' files.
func (c *Config) trustOf(root string, files peers.Files) TrustState {
	p, ok := c.projectAt(root)
	if from := trust.MadeFrom(c.Home, root); from != "" && p.TrustLevel == "" {
		p, ok = c.projectAt(from)
	}
	switch {
	case !ok || p.TrustLevel == "":
		return Undecided
	case p.TrustLevel != "trusted":
		return Untrusted
	case len(p.TrustedHash) == 0:
		return Trusted
	}
	now, err := trust.HashOf(root, c.Cwd, c.Home, files)
	if err != nil || !slices.Contains(p.TrustedHash, now) {
		return Changed
	}
	return Trusted
}

// Undecided reports whether nothing says what may be done in the project: neither the user's
// trust, nor a sandbox mode of any layer, nor a requirement.
func (c *Config) Undecided() bool {
	return c.Trust(c.Root) == Undecided && c.SandboxMode == "" && c.Required.SandboxModes == nil
}

func (c *Config) projectAt(root string) (Project, bool) {
	root = filepath.Clean(root)
	if p, ok := c.Projects[root]; ok || len(c.Projects) == 0 {
		return p, ok
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Project{}, false
	}
	p, ok := c.Projects[real]
	return p, ok
}
