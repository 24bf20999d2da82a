package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"slices"
	"strings"

	"kerf/internal/text/pattern"
)

// Places of plugins below Kerf's home: the contents by their hash, what each keeps of its
// own, and the list of those that the user agreed to.
func Store(home string) string { return filepath.Join(home, "plugins", "store") }

// Data is the directory in which a plugin keeps what is its own.
func Data(home, name string) string { return filepath.Join(home, "plugins", "data", name) }

// ListFile is the list of the installed plugins.
func ListFile(home string) string { return filepath.Join(home, "plugins", "installed.json") }

// Installed is a plugin as the user agreed to it.
type Installed struct {
	Name string `json:"name"`
	// Hash is that of the content, which lies in the store under it.
	Hash string `json:"hash"`
	// Source is a directory or an address of git, Path the place below it; Ref is the branch
	// or tag that was asked for, and Commit what it was.
	Source string `json:"source"`
	Path   string `json:"path,omitempty"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	// From is the marketplace in which it was found, and Entry its name there.
	From  *Installed `json:"from,omitempty"`
	Entry string     `json:"entry,omitempty"`
	// Projects says that it is used only in projects whose files name it.
	Projects bool `json:"projects_only,omitempty"`
}

// list is the file of the installed plugins.
type list struct {
	Version int         `json:"version"`
	Plugins []Installed `json:"plugins"`
}

// contentHash is how a hash is written.
var contentHash = pattern.Lazy(`^[0-9a-f]{64}$`)

// List reads the list of the installed plugins, in the order in which they were added.
func List(home string) ([]Installed, error) {
	data, err := os.ReadFile(ListFile(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l list
	if err := json.Unmarshal(data, &l); err != nil || l.Version != 1 {
		return nil, fmt.Errorf("%s was not written by this Kerf", ListFile(home))
	}
	for _, p := range l.Plugins {
		if !ValidName(p.Name) || !contentHash().MatchString(p.Hash) {
			return nil, fmt.Errorf("%s names a plugin that cannot be one", ListFile(home))
		}
	}
	return l.Plugins, nil
}

// Encode is the list as it is kept.
func Encode(all []Installed) ([]byte, error) {
	data, err := json.MarshalIndent(list{1, all}, "", "  ")
	return append(data, '\n'), err
}

// Found is an installed plugin with what it holds, and why it is not used.
type Found struct {
	Installed
	Plugin Plugin
	Why    string
}

// Load reads the installed plugins. One whose content is not the one that the user agreed to
// is not used.
func Load(home string) ([]Found, error) {
	all, err := List(home)
	var found []Found
	for _, p := range all {
		f := Found{Installed: p}
		dir := filepath.Join(Store(home), p.Hash)
		if hash, err := Hash(dir); err != nil {
			f.Why = "its content is gone or cannot be read; run: kerf plugin update " + p.Name
		} else if hash != p.Hash {
			f.Why = "its content is not what you agreed to; run: kerf plugin update " + p.Name
		} else if f.Plugin, err = Read(dir, Data(home, p.Name)); err != nil {
			f.Why = err.Error()
		} else if f.Plugin.Name != p.Name {
			f.Why = "it has another name than it was added with"
		}
		found = append(found, f)
	}
	return found, err
}

// Hash is that of the content of a plugin: names, whether a file can be run, and bytes.
// Links and what is no file are an error.
func Hash(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var names []string
	exec := map[string]bool{}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file", name)
		}
		names = append(names, name)
		exec[name] = info.Mode()&0o100 != 0
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	sum := NewSum()
	for _, name := range names {
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return "", err
		}
		err = sum.add(name, exec[name], f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return sum.Hash(), nil
}

// Sum hashes the files of a plugin, which are added in the order of their names.
type Sum struct{ text strings.Builder }

// NewSum begins one.
func NewSum() *Sum {
	s := &Sum{}
	s.text.WriteString("kerf plugin 1\n")
	return s
}

// Add adds a file.
func (s *Sum) Add(name string, exec bool, data []byte) {
	_ = s.add(name, exec, strings.NewReader(string(data))) // reading memory does not fail
}

func (s *Sum) add(name string, exec bool, data io.Reader) error {
	content := sha256.New()
	_, err := io.Copy(content, data)
	fmt.Fprintf(&s.text, "%q %t %x\n", name, exec, content.Sum(nil))
	return err
}

// Hash is the hash of what was added.
func (s *Sum) Hash() string {
	sum := sha256.Sum256([]byte(s.text.String()))
	return hex.EncodeToString(sum[:])
}
