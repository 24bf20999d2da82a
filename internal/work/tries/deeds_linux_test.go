package tries_test

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/workspace"
)

// A deed is one change of a tree, a step some of them by one command, or by a file tool.
type deed struct {
	Op   string
	A, B string // relative paths
	Text string
	N    int
}

type step struct {
	// Way is "command", "recorded" for one whose changes are entered, "tool", or "wait", at
	// which others change the tree.
	Way   string
	Deeds []deed
}

// names is the pool that a history takes three names of, so that files, directories and
// links take each other's place.
var names = []string{"a", "b", "c", "\xff\xfe", "d e\nf", "ü", "-x", "%41", "a.b"}

type maker struct {
	*rand.Rand
	pool []string
	has  []string // files that are there at the start
	n    int
	who  string
}

func newMaker(r *rand.Rand, who string, pool []string) *maker {
	return &maker{Rand: r, pool: pool, who: who}
}

func (m *maker) name() string {
	path := m.pool[m.IntN(len(m.pool))]
	for m.IntN(3) > 0 {
		path += "/" + m.pool[m.IntN(len(m.pool))]
	}
	return path
}

// token is a line that nobody else writes.
func (m *maker) token() string {
	m.n++
	return fmt.Sprintf("%s %d\n", m.who, m.n)
}

func (m *maker) deed() deed {
	d := deed{A: m.name(), B: m.name(), Text: m.token(), N: m.IntN(12)}
	if len(m.has) > 0 && m.IntN(2) == 0 {
		d.A = m.has[m.IntN(len(m.has))]
	}
	ops := []string{"mkdir", "rmtree", "rmdir", "unlink", "mv", "cp", "symlink", "link", "chmod", "chtimes", "fifo", "xattr",
		"write", "write", "append", "append", "line", "line", "line", "save", "truncate", "pwrite"}
	d.Op = ops[m.IntN(len(ops))]
	if d.Op == "chmod" && m.IntN(8) == 0 {
		d.A = "."
	}
	return d
}

// steps are what a try does.
func (m *maker) steps(n int, waits bool) []step {
	var list []step
	way := []string{"command", "recorded"}[m.IntN(2)] // of all its commands
	for i := range n {
		if waits && i == n/2 {
			list = append(list, step{Way: "wait"})
		}
		s := step{Way: way}
		if m.IntN(4) == 0 {
			s.Way = "tool"
		}
		for range 1 + m.IntN(4) {
			s.Deeds = append(s.Deeds, m.deed())
		}
		list = append(list, s)
	}
	return list
}

// lined is a text in which lines can be changed far from each other.
func lined(m *maker) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "line %d of %s", i, m.token())
	}
	return b.String()
}

// do does it in a directory. What is not possible is not done.
func (d deed) do(dir string) error {
	a, b := filepath.Join(dir, d.A), filepath.Join(dir, d.B)
	open := func(flag int) (*os.File, error) {
		if err := os.MkdirAll(filepath.Dir(a), 0o755); err != nil {
			return nil, err
		}
		return os.OpenFile(a, flag|os.O_WRONLY|unix.O_NONBLOCK, 0o644)
	}
	put := func(flag int, text string, at int64) error {
		f, err := open(flag)
		if err != nil {
			return err
		}
		defer f.Close()
		if flag&os.O_APPEND != 0 || flag&os.O_TRUNC != 0 {
			_, err = io.WriteString(f, text)
		} else {
			_, err = f.WriteAt([]byte(text), at)
		}
		return err
	}
	within := strings.HasPrefix(d.B+"/", d.A+"/") || strings.HasPrefix(d.A+"/", d.B+"/")
	switch d.Op {
	case "mkdir":
		return os.MkdirAll(a, 0o755)
	case "rmtree":
		return os.RemoveAll(a)
	case "rmdir":
		return unix.Rmdir(a)
	case "unlink":
		return unix.Unlink(a)
	case "mv", "cp":
		if within {
			return nil
		}
		args := map[string][]string{"mv": {"-f"}, "cp": {"-a"}}[d.Op]
		return exec.Command(d.Op, append(args, "--", a, b)...).Run()
	case "symlink":
		return os.Symlink(d.B, a)
	case "link":
		return os.Link(b, a)
	case "chmod":
		mode := []uint32{0o755, 0o700, 0o775, 0o711, 0o640, 0o600}[d.N%6]
		st, err := os.Lstat(a)
		if err != nil || st.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		if st.IsDir() {
			mode |= 0o100
		}
		return unix.Chmod(a, mode)
	case "chtimes":
		return os.Chtimes(a, time.Unix(1e9, 5), time.Unix(1e9+int64(d.N), 7))
	case "fifo":
		return unix.Mkfifo(filepath.Join(filepath.Dir(a), "pipe"), 0o600)
	case "xattr":
		return unix.Lsetxattr(a, "user.x", []byte(d.Text), 0)
	case "write":
		return put(os.O_CREATE|os.O_TRUNC, d.Text, 0)
	case "append":
		return put(os.O_CREATE|os.O_APPEND, d.Text, 0)
	case "pwrite":
		return put(0, d.Text, int64(d.N))
	case "truncate":
		return os.Truncate(a, int64(d.N))
	case "line", "save":
		text, err := os.ReadFile(a)
		if err != nil {
			return put(os.O_CREATE, lined(newMaker(rand.New(rand.NewPCG(1, 1)), d.Text[:len(d.Text)-1], nil)), 0)
		}
		lines := slices.Collect(strings.Lines(string(text)))
		if d.N < len(lines) {
			lines[d.N] = d.Text
		} else {
			lines = append(lines, d.Text)
		}
		if d.Op == "line" {
			return put(os.O_TRUNC, strings.Join(lines, ""), 0)
		}
		st, err := os.Stat(a)
		if err != nil {
			return err
		}
		aside := filepath.Join(filepath.Dir(a), "aside")
		if err := os.WriteFile(aside, []byte(strings.Join(lines, "")), st.Mode().Perm()); err != nil {
			return err
		}
		return errors.Join(os.Chmod(aside, st.Mode().Perm()), os.Rename(aside, a))
	}
	return errors.New("unknown: " + d.Op)
}

// perform carries steps out as `kerf` would. Kerf's home is home.
func perform(home, dir string, steps []step, wait func() error) error {
	var w *workspace.Workspace
	defer func() {
		if w != nil {
			_ = w.Close()
		}
	}()
	for _, s := range steps {
		if w == nil && (s.Way == "tool" || s.Way == "recorded") {
			var err error
			if w, err = workspace.Open(workspace.Options{Home: home, Roots: []string{dir}}); err != nil {
				return err
			}
		}
		switch s.Way {
		case "wait":
			if err := wait(); err != nil {
				return err
			}
		case "tool":
			tool(w, dir, s.Deeds)
		case "recorded":
			before := images(dir)
			for _, d := range s.Deeds {
				_ = d.do(dir)
			}
			if err := enter(w, before, images(dir)); err != nil {
				return err
			}
		default:
			for _, d := range s.Deeds {
				_ = d.do(dir)
			}
		}
	}
	return nil
}

// tool changes files as file tools do: the texts are those that the deeds make. What is
// refused is not done.
func tool(w *workspace.Workspace, dir string, deeds []deed) {
	var set delta.Set
	for _, d := range deeds {
		path := filepath.Join(dir, d.A)
		pre, err := w.Tree.ReadEntry(path, 1<<20)
		if err != nil || slices.Contains(set.Paths(), path) {
			continue
		}
		c := delta.Change{Path: path, Pre: pre}
		if pre == nil || d.N > 2 {
			c.Post = delta.NewFile([]byte(d.Text), 0o644)
			if pre != nil {
				if c.Post.Mode = pre.Mode; pre.Kind != delta.File {
					continue
				}
			}
		}
		set = append(set, c)
	}
	_, _ = w.Txn.Commit(context.Background(), set, txn.CommitOptions{Origin: txn.Origin{Tool: "edit"}, BestEffort: true})
}

// images are the files and links of a tree.
func images(dir string) map[string]*delta.Image {
	all := map[string]*delta.Image{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		switch d.Type() {
		case 0:
			data, err := os.ReadFile(path)
			info, also := d.Info()
			if err == nil && also == nil {
				all[path] = delta.NewFile(data, uint32(info.Mode().Perm()))
			}
		case fs.ModeSymlink:
			if to, err := os.Readlink(path); err == nil {
				all[path] = delta.NewSymlink(to)
			}
		}
		return nil
	})
	return all
}

// enter records what a command changed.
func enter(w *workspace.Workspace, before, after map[string]*delta.Image) error {
	var set delta.Set
	for path, pre := range before {
		if !pre.Same(after[path]) {
			set = append(set, delta.Change{Path: path, Pre: pre, Post: after[path]})
		}
	}
	for path, post := range after {
		if before[path] == nil {
			set = append(set, delta.Change{Path: path, Post: post})
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err := w.Txn.Record(context.Background(), set, txn.CommitOptions{Cause: ledger.CauseCommand,
		Origin: txn.Origin{Session: "s", Turn: "t", Tool: "shell"}})
	return err
}

// deedsFlag makes the test binary what runs in a try: it reads steps from a file, carries
// them out, says on its standard output when it waits, and leaves what the tree looks like
// then in another file.
const deedsFlag = "--deeds"

// orders are what it is told.
type orders struct {
	Home, Dir string
	Steps     []step
}

func deedsMain(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var o orders
	if err := gob.NewDecoder(f).Decode(&o); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	err = perform(o.Home, o.Dir, o.Steps, func() error {
		if _, err := os.Stdout.WriteString("w"); err != nil {
			return err
		}
		_, err := in.ReadByte()
		return err
	})
	if err != nil {
		return err
	}
	seen, err := look(o.Dir)
	if err != nil {
		return err
	}
	out, err := os.Create(file + ".seen")
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(out).Encode(seen), out.Close())
}

// node is all that is known of one path.
type node struct {
	Kind, Text, Xattr string // Kind is the mode
	Ino, Links        uint64
	Mtime, Ctime      int64
}

func (n node) dir() bool  { return strings.HasPrefix(n.Kind, "d") }
func (n node) pipe() bool { return strings.HasPrefix(n.Kind, "p") }
func (n node) file() bool { return n.Kind != "" && !n.dir() && !n.pipe() }

// plain is what keeping is about.
func (n node) plain() string { return n.Kind + " " + n.Text }

// look is what a directory holds.
func look(dir string) (map[string]node, error) {
	all := map[string]node{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && path == dir {
			return err
		}
		if err != nil {
			return nil // as below
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return nil // an overlay goes on to list what others removed below it
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{Kind: info.Mode().String(), Ino: st.Ino, Links: st.Nlink, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
		switch info.Mode().Type() {
		case 0:
			b, err := os.ReadFile(path)
			if err != nil {
				return nil // as it cannot read what they renamed
			}
			n.Text = string(b)
		case fs.ModeSymlink:
			if n.Text, err = os.Readlink(path); err != nil {
				return err
			}
		}
		var value [256]byte
		if k, err := unix.Lgetxattr(path, "user.x", value[:]); err == nil {
			n.Xattr = string(value[:k])
		}
		rel, err := filepath.Rel(dir, path)
		all[rel] = n
		return err
	})
	return all, err
}
