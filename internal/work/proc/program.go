package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	avoid := make([]string, 0, 2*len(outside))
	for _, dir := range outside {
		if dir == "" {
			continue
		}
		if abs, err := filepath.Abs(dir); err == nil {
			avoid = append(avoid, abs)
			if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
				avoid = append(avoid, real)
			}
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, file := range candidates(filepath.Join(dir, name)) {
			if acceptable(file, avoid) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("program %s: %w", name, ErrNotFound)
}

func acceptable(file string, avoid []string) bool {
	if !filepath.IsAbs(file) || !executable(file) {
		return false
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false
	}
	for _, a := range avoid {
		if pathname.Inside(a, file) || pathname.Inside(a, real) || pathname.Inside(a, dir) {
			return false
		}
	}
	return true
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
