// Package plugging adds, updates and removes plugins. What is fetched lies in the store by
// its content and is used only once the user agreed to exactly that content.
package plugging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"slices"
	"strings"

	"github.com/gofrs/flock"

	"kerf/internal/atomicfile"
	"kerf/internal/config/plugins"
	"kerf/internal/text/pattern"
	"kerf/internal/work/parcel"
)

// Manager works on the plugins below one home of Kerf.
type Manager struct {
	Home string // of Kerf
	User string // the user's home, for ~
	Cwd  string
	Env  []string // of git
	// Outside are directories whose git is not used.
	Outside []string
	// Contact is asked before an address is contacted that the user did not name: a marketplace
	// named it. An error of it ends the attempt; nil refuses all of them.
	Contact func(plugin, address string) error
}

// Request says which plugin is added.
type Request struct {
	Source string // as the user wrote it
	Name   string // of the plugin in a marketplace; empty where the source is one
	Path   string // of the plugin below the source
	Ref    string // a branch or tag
	Commit string // whole
	// Projects says that the plugin is used only where a project names it.
	Projects bool
}

// Proposal is a plugin that was fetched and that nobody agreed to yet.
type Proposal struct {
	plugins.Installed
	Plugin plugins.Plugin
	// Was is what is installed under this name, nil if nothing is.
	Was *plugins.Found
	m   *Manager
}

// Same reports whether the user agreed to this very content already.
func (p *Proposal) Same() bool { return p.Was != nil && p.Was.Hash == p.Hash && p.Was.Why == "" }

// shorthand is a repository of GitHub, as agents write it.
var shorthand = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// source is where the words of a user lead: a directory, or an address of git with a branch.
func (m *Manager) source(words string) (source, ref string, err error) {
	if rest, ok := strings.CutPrefix(words, "~/"); ok && m.User != "" {
		words = filepath.Join(m.User, rest)
	}
	if filepath.IsAbs(words) || strings.HasPrefix(words, ".") {
		if !filepath.IsAbs(words) {
			words = filepath.Join(m.Cwd, words)
		}
		info, err := os.Stat(words)
		if err == nil && !info.IsDir() {
			err = errors.New("is no directory")
		}
		return filepath.Clean(words), "", err
	}
	address, ref, _ := strings.Cut(words, "#")
	if shorthand().MatchString(address) {
		return "https://github.com/" + strings.TrimSuffix(address, ".git") + ".git", ref, nil
	}
	if err := parcel.Address(address); err != nil {
		return "", "", fmt.Errorf("%w, OWNER/REPOSITORY of GitHub, or a directory that begins with ./ or /", err)
	}
	return address, ref, nil
}

// open reads a tree from a directory or by git.
func (m *Manager) open(ctx context.Context, source, ref, commit string, foreign bool) (*parcel.Tree, error) {
	if filepath.IsAbs(source) {
		if ref != "" || commit != "" {
			return nil, errors.New("a directory has no branch and no commit; give its address as file://…")
		}
		return parcel.Dir(source)
	}
	return parcel.Fetch(ctx, parcel.Git{URL: source, Ref: ref, Commit: commit, Env: m.Env, Outside: m.Outside,
		Foreign: foreign})
}

// Propose fetches what is asked for. Where the source is a marketplace and no plugin of it is
// named, the error is an [Offer].
func (m *Manager) Propose(ctx context.Context, r Request) (*Proposal, error) {
	source, ref, err := m.source(r.Source)
	if err != nil {
		return nil, err
	}
	at := plugins.Installed{Source: source, Path: r.Path, Ref: ref, Projects: r.Projects}
	if r.Ref != "" {
		at.Ref = r.Ref
	}
	return m.propose(ctx, at, r.Name, r.Commit, at.Source)
}

// propose fetches what stands at a place. Known are addresses whose machines may be contacted.
func (m *Manager) propose(ctx context.Context, at plugins.Installed, name, commit string,
	known ...string) (*Proposal, error) {
	tree, err := m.open(ctx, at.Source, at.Ref, commit, false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	at.Commit = tree.Commit
	if name == "" && isPlugin(tree, at.Path) {
		return m.take(tree, at, nil)
	}
	market, err := marketplaceIn(tree)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, market.offer()
	}
	e, err := market.entry(name)
	if err != nil {
		return nil, err
	}
	from := at
	from.Commit, from.Projects = "", false
	to := plugins.Installed{Source: at.Source, Ref: at.Ref, Commit: at.Commit, Path: e.path, Projects: at.Projects,
		From: &from, Entry: name}
	if e.url == "" {
		return m.take(tree, to, e)
	}
	if err := parcel.Address(e.url); err != nil {
		return nil, fmt.Errorf("plugin %s of the marketplace: %w", name, err)
	}
	// A marketplace from elsewhere names neither files nor servers of this machine.
	local := strings.HasPrefix(e.url, "file:") || strings.HasPrefix(e.url, "http:")
	if local && !strings.HasPrefix(at.Source, "file:") && !filepath.IsAbs(at.Source) {
		return nil, fmt.Errorf("plugin %s of the marketplace lies on this machine, and the marketplace does not", name)
	}
	if err := m.mayContact(name, e.url, known); err != nil {
		return nil, err
	}
	other, err := m.open(ctx, e.url, e.ref, e.commit, true)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	to.Source, to.Ref, to.Commit = e.url, e.ref, other.Commit
	return m.take(other, to, e)
}

// mayContact asks about an address that a marketplace names, unless it is of a machine that the
// user named, or one that is known, by the same transport.
func (m *Manager) mayContact(name, address string, known []string) error {
	host := parcel.Host(address)
	if host == "" || slices.ContainsFunc(known, func(k string) bool { return parcel.Host(k) == host }) {
		return nil
	}
	if m.Contact == nil {
		return fmt.Errorf("plugin %s of the marketplace lies at %s, which is not contacted unasked", name, address)
	}
	return m.Contact(name, address)
}

func isPlugin(tree *parcel.Tree, dir string) bool {
	return slices.ContainsFunc(plugins.Manifests(), func(name string) bool { return tree.Has(path.Join(dir, name)) })
}

// take puts the content of a plugin into the store and reads it.
func (m *Manager) take(tree *parcel.Tree, at plugins.Installed, e *entry) (*Proposal, error) {
	files, left, err := tree.Files(cmp.Or(at.Path, "."))
	if err != nil {
		return nil, err
	}
	if files, err = e.joined(files); err != nil {
		return nil, err
	}
	sum := plugins.NewSum()
	for _, f := range files {
		sum.Add(f.Name, f.Exec, f.Data)
	}
	at.Hash = sum.Hash()
	dir, err := m.keepContent(at.Hash, files)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Installed: at, m: m}
	if p.Plugin, err = plugins.Read(dir, ""); err == nil {
		p.Name = p.Plugin.Name
		p.Plugin, err = plugins.Read(dir, plugins.Data(m.Home, p.Name))
	}
	if err == nil {
		err = m.compare(p)
	}
	if err != nil {
		p.Drop()
		return nil, err
	}
	p.Plugin.Left = append(p.Plugin.Left, left...)
	return p, nil
}

// compare finds what is installed under the name of a proposal. Another source does not take
// its place.
func (m *Manager) compare(p *Proposal) error {
	found, err := plugins.Load(m.Home)
	if err != nil {
		return err
	}
	for i, f := range found {
		if f.Name != p.Name {
			continue
		}
		if origin(f.Installed) != origin(p.Installed) {
			return fmt.Errorf("%s is installed already, from %s; to replace it, first run: kerf plugin remove %s", p.Name,
				Origin(f.Installed), p.Name)
		}
		p.Was = &found[i]
	}
	return nil
}

// origin is where a plugin comes from, apart from its branch.
func origin(p plugins.Installed) string {
	if p.From != nil {
		return p.From.Source + "\x00" + p.Entry
	}
	return p.Source + "\x00" + p.Path
}

// Origin is where a plugin comes from, in words.
func Origin(p plugins.Installed) string {
	text := p.Source
	if p.Path != "" && p.Path != "." {
		text += " " + p.Path
	}
	if p.From != nil && p.From.Source != p.Source {
		text += ", named by " + p.From.Source
	}
	return text
}

// keepContent writes files below their hash, if they are not there yet.
func (m *Manager) keepContent(hash string, files []parcel.File) (string, error) {
	store := plugins.Store(m.Home)
	dir := filepath.Join(store, hash)
	if now, err := plugins.Hash(dir); err == nil && now == hash {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil { // what is there is not this content
		return "", err
	}
	if err := os.MkdirAll(store, 0o700); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(store, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	root, err := os.OpenRoot(aside)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(f.Name)
		if up := filepath.Dir(name); up != "." {
			if err := root.MkdirAll(up, 0o700); err != nil {
				return "", err
			}
		}
		mode := fs.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		if err := root.WriteFile(name, f.Data, mode); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(aside, dir)
}

// Drop removes what was fetched, if nobody uses it.
func (p *Proposal) Drop() {
	unlock, err := p.m.lock()
	if err != nil {
		return
	}
	defer unlock()
	if all, err := plugins.List(p.m.Home); err == nil {
		p.m.forget(all, p.Hash)
	}
}

// forget removes a content that no plugin of the list has.
func (m *Manager) forget(all []plugins.Installed, hash string) {
	if hash != "" && !slices.ContainsFunc(all, func(o plugins.Installed) bool { return o.Hash == hash }) {
		_ = os.RemoveAll(filepath.Join(plugins.Store(m.Home), hash)) // content that nobody uses may stay
	}
}

// Keep notes that the user agreed to the content of the proposal.
func (p *Proposal) Keep() error {
	if err := os.MkdirAll(plugins.Data(p.m.Home, p.Name), 0o700); err != nil {
		return err
	}
	return p.m.change(func(all []plugins.Installed) []plugins.Installed {
		i := slices.IndexFunc(all, func(o plugins.Installed) bool { return o.Name == p.Name })
		if i < 0 {
			return append(all, p.Installed)
		}
		all[i] = p.Installed
		return all
	})
}

// Update fetches an installed plugin again, from where it came.
func (m *Manager) Update(ctx context.Context, p plugins.Installed) (*Proposal, error) {
	at := p
	if p.From != nil {
		at = *p.From
	}
	at.Projects, at.Hash, at.Commit = p.Projects, "", ""
	next, err := m.propose(ctx, at, p.Entry, "", at.Source, p.Source)
	if err == nil && next.Name != p.Name {
		next.Drop()
		err = fmt.Errorf("it is called %s now; to use it, run: kerf plugin remove %s, then kerf plugin add", next.Name,
			p.Name)
	}
	return next, err
}

// Remove forgets a plugin, with its content and what it kept of its own. It reports false if
// there is none.
func (m *Manager) Remove(name string) (bool, error) {
	was := false
	err := m.change(func(all []plugins.Installed) []plugins.Installed {
		return slices.DeleteFunc(all, func(o plugins.Installed) bool {
			was = was || o.Name == name
			return o.Name == name
		})
	})
	if err != nil || !was {
		return was, err
	}
	return true, os.RemoveAll(plugins.Data(m.Home, name))
}

// change rewrites the list, and removes contents that no plugin has any longer.
func (m *Manager) change(edit func([]plugins.Installed) []plugins.Installed) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	before, err := plugins.List(m.Home)
	if err != nil {
		return err
	}
	after := edit(slices.Clone(before))
	data, err := plugins.Encode(after)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(plugins.ListFile(m.Home), data, 0o600); err != nil {
		return err
	}
	for _, p := range before {
		m.forget(after, p.Hash)
	}
	return nil
}

// lock keeps other Kerfs from changing the list meanwhile.
func (m *Manager) lock() (func(), error) {
	dir := filepath.Join(m.Home, "plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, "lock"))
	if err := l.Lock(); err != nil {
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil // the end of the process would unlock it, too
}
