// Package trust reads the .kerf directories of a project safely and keeps the user's
// decision about what they hold.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"kerf/internal/config/document"
	"kerf/internal/config/edit"
	"kerf/internal/config/peers"
)

// Hash identifies what a project could set or run: the names, modes and
// bytes of everything in the .kerf directories from root down to cwd, KERF_HOME
// excepted, and what files of other agents there would have Kerf start.
// Links and other irregular files cannot be bound and are an error.
func Hash(root, cwd, home string) (string, error) { return HashOf(root, cwd, home, Once()) }

// HashOf is Hash, with what files has of other agents' files and, if it is from [Once], of
// those of the .kerf directories that were read.
func HashOf(root, cwd, home string, files peers.Files) (string, error) {
	h := &treeHash{sum: sha256.New()}
	h.read, _ = files.(*once)
	inside := cwd
	if rel, err := filepath.Rel(root, cwd); err != nil || !filepath.IsLocal(rel) {
		inside = root
	}
	for _, dir := range Chain(filepath.Clean(root), filepath.Clean(inside)) {
		if IsHome(dir, home) {
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
	for _, dir := range Directories(filepath.Clean(root), filepath.Clean(inside), home) {
		h.peers(root, dir, files)
	}
	return hex.EncodeToString(h.sum.Sum(nil)), nil
}

// peers adds what files of other agents in dir could have Kerf start. Where there are none
// it adds nothing.
func (h *treeHash) peers(root, dir string, files peers.Files) {
	told := peers.Told(dir, files)
	for _, name := range slices.Sorted(maps.Keys(told)) {
		rel, _ := filepath.Rel(root, dir) // dir lies in root
		h.field("peer " + filepath.ToSlash(rel))
		h.field(name)
		h.field(told[name])
	}
}

// treeHash hashes directories. The bounds keep a hostile repository from
// holding up the start.
type treeHash struct {
	sum   hash.Hash
	files int
	bytes int64
	read  *once // files that were read before; nil for none
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
	// A socket holds no settings. It is the placeholder of a session that runs or was killed.
	info, err := root.Lstat(".kerf")
	if errors.Is(err, fs.ErrNotExist) || err == nil && isPlaceholder(info) {
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
			return fmt.Errorf("%s is not a regular file, so it cannot be part of a trusted project", path)
		}
		h.field("file " + strconv.FormatBool(info.Mode()&0o111 != 0))
		if data, ok := h.read.held(dir, path); ok {
			return h.content(bytes.NewReader(data))
		}
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
	return h.content(f)
}

func (h *treeHash) content(r io.Reader) error {
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(r, maxTrustBytes+1-h.bytes))
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

// Accept records in home's config.toml that the user trusts root with
// the content of the given hash, which is Hash's.
func Accept(home, root, hash string) error {
	return decide(home, root, func(doc []byte) ([]byte, error) {
		known, err := trustedHashes(doc, root)
		if err != nil {
			return nil, err
		}
		known = slices.DeleteFunc(known, func(h string) bool { return h == hash })
		known = append(known, hash)
		known = known[max(0, len(known)-keptHashes):]
		return edit.Apply(doc, edit.Setting{Path: []string{"projects", root, "trust_level"}, Value: "trusted"},
			edit.Setting{Path: []string{"projects", root, "trusted_hash"}, Value: known})
	})
}

// Refuse records in home's config.toml that the user does not trust
// root, whatever it holds.
func Refuse(home, root string) error {
	return decide(home, root, func(doc []byte) ([]byte, error) {
		return edit.Apply(doc, edit.Setting{Path: []string{"projects", root, "trust_level"}, Value: "untrusted"})
	})
}

// decide changes home's config.toml.
func decide(home, root string, change func([]byte) ([]byte, error)) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("trust %s: not an absolute path", root)
	}
	return edit.Rewrite(filepath.Join(home, "config.toml"), change)
}

func trustedHashes(doc []byte, root string) ([]string, error) {
	v, err := document.Parse("config.toml", doc)
	if err != nil {
		return nil, err
	}
	old := v.Get("projects", root, "trusted_hash")
	if old == nil {
		return nil, nil
	}
	if s, ok := old.Leaf.(string); ok {
		return []string{s}, nil
	}
	var known []string
	list, _ := old.Leaf.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			known = append(known, s)
		}
	}
	return known, nil
}
