package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // each registers its kind of package
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// target builds for one system and returns the names of the files it made.
func (r *release) target(t target, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "kerf")
	if t.os == "windows" {
		program += ".exe"
	}
	if err := r.build(program, "GOOS="+t.os, "GOARCH="+t.arch); err != nil {
		return nil, err
	}
	stem := fmt.Sprintf("kerf_%s_%s", r.version, t)
	bill, err := r.bill(program, stem+".cdx.json")
	if err != nil {
		return nil, err
	}
	archive, err := r.archive(t, stem, program)
	if err != nil {
		return nil, err
	}
	made := []string{archive, bill}
	if t.os != "linux" {
		return made, nil
	}
	for _, kind := range []string{"deb", "rpm", "apk"} {
		name, err := r.pack(kind, t, program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		made = append(made, name)
	}
	return made, nil
}

// member is a file of an archive.
type member struct {
	name string // with slashes, from the top of the archive
	path string // where it lies
	mode fs.FileMode
}

// members are what every archive has: the program, its texts, man pages, completions.
func (r *release) members(program string) ([]member, error) {
	list := []member{{filepath.Base(program), program, 0o755}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		list = append(list, member{name, filepath.Join(r.root, name), 0o644})
	}
	err := filepath.WalkDir(r.extras, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.extras, p)
		list = append(list, member{filepath.ToSlash(rel), p, 0o644})
		return err
	})
	return list, err
}

func (r *release) archive(t target, stem, program string) (string, error) {
	list, err := r.members(program)
	if err != nil {
		return "", err
	}
	name := stem + ".tar.gz"
	write := r.tarball
	if t.os == "windows" {
		name, write = stem+".zip", r.zipped
	}
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(f, stem, list), f.Close())
}

func (r *release) tarball(w io.Writer, top string, list []member) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, m := range list {
		b, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(top, m.name), Mode: int64(m.mode), Size: int64(len(b)), ModTime: r.date,
			Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(b); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func (r *release) zipped(w io.Writer, top string, list []member) error {
	z := zip.NewWriter(w)
	for _, m := range list {
		b, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: path.Join(top, m.name), Method: zip.Deflate, Modified: r.date}
		h.SetMode(m.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	return z.Close()
}

// about is what packages say of Kerf.
const about = "A local coding agent that always knows exactly what changed, who changed it, and how to take it back."

// pack makes a package of Linux.
func (r *release) pack(kind string, t target, program string) (string, error) {
	list, err := r.members(program)
	if err != nil {
		return "", err
	}
	var contents files.Contents
	for _, m := range list {
		contents = append(contents, &files.Content{Source: m.path, Destination: installed(m.name),
			FileInfo: &files.ContentFileInfo{Mode: m.mode, MTime: r.date, Owner: "root", Group: "root"}})
	}
	// Directories that are Kerf's own go with it, also where rpm removes it.
	for _, name := range []string{"/usr/share/doc/kerf", "/usr/share/kerf", "/usr/share/kerf/completions"} {
		contents = append(contents, &files.Content{Destination: name, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.date, Owner: "root", Group: "root"}})
	}
	info := nfpm.WithDefaults(&nfpm.Info{Name: "kerf", Arch: t.arch, Platform: "linux", Version: r.version,
		Maintainer: "The Kerf project", Vendor: "The Kerf project", License: "Apache-2.0", Description: about,
		Section: "devel", Priority: "optional", MTime: r.date,
		Overridables: nfpm.Overridables{Contents: contents, Recommends: []string{"git", "bubblewrap", "ripgrep"}}})
	info.RPM.BuildHost = "reproducible"
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return "", err
	}
	p, err := nfpm.Get(kind)
	if err != nil {
		return "", err
	}
	name := p.ConventionalFileName(info)
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	return name, errors.Join(p.Package(info, f), f.Close())
}

// installed is where a member of the archive lies on a machine.
func installed(name string) string {
	switch {
	case name == "kerf":
		return "/usr/bin/kerf"
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/" + name
	case name == "completions/kerf.bash":
		return "/usr/share/bash-completion/completions/kerf"
	case name == "completions/_kerf":
		return "/usr/share/zsh/site-functions/_kerf"
	case name == "completions/kerf.fish":
		return "/usr/share/fish/vendor_completions.d/kerf.fish"
	case name == "completions/kerf.ps1": // PowerShell has no directory for them
		return "/usr/share/kerf/completions/kerf.ps1"
	}
	return "/usr/share/doc/kerf/" + name
}
