package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"kerf/internal/config/document"
	"kerf/internal/config/schema"
	"kerf/internal/config/trust"
)

// project finds the project root and, when the project is trusted, adds its
// files from the root down to the working directory.
func (l *loader) project() error {
	var markers []string
	if v := l.tree.Table["project_root_markers"]; v != nil {
		list, _ := v.Leaf.([]any)
		for _, m := range list {
			if s, ok := m.(string); ok {
				markers = append(markers, s)
			}
		}
	}
	l.root = trust.Root(l.o.Cwd, markers)
	for _, dir := range trust.Chain(l.root, l.o.Cwd) {
		if trust.IsHome(dir, l.o.Home) {
			continue
		}
		file := filepath.Join(dir, ".kerf", "config.toml")
		if !l.o.Trusted {
			if _, err := os.Lstat(file); err == nil {
				l.warn(document.Origin{File: file}, "", "ignored: the project is not trusted")
			}
			continue
		}
		if err := l.projectFile(dir, file); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) projectFile(dir, file string) error {
	data, err := trust.ReadBeneath(dir, ".kerf/config.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &document.Error{File: file, Message: document.Cause(err)}
	}
	v, err := document.Parse(file, data)
	if err != nil {
		return err
	}
	canonical(v)
	profiles := v.Table["profiles"]
	v.Table = without(v.Table, "profiles")
	if err := l.check(v, nil); err != nil {
		return err
	}
	if profiles != nil {
		l.refuse("profiles", profiles)
	}
	l.restrict(v, nil)
	l.tree = document.Merge(l.tree, v)
	return nil
}

// restrict removes from v what a project may not say.
func (l *loader) restrict(v *document.Value, path []string) {
	for _, k := range v.InOrder() {
		sub, here := v.Table[k], append(path[:len(path):len(path)], k)
		tag, known := schema.Lookup(reflect.TypeFor[Config](), here)
		switch allowed := tag.Get("project"); {
		case known && allowed == "any":
		case known && allowed != "" && sub.Leaf == allowed:
		case known && allowed == "" && sub.Table != nil:
			l.restrict(sub, here)
			if len(sub.Table) == 0 {
				delete(v.Table, k)
			}
		case known:
			l.refuse(document.Key(here...), sub)
			delete(v.Table, k)
		default: // another agent's key; told already
			delete(v.Table, k)
		}
	}
}

func (l *loader) refuse(key string, v *document.Value) {
	l.warn(v.From, key, key+": a project cannot set this; ignored")
}
