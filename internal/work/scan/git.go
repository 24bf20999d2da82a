package scan

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kerf/internal/work/proc"
	"kerf/internal/work/scan/gitindex"
	"kerf/internal/work/search/ignore"
)

// A repository can make git wait for ever, with a FIFO among its objects say.
const (
	configTime = 2 * time.Second
	catTime    = time.Minute
)

// repo is a git repository as a source of contents. Its index tells which files
// are as git knows them; cat-file gives their bytes.
type repo struct {
	top    string // of the work tree, with slashes
	gitDir string
	common string
	git    string

	mu       sync.Mutex // walkers share a repo
	gen      uint64     // when it was last looked for
	stale    bool       // the index may have changed
	indexSig sig
	index    *gitindex.Index // nil if there is none that can be used

	configSig sig
	broken    bool     // git did not answer; it is not asked again before the configuration changes
	global    []string // attributes files outside of the work tree
	hash      uint8    // bytes of an object's name, 0 if not known
	convert   bool     // line ends may be converted on checkout
	attrs     map[string]*attributes
}

// repoAt returns the repository whose work tree has its top at dir, or nil.
func (s *Scanner) repoAt(dir string) *repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.repos[dir]
	if known && r.gen == s.gen {
		return r
	}
	gitDir, common, ok := ignore.GitDir(filepath.FromSlash(dir))
	if !ok {
		delete(s.repos, dir)
		return nil
	}
	if r == nil || r.gitDir != gitDir {
		r = &repo{top: dir, gitDir: gitDir, common: common, git: s.git, attrs: make(map[string]*attributes)}
		s.repos[dir] = r
	}
	r.gen = s.gen
	r.stale = true
	return r
}

func (r *repo) info() *ignore.Set { return ignore.Info(r.common) }

// rel is the path of an absolute path below the top.
func (r *repo) rel(abs string) string {
	return strings.TrimPrefix(abs, strings.TrimSuffix(r.top, "/")+"/")
}

// refresh reads the index and the configuration again if they changed since they
// were last looked at; at most once for each Snap.
func (r *repo) refresh(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stale {
		return
	}
	r.stale = false
	name := filepath.Join(r.gitDir, "index")
	s, err := pathSig(name)
	if r.git == "" || err != nil || !s.isFile() || s.size > gitindex.MaxSize || !r.settings(ctx) {
		r.index, r.indexSig = nil, sig{}
		return
	}
	if s == r.indexSig {
		return
	}
	r.index, r.indexSig = nil, sig{}
	open := func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|nonblock, 0) }
	data, after, err := readStable(open, s, gitindex.MaxSize)
	if err != nil {
		return
	}
	if x, err := gitindex.Parse(data, int(r.hash)); err == nil {
		x.Written = after.mtime
		r.index = x
		// A signature as young as this proves nothing: read again the next time.
		if !after.youngerThan(time.Now()) {
			r.indexSig = after
		}
	}
}

// tracksBelow reports whether git tracks anything in a directory.
func (r *repo) tracksBelow(ctx context.Context, dir string) bool {
	if r == nil {
		return false
	}
	r.refresh(ctx)
	return r.index.Below(r.rel(dir))
}

// settings asks git what its configuration says of object names and line ends,
// and reads the attributes files outside of the work tree. It reports false if
// git has no answer.
func (r *repo) settings(ctx context.Context) bool {
	s, err := pathSig(filepath.Join(r.common, "config"))
	if r.hash == 0 && !r.broken || err != nil || s != r.configSig {
		r.hash, r.convert, r.broken = 0, false, false
		r.configSig = s
		if !r.configure(ctx) {
			return false
		}
	}
	if r.broken {
		return false
	}
	for _, name := range append(slices.Clip(r.global), filepath.Join(r.common, "info", "attributes")) {
		r.addAttributes(name, "", ignore.ReadFile(name))
	}
	return true
}

func (r *repo) configure(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, configTime)
	defer cancel()
	out, err := r.command(limited, "config", "--null", "--get-regexp",
		`^(core\.(autocrlf|eol|attributesfile)|extensions\.objectformat)$`).Output()
	// 1 means that nothing of this is set.
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		r.broken = ctx.Err() == nil
		return false
	}
	r.hash = sha1.Size
	r.global = []string{"/etc/gitattributes", expand("~/.config/git/attributes")}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		r.global = append(r.global, filepath.Join(dir, "git", "attributes"))
	}
	for record := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(record, "\n")
		switch key {
		case "core.autocrlf", "core.eol":
			r.convert = r.convert || value != "false" && value != "lf" && value != "native"
		case "core.attributesfile":
			r.global = append(r.global, expand(value))
		case "extensions.objectformat":
			if value == "sha256" {
				r.hash = sha256.Size
			}
		}
	}
	return true
}

func expand(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return name
}

// command is git on this repository with everything switched off that could
// reach out or change what is read.
func (r *repo) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--git-dir=" + r.gitDir, "--no-replace-objects", "-c", "core.fsmonitor=false", "-c",
		"protocol.allow=never"}, args...)
	cmd := exec.CommandContext(ctx, r.git, args...)
	cmd.Dir = r.common
	cmd.WaitDelay = time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_TERMINAL_PROMPT=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.gitDir), "LC_ALL=C")
	return cmd
}

// catFile asks cat-file about blobs and hands each answer to got, in order:
// missing ones with a size of -1, contents only if asked for.
func (r *repo) catFile(ctx context.Context, blobs []gitindex.OID, contents bool,
	got func(i int, size int64, data io.Reader) error) error {
	mode := "--batch-check"
	if contents {
		mode = "--batch"
	}
	var in bytes.Buffer
	for _, b := range blobs {
		fmt.Fprintln(&in, b)
	}
	limited, cancel := context.WithTimeout(ctx, catTime)
	defer cancel()
	cmd := r.command(limited, "cat-file", mode)
	cmd.Stdin = &in
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	err = answers(bufio.NewReaderSize(pipe, 64<<10), blobs, contents, got)
	_ = pipe.Close() // after an error git is still writing
	_ = cmd.Wait()   // what it has not answered is told
	if limited.Err() != nil && ctx.Err() == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.broken, r.index, r.indexSig = true, nil, sig{}
	}
	return err
}

func answers(out *bufio.Reader, blobs []gitindex.OID, contents bool, got func(int, int64, io.Reader) error) error {
	for i, b := range blobs {
		line, err := out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != b.String() || f[1] != "blob" {
			if len(f) == 3 && contents {
				return fmt.Errorf("git cat-file: %s is a %s", b, f[1])
			}
			if err := got(i, -1, nil); err != nil {
				return err
			}
			continue
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("git cat-file: %q", line)
		}
		data := &io.LimitedReader{R: out, N: size}
		if !contents {
			data.N = 0
		}
		if err := got(i, size, data); err != nil {
			return err
		}
		if !contents {
			continue
		}
		_, _ = io.Copy(io.Discard, data) // what nobody read
		if _, err := out.Discard(1); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
	}
	return nil
}

// findGit returns the git to run, or "".
func findGit(name string, roots []string) string {
	switch name {
	case "-":
		return ""
	case "":
	default:
		return name
	}
	file, _ := proc.Program("git", roots)
	return file
}

// attributes are what one attributes file says that keeps a work tree's bytes
// from being those of git's blobs.
type attributes struct {
	dir     string      // below the top, with a slash at its end unless it is empty
	filters *ignore.Set // files that programs or encodings transform
	lines   bool        // line ends may be converted
}

// addAttributes takes in an attributes file at name that speaks of dir.
func (r *repo) addAttributes(name, dir string, data []byte) {
	a := &attributes{dir: dir}
	var globs bytes.Buffer
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		for _, f := range fields[1:] {
			word, _, _ := strings.Cut(strings.TrimLeft(f, "-!"), "=")
			switch word {
			case "filter", "ident", "working-tree-encoding":
				if strings.HasPrefix(fields[0], "[attr]") || strings.HasPrefix(fields[0], `"`) {
					fields[0] = "*" // of whatever may have it
				}
				globs.WriteString(fields[0] + "\n")
			case "text", "eol", "crlf":
				a.lines = true
			}
		}
	}
	a.filters = ignore.Parse(globs.Bytes())
	if a.filters == nil && !a.lines {
		delete(r.attrs, name)
		return
	}
	r.attrs[name] = a
}

// filtered reports whether a program or an encoding may stand between a file and
// its blob.
func (r *repo) filtered(rel string) bool {
	for _, a := range r.attrs {
		if below, ok := strings.CutPrefix(rel, a.dir); ok && a.filters.Match(below, false) != ignore.Silent {
			return true
		}
	}
	return false
}

// converts reports whether line ends of any file may differ from its blob's.
func (r *repo) converts() bool {
	if r.convert {
		return true
	}
	for _, a := range r.attrs {
		if a.lines {
			return true
		}
	}
	return false
}

func dirOf(rel string) string {
	if dir := path.Dir(rel); dir != "." {
		return dir + "/"
	}
	return ""
}

// clean reports whether a file with signature s is still as it was when the
// index was written at the given time. No means that it must be read.
func clean(f *gitindex.Entry, s sig, written int64) bool {
	mtime := int64(f.Mtime[0])*1e9 + int64(f.Mtime[1])
	ctime := int64(f.Ctime[0])*1e9 + int64(f.Ctime[1])
	return f.IsFile() && s.isFile() && uint32(s.size) == f.Size &&
		mtime == s.mtime && mtime < written &&
		(ctime == s.ctime || s.ctime == 0) && (f.Ino == uint32(s.ino) || s.ino == 0)
}
