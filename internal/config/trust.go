package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// TrustState is what the user said of a directory, held against what is there.
type TrustState string

// The states of trust. Only Trusted lets a project's files count.
const (
	Trusted   TrustState = "trusted"
	Untrusted TrustState = "untrusted"
	Undecided TrustState = "undecided"
	// Changed means that the user trusted other content than is there now.
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
	now, err := ContentHash(root, c.Cwd, c.Home)
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

// ContentHash identifies what a project could make count: the names, modes and
// bytes of everything in the .kerf directories from root down to cwd, KERF_HOME
// excepted. Links and other irregular files cannot be bound and are an error.
func ContentHash(root, cwd, home string) (string, error) {
	h := &treeHash{sum: sha256.New()}
	inside := cwd
	if rel, err := filepath.Rel(root, cwd); err != nil || !filepath.IsLocal(rel) {
		inside = root
	}
	for _, dir := range chain(filepath.Clean(root), filepath.Clean(inside)) {
		if isHome(dir, home) {
			continue
		}
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return "", fmt.Errorf("hash %s: %w", dir, err)
		}
		if err := h.add(dir, filepath.ToSlash(rel)); err != nil {
			return "", fmt.Errorf("hash %s: %w", filepath.Join(dir, ".kerf"), err)
		}
	}
	return hex.EncodeToString(h.sum.Sum(nil)), nil
}

// treeHash hashes directories. The bounds keep a hostile repository from
// holding up the start.
type treeHash struct {
	sum   hash.Hash
	files int
	bytes int64
}

const (
	maxTrustFiles = 10_000
	maxTrustBytes = 64 << 20
)

func (h *treeHash) add(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(".kerf"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fs.WalkDir(root.FS(), ".kerf", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if h.files++; h.files > maxTrustFiles {
			return fmt.Errorf("more than %d files", maxTrustFiles)
		}
		h.field(name)
		h.field(path)
		if e.IsDir() {
			h.field("dir")
			return nil
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file; trust cannot be bound to it", path)
		}
		h.field("file " + strconv.FormatBool(info.Mode()&0o111 != 0))
		return h.file(root, path)
	})
}

// field writes s with its length, so that no two trees read alike.
func (h *treeHash) field(s string) { fmt.Fprintf(h.sum, "%d:%s\n", len(s), s) }

func (h *treeHash) file(root *os.Root, path string) error {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return err
	}
	defer f.Close()
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, maxTrustBytes+1-h.bytes))
	if err != nil {
		return err
	}
	if h.bytes += n; h.bytes > maxTrustBytes {
		return fmt.Errorf("more than %d bytes", int64(maxTrustBytes))
	}
	h.field(hex.EncodeToString(content.Sum(nil)))
	return nil
}

// keptHashes is how many contents of one project stay trusted: enough to move
// between branches without being asked again.
const keptHashes = 16

// TrustProject records in home's config.toml that the user trusts root with
// the content of the given hash, which is ContentHash's.
func TrustProject(home, root, hash string) error {
	return decide(home, root, func(doc []byte) ([]byte, error) {
		known, err := trustedHashes(doc, root)
		if err != nil {
			return nil, err
		}
		known = slices.DeleteFunc(known, func(h string) bool { return h == hash })
		known = append(known, hash)
		known = known[max(0, len(known)-keptHashes):]
		return edits(doc, setting{[]string{"projects", root, "trust_level"}, "trusted"},
			setting{[]string{"projects", root, "trusted_hash"}, known})
	})
}

// DistrustProject records in home's config.toml that the user does not trust
// root, whatever it holds.
func DistrustProject(home, root string) error {
	return decide(home, root, func(doc []byte) ([]byte, error) {
		return edits(doc, setting{[]string{"projects", root, "trust_level"}, "untrusted"})
	})
}

func decide(home, root string, edit func([]byte) ([]byte, error)) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("trust %s: not an absolute path", root)
	}
	return rewrite(filepath.Join(home, "config.toml"), edit)
}

func trustedHashes(doc []byte, root string) ([]string, error) {
	v, err := parse("config.toml", doc)
	if err != nil {
		return nil, err
	}
	old := v.get("projects", root, "trusted_hash")
	if old == nil {
		return nil, nil
	}
	if s, ok := old.leaf.(string); ok {
		return []string{s}, nil
	}
	var known []string
	list, _ := old.leaf.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			known = append(known, s)
		}
	}
	return known, nil
}
