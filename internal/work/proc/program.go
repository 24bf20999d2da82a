package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"kerf/internal/pathname"
)

// ErrNotFound says that no acceptable program of a name is on PATH.
var ErrNotFound = errors.New("not found on PATH")

// Program returns the absolute path of the first executable called name on
// Kerf's own PATH that does not lie in one of the outside directories, neither
// by its spelling nor after links are followed. Relative entries of PATH are
// passed over. A repository can thus not put its own git or bwrap in our way.
// The error wraps [ErrNotFound].
func Program(name string, outside []string) (string, error) {
	avoid := spellings(outside)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, file := range candidates(filepath.Join(dir, name)) {
			if acceptable(file, avoid) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("program %s: %w", name, ErrNotFound)
}

// OwnEnv is env for a program that Kerf starts outside the sandbox because the user
// named it: PATH has no relative entries and none that lie in the outside directories,
// neither by spelling nor after links are followed. What a repository brings along is thus not what a bare name starts.
func OwnEnv(env, outside []string) []string {
	avoid := spellings(outside)
	own := make([]string, 0, len(env))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			kv = name + "=" + ownPath(value, avoid)
		}
		own = append(own, kv)
	}
	return own
}

// ownPath keeps the entries of a PATH that are absolute and lie in none of avoid.
func ownPath(path string, avoid []string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir // what is not there yet can only appear where it is spelled
		}
		if !slices.ContainsFunc(avoid, func(a string) bool { return pathname.Inside(a, dir) || pathname.Inside(a, real) }) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// spellings are directories as they are named and as they are.
func spellings(dirs []string) []string {
	var all []string
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if abs, err := filepath.Abs(dir); err == nil {
			all = append(all, abs)
			if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
				all = append(all, real)
			}
		}
	}
	return all
}

func acceptable(file string, avoid []string) bool {
	if !filepath.IsAbs(file) || !executable(file) {
		return false
	}
	if _, err := filepath.EvalSymlinks(file); err != nil {
		return false
	}
	return !Within(file, avoid)
}

// Within reports whether a file lies in one of dirs: as it is named, where its directory
// is, or where links lead to. A file that is absent lies where it could be made.
func Within(file string, dirs []string) bool {
	names := []string{file}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		names = append(names, real)
	} else if to, err := os.Readlink(file); err == nil {
		names = append(names, filepath.Join(filepath.Dir(file), to))
		if filepath.IsAbs(to) {
			names = append(names, to)
		}
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		names = append(names, dir)
	}
	for _, dir := range spellings(dirs) {
		if slices.ContainsFunc(names, func(name string) bool { return pathname.Inside(dir, name) }) {
			return true
		}
	}
	return false
}

func executable(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}

// candidates adds the suffixes of programs where the system has them.
func candidates(file string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(file) != "" {
		return []string{file}
	}
	return []string{file + ".exe", file + ".cmd", file + ".bat", file + ".com"}
}

// Lookup finds the file that a command of this name starts: on the PATH of env, or in
// dir when the name has a slash. Relative entries of PATH are passed over.
func Lookup(name, dir string, env []string) (string, error) { return lookup(name, dir, env) }

// lookup finds the program a command names: on the PATH of its own
// environment, or relative to its directory when the name has a slash.
func lookup(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, entry := range filepath.SplitList(valueOf(env, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		for _, file := range candidates(filepath.Join(entry, name)) {
			if executable(file) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNotFound)
}

// valueOf returns the last value of name in env.
func valueOf(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(env[i], "=")
		if k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}
