// Package binding takes down what a command would start, so that an answer of the user is
// for that and for nothing that came in its place.
package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/policy/reads"
	"kerf/internal/agent/policy/starts"
	"kerf/internal/work/proc"
)

// Binding is what a command would start at one moment.
type Binding struct {
	dir   string
	where os.FileInfo
	env   string
	files []file
}

// file is one that a command starts or reads as a script.
type file struct{ name, path, content string }

const (
	// maxHashed is the size up to which contents are compared; of larger files, which
	// programs may be, their identity and times are.
	maxHashed = 4 << 20
	// maxFiles bounds how many files are looked at.
	maxFiles = 200
)

// Of takes down what a line would start in dir with env. The programs of all its commands
// count, the scripts that interpreters are given, and the files that make and its like
// take their commands from.
func Of(line, dir string, env []string, at policy.Place) *Binding {
	b := &Binding{env: sum([]byte(strings.Join(env, "\x00")))}
	b.dir, _ = at.Real(dir)
	b.where, _ = os.Stat(dir)
	p := policy.Parse(line)
	dirs := p.Dirs(policy.Command{Line: line, Dir: dir, Place: at})
	for i, s := range p.Commands {
		if len(b.files) >= maxFiles {
			break
		}
		from := dirs[i]
		if from == nil {
			from = []string{dir}
		}
		argv := make([]string, len(s.Words))
		for j, w := range s.Words {
			argv[j] = w.Text
		}
		if s.Words[0].Known {
			b.command(argv, from, env)
		}
	}
	return b
}

func (b *Binding) command(argv, dirs, env []string) {
	name := argv[0]
	if !reads.Builtin(name) && !starts.Inside(name) {
		for _, dir := range dirs {
			path, err := proc.Lookup(name, dir, env)
			if err != nil {
				path = ""
			}
			b.add(name, path)
			if !strings.ContainsRune(name, '/') {
				break
			}
		}
	}
	for _, script := range scripts(argv) {
		for _, dir := range dirs {
			path := script
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, script)
			}
			b.add(script, path)
		}
	}
}

// scripts are the files that a command takes what it runs from.
func scripts(argv []string) []string {
	name := starts.Name(argv[0])
	switch name {
	case "make", "gmake":
		return []string{"GNUmakefile", "makefile", "Makefile"}
	case "npm", "pnpm", "yarn", "bun":
		return []string{"package.json"}
	case "just":
		return []string{"justfile", "Justfile", ".justfile"}
	case "cargo":
		return []string{"build.rs"}
	}
	if !starts.Interpreter(name) {
		return nil
	}
	for _, a := range argv[1:] {
		if a != "" && !strings.HasPrefix(a, "-") {
			return []string{a}
		}
	}
	return nil
}

func (b *Binding) add(name, path string) {
	f := file{name: name, path: path}
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		f.path = real
		f.content = content(real)
	}
	if !slices.Contains(b.files, f) {
		b.files = append(b.files, f)
	}
}

// content names what a file holds: by its hash, or by its identity where that would take
// too long.
func content(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "none"
	}
	if info.Size() > maxHashed {
		return fmt.Sprintf("%d %s %s", info.Size(), info.ModTime(), identity(info))
	}
	f, err := os.Open(path)
	if err != nil {
		return "unreadable " + identity(info)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed+1)); err != nil {
		return "unreadable " + identity(info)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Sum is one word for all of it, the same as long as nothing changes.
func (b *Binding) Sum() string {
	if b == nil {
		return ""
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%q %s", b.dir, b.env)
	if b.where != nil {
		t.WriteString(" " + inode(b.where))
	}
	for _, f := range b.files {
		fmt.Fprintf(&t, " %q %q %q", f.name, f.path, f.content)
	}
	return sum([]byte(t.String()))
}

// Changed says what is no longer as it was taken down, or nothing.
func (b *Binding) Changed(now *Binding) string {
	switch {
	case b == nil || now == nil:
		return ""
	case b.dir != now.dir || (b.where == nil) != (now.where == nil) || b.where != nil && !os.SameFile(b.where, now.where):
		return "the directory of the command is another one"
	case b.env != now.env:
		return "the environment of commands changed"
	case len(b.files) != len(now.files):
		return "what the command starts changed"
	}
	for i, f := range b.files {
		n := now.files[i]
		switch {
		case f.path != n.path && n.path == "":
			return f.name + " is gone"
		case f.path != n.path:
			return f.name + " is another file, " + n.path + ","
		case f.content != n.content:
			return n.path + " changed"
		}
	}
	return ""
}
