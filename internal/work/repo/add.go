package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/work/tree/handle"
)

// addTries is how often the files are read that somebody writes meanwhile.
const addTries = 3

// errMoved says that a file got shorter while it was read.
var errMoved = errors.New("a file changed while it was read")

// adder puts what a working tree holds into an index. Git itself reads files by their paths: a
// command that runs meanwhile could exchange a directory for a link out of the tree, and read
// what was added from git's objects. Here no link is followed on the way to a file.
type adder struct {
	root, dir string // of the working tree, and one for scratch files
	env, off  []string
	hidden    func(path string) (why string) // nil hides nothing
}

// found is one path that is not as the index has it.
type found struct {
	name, mode string
	open       handle.File
	size       int64
	target     string // of a link
}

// all brings the index up to date.
func (a adder) all(ctx context.Context) error {
	listed, err := gitWith(ctx, a.root, a.env, append(a.off, "ls-files", "-z", "--full-name", "--others", "--modified",
		"--exclude-standard")...)
	if err != nil {
		return err
	}
	var here, gone, dirs []string
	seen := map[string]bool{}
	for name := range strings.SplitSeq(string(listed), "\x00") {
		if name == "" || strings.HasSuffix(name, "/") || seen[name] || a.hides(name) {
			continue // a repository of its own, or nothing for git
		}
		seen[name] = true
		switch m, err := a.lstat(name); {
		case err != nil:
			gone = append(gone, name)
		case m.IsDir():
			dirs = append(dirs, name)
		case m.IsRegular() || m&fs.ModeSymlink != 0:
			here = append(here, name)
		}
	}
	replaced, err := a.replaced(ctx, dirs)
	if err != nil {
		return err
	}
	if gone = append(gone, replaced...); len(gone) > 0 {
		if _, err := gitTold(ctx, a.root, a.env, strings.NewReader(strings.Join(gone, "\x00")+"\x00"), append(a.off,
			"update-index", "-z", "--force-remove", "--stdin")...); err != nil {
			return err
		}
	}
	if len(here) == 0 {
		return nil
	}
	entries, err := a.store(ctx, here)
	if err != nil || len(entries) == 0 {
		return err
	}
	_, err = gitTold(ctx, a.root, a.env, bytes.NewReader(entries), append(a.off, "update-index", "-z", "--index-info")...)
	return err
}

func (a adder) hides(name string) bool {
	return a.hidden != nil && a.hidden(filepath.Join(a.root, filepath.FromSlash(name))) != ""
}

// in calls f with the directory of a name, to which no link leads.
func (a adder) in(name string, f func(d handle.Dir, base string) error) error {
	d, err := handle.Open(filepath.ToSlash(a.root), strings.TrimSuffix(path.Dir(name), "."))
	if err != nil {
		return err
	}
	defer d.Close()
	return f(d, path.Base(name))
}

// lstat is what a name is.
func (a adder) lstat(name string) (m fs.FileMode, err error) {
	return m, a.in(name, func(d handle.Dir, base string) error {
		st, err := d.Lstat(base)
		m = st.Mode
		return err
	})
}

// replaced are those of directories in whose place the index has a file, and no submodule.
func (a adder) replaced(ctx context.Context, dirs []string) (files []string, err error) {
	for _, name := range dirs {
		out, err := gitWith(ctx, a.root, a.env, append(a.off, "ls-files", "-z", "--stage", "--", ":(top,literal)"+name)...)
		if err != nil {
			return nil, err
		}
		if mode, _, _ := strings.Cut(string(out), " "); mode != fmt.Sprintf("%o", modeLink) && strings.HasSuffix(string(out),
			"\t"+name+"\x00") {
			files = append(files, name)
		}
	}
	return files, nil
}

// look opens what has a name. What is neither file nor link has no mode.
func (a adder) look(name string) (f found, err error) {
	f.name = name
	return f, a.in(name, func(d handle.Dir, base string) error {
		st, err := d.Lstat(base)
		switch {
		case err != nil:
			return err
		case st.Mode&fs.ModeSymlink != 0:
			f.mode = "120000"
			f.target, err = d.Readlink(base)
			return err
		case !st.Mode.IsRegular():
			return nil
		}
		if f.open, err = d.OpenRead(base); err != nil {
			return err
		}
		sig, err := f.open.Sig()
		if err != nil || !sig.Mode.IsRegular() {
			f.open.Close()
			return errors.Join(err, errMoved)
		}
		f.size, f.mode = sig.Size, "100644"
		if sig.Mode&0o100 != 0 {
			f.mode = "100755"
		}
		return nil
	})
}

// store gives git the contents of names, and returns what the index is to have of them.
func (a adder) store(ctx context.Context, names []string) ([]byte, error) {
	marks := filepath.Join(a.dir, "marks")
	r, w := io.Pipe()
	var stored []found
	done := make(chan error, 1)
	go func() { // ends with the last name, or when git reads no more
		var err error
		stored, err = a.write(w, names)
		_ = w.CloseWithError(err)
		done <- err
	}()
	_, err := gitTold(ctx, a.root, a.env, r, append(a.off, "fast-import", "--quiet", "--export-marks="+marks)...)
	_ = r.CloseWithError(io.ErrClosedPipe)
	if werr := <-done; werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		return nil, werr
	}
	if err != nil {
		return nil, err
	}
	return entries(marks, stored)
}

// entries joins what was stored with the names that git gave it.
func entries(marks string, stored []found) ([]byte, error) {
	text, err := os.ReadFile(marks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ids := map[string]string{}
	for line := range strings.Lines(string(text)) {
		mark, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids[mark] = id
	}
	var list bytes.Buffer
	for i, f := range stored {
		id := ids[fmt.Sprintf(":%d", i+1)]
		if id == "" {
			return nil, fmt.Errorf("git has no content of %s", f.name)
		}
		fmt.Fprintf(&list, "%s %s\t%s\x00", f.mode, id, f.name)
	}
	return list.Bytes(), nil
}

// write tells git the contents of names. What is gone by now, or cannot be read, is left out.
func (a adder) write(to io.Writer, names []string) (stored []found, err error) {
	w := bufio.NewWriterSize(to, 1<<16)
	short := false
	for _, name := range names {
		f, err := a.look(name)
		if errors.Is(err, errMoved) {
			return nil, err
		}
		if err != nil || f.mode == "" {
			continue
		}
		stored = append(stored, f)
		if f.mode == "120000" {
			fmt.Fprintf(w, "blob\nmark :%d\ndata %d\n%s\n", len(stored), len(f.target), f.target)
			continue
		}
		fmt.Fprintf(w, "blob\nmark :%d\ndata %d\n", len(stored), f.size)
		n, err := io.CopyN(w, f.open, f.size)
		f.open.Close()
		switch {
		case errors.Is(err, io.EOF): // it got shorter; git wants as much as it was told
			short = true
			_, err = io.CopyN(w, zeros{}, f.size-n)
		case err == nil:
			_, err = w.WriteString("\n")
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	if short {
		return nil, errMoved
	}
	return stored, nil
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
