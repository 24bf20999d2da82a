package config

import (
	"path/filepath"
	"slices"

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
func (c *Config) Trust(root string) TrustState {
	p, ok := c.projectAt(root)
	switch {
	case !ok || p.TrustLevel == "":
		return Undecided
	case p.TrustLevel != "trusted":
		return Untrusted
	case len(p.TrustedHash) == 0:
		return Trusted
	}
	now, err := trust.Hash(root, c.Cwd, c.Home)
	if err != nil || !slices.Contains(p.TrustedHash, now) {
		return Changed
	}
	return Trusted
}

func (c *Config) projectAt(root string) (Project, bool) {
	root = filepath.Clean(root)
	if p, ok := c.Projects[root]; ok {
		return p, true
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Project{}, false
	}
	p, ok := c.Projects[real]
	return p, ok
}
