// Package homes names the directories in which Kerf keeps what happened in workspaces.
package homes

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// For returns the directory of the workspace whose first root is roots[0], below
// kerfHome, and makes it, with a file "root" that names the root. Trouble with making
// it shows when something is written there.
func For(kerfHome string, roots []string) string {
	first := ""
	if len(roots) > 0 {
		first = roots[0]
	}
	home := Of(kerfHome, first)
	name := filepath.Join(home, "root")
	if _, err := os.Stat(name); err != nil && os.MkdirAll(home, 0o700) == nil {
		_ = os.WriteFile(name, []byte(realRoot(first)+"\n"), 0o600)
	}
	return home
}

// Of is For without making anything.
func Of(kerfHome, root string) string {
	sum := sha256.Sum256([]byte(realRoot(root)))
	return filepath.Join(All(kerfHome), hex.EncodeToString(sum[:8]))
}

// All has the directories of all workspaces.
func All(kerfHome string) string { return filepath.Join(kerfHome, "workspaces") }

func realRoot(root string) string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return filepath.ToSlash(filepath.Clean(root))
}
