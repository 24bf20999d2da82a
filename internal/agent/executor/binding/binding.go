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
		if starts.Reads(argv) {
			b.fed(line, from)
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
		return recipes(argv[1:], []string{"-f", "--file", "--makefile"}, "GNUmakefile", "makefile", "Makefile")
	case "npm", "pnpm", "yarn", "bun":
		return recipes(argv[1:], nil, "package.json")
	case "just":
		return recipes(argv[1:], []string{"-f", "--justfile"}, "justfile", "Justfile", ".justfile")
	case "cargo":
		return recipes(argv[1:], []string{"--manifest-path"}, "build.rs", "Cargo.toml")
	}
	if starts.Interpreter(name) {
		return given(argv[1:])
	}
	return nil
}

// elsewhere are the options with which such programs work in another directory.
var elsewhere = []string{"-C", "--directory", "--prefix", "--dir", "--cwd", "-d", "--working-directory"}

// recipes are the files of these names, where the options lead, and those that the options named
// by files give.
func recipes(args, files []string, names ...string) (all []string) {
	dirs := []string{""}
	for i, a := range args {
		option, value, joined := strings.Cut(a, "=")
		if !joined && len(a) > 2 && a[0] == '-' && a[1] != '-' { // -fFILE, -CDIR
			option, value, joined = a[:2], a[2:], true
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains(files, option):
			all = append(all, value)
		case slices.Contains(elsewhere, option):
			dirs = append(dirs, value)
		}
	}
	for _, dir := range dirs {
		for _, name := range names {
			all = append(all, filepath.Join(dir, name))
		}
	}
	return all
}

// given are the scripts that an interpreter is given. Whether a word behind an option belongs to
// it is not known here: then it counts, and so does the next.
func given(args []string) (all []string) {
	option := true // one stands before
	for i, a := range args {
		switch {
		case a == "-m" && i+1 < len(args): // python
			module := strings.ReplaceAll(args[i+1], ".", "/")
			all = append(all, module+".py", module+"/__main__.py", module+"/__init__.py")
		case strings.HasPrefix(a, "-"):
			if _, value, joined := strings.Cut(a, "="); joined {
				all = append(all, value)
			}
		default:
			if all = append(all, a); !option || i == 0 {
				return all
			}
		}
		option = strings.HasPrefix(a, "-")
	}
	return all
}

// fed adds the files that a line names which has an interpreter read its standard input: by
// redirections, or through other commands.
func (b *Binding) fed(line string, dirs []string) {
	between := func(r rune) bool { return strings.ContainsRune(" \t\n<>|&;()'\"", r) }
	for _, name := range strings.FieldsFunc(line, between) {
		for _, dir := range dirs {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, name)
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && len(b.files) < maxFiles {
				b.add(name, path)
			}
		}
	}
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
