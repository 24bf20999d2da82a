package config

import (
	"fmt"
	"os"
	"path/filepath"

	"kerf/internal/pathname"
)

// ProgramDir is the directory in which a program that the user configured starts: dir
// if it is absolute, below cwd if it is relative, and without one an empty directory
// of Kerf's own. Programs such as npx look for their parts in the directory where they
// start and above it; there they find none of a project's. A relative dir means one
// in the project, so the project must be trusted.
func (c *Config) ProgramDir(dir, cwd string) (string, error) {
	switch {
	case filepath.IsAbs(dir):
		return dir, nil
	case dir == "":
		return c.neutralDir(), nil
	case c.Trust(c.Root) != Trusted:
		return "", fmt.Errorf("cwd %q lies in the project, which is not trusted; run: kerf trust, or give an absolute cwd",
			dir)
	}
	return filepath.Join(cwd, dir), nil
}

// HookDir is the directory in which the user's hooks start: cwd in a trusted project,
// an empty one in others.
func (c *Config) HookDir(cwd string) string {
	if c.Trust(c.Root) == Trusted {
		return cwd
	}
	return c.neutralDir()
}

// neutralDir is a directory in which there is nothing to find. Its node_modules, which
// is empty, ends the search of node's programs should Kerf's home lie in a project.
func (c *Config) neutralDir() string {
	dir := filepath.Join(c.Home, "programs")
	err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o700)
	if st, lost := os.Lstat(dir); err != nil || lost != nil || !st.IsDir() {
		return filepath.VolumeName(c.Home) + string(filepath.Separator) // Kerf's home cannot be written
	}
	return dir
}

// Workspaces are the directories whose programs Kerf does not start by their bare
// names: cwd, the project and the writable roots. One that holds the user's home is
// none of them, because the user's own programs lie there, too.
func (c *Config) Workspaces(cwd string, more ...string) []string {
	home, err := os.UserHomeDir()
	var dirs []string
	for _, dir := range append(append([]string{cwd, c.Root}, c.WorkspaceWrite.WritableRoots...), more...) {
		if filepath.IsAbs(dir) && (err != nil || !pathname.Inside(dir, home)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// OwnKey reports whether an environment variable is a key that Kerf itself uses: for
// models, or for those who ask its MCP server. That commands do not get it goes without
// saying.
func (c *Config) OwnKey(name string) bool {
	if name == "CODEX_API_KEY" || name == "KERF_MCP_TOKEN" {
		return true
	}
	for _, p := range c.Providers {
		if name == p.EnvKey && name != "" {
			return true
		}
	}
	return false
}
