// Package commit makes git commits of given changes, and of nothing else that is in the work
// tree or staged.
package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/proc"
	"kerf/internal/work/repo"
)

// Options say where and how a commit is made.
type Options struct {
	Dir     string   // in the work tree
	Env     []string // of git
	Message string
	// Dry makes the tree and moves nothing.
	Dry bool
}

// Result is a commit, or, when it was not made, what it would change.
type Result struct {
	ID   string
	Diff string // from HEAD
	// Ignored are paths that git ignores, and Nested those in another repository; both are left out.
	// Staged are those whose staged content stays, since the changes do not fit on it.
	Ignored, Nested, Staged []string
}

// ErrNothing says that HEAD has all of it already.
var ErrNothing = errors.New("nothing to commit: HEAD has these changes already")

// repository is one work tree with its HEAD.
type repository struct {
	ctx       context.Context
	top, head string // head is empty before the first commit
	none      string // the id of nothing, by the hash that the repository uses
	env       []string
	settings  []string // of git, as it takes them
}

// entry is a file as git's trees and its index have it.
type entry struct{ mode, id string }

// Make commits the net changes of set, whose contents are loaded, on top of HEAD. A file that
// HEAD has otherwise than the changes begin is merged; where that is impossible nothing is
// done. The index gets the same changes where it had what HEAD had, or where they fit.
func Make(ctx context.Context, set delta.Set, o Options) (Result, error) {
	r := &repository{ctx: ctx, env: o.Env}
	var res Result
	out, err := r.git(o.Dir, nil, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return res, err
	}
	r.top = strings.TrimRight(string(out), "\n")
	if out, err = r.git(r.top, nil, nil, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err == nil {
		r.head = strings.TrimSpace(string(out))
	}
	base := r.head
	if base == "" {
		if base, err = r.emptyTree(); err != nil {
			return res, err
		}
	}
	r.none = strings.Repeat("0", len(base))
	lines, index, err := r.lines(set, &res)
	if err != nil {
		return res, err
	}
	tree, err := r.tree(lines)
	if err == nil {
		err = r.alone(base, tree, lines)
	}
	if err != nil {
		return res, err
	}
	diff, err := r.git(r.top, nil, nil, "diff-tree", "-p", "-M", "--no-ext-diff", "--no-textconv", base, tree)
	if err != nil {
		return res, err
	}
	if res.Diff = string(diff); len(diff) == 0 {
		return res, ErrNothing
	}
	if o.Dry {
		return res, nil
	}
	return res, r.commit(tree, o.Message, index, &res)
}

// emptyTree is the id of a tree without files, by the hash that the repository uses.
func (r *repository) emptyTree() (string, error) {
	out, err := r.git(r.top, nil, []byte{}, "hash-object", "-t", "tree", "-w", "--stdin")
	return strings.TrimSpace(string(out)), err
}

// lines are what the tree of the commit gets, and what the index gets, as update-index reads
// it.
func (r *repository) lines(set delta.Set, res *Result) (tree, index []string, err error) {
	var conflicts []string
	for _, c := range set {
		name, err := filepath.Rel(r.top, filepath.FromSlash(c.Path))
		if err != nil || !filepath.IsLocal(name) {
			return nil, nil, fmt.Errorf("%s lies outside of the repository %s", c.Path, r.top)
		}
		name = filepath.ToSlash(name)
		had, err := r.committed(name)
		if err != nil {
			return nil, nil, err
		}
		if had == (entry{}) && r.nested(name) {
			res.Nested = append(res.Nested, name)
			continue
		}
		if had == (entry{}) && r.ignored(name) {
			res.Ignored = append(res.Ignored, name)
			continue
		}
		next, err := r.onto(c, name, had)
		var conflict *delta.ConflictError
		switch {
		case errors.As(err, &conflict):
			conflicts = append(conflicts, name)
			continue
		case err != nil:
			return nil, nil, err
		}
		tree = append(tree, r.line(next, name))
		staged, err := r.staged(name)
		if err != nil {
			return nil, nil, err
		}
		if staged != had {
			if next, err = r.onto(c, name, staged); err != nil {
				res.Staged = append(res.Staged, name)
				continue
			}
		}
		index = append(index, r.line(next, name))
	}
	return tree, index, otherwise(conflicts)
}

// otherwise is the error about files that HEAD has otherwise.
func otherwise(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("HEAD has other content where the turn changed %s; commit what came before it first",
		strings.Join(names, ", "))
}

// alone fails where a tree differs from base elsewhere than in the lines that it was made with: git gives the
// name of a directory to a file, and of a file or a submodule to a directory, and drops what was there.
func (r *repository) alone(base, tree string, lines []string) error {
	meant := map[string]bool{"": true}
	for _, line := range lines {
		_, name, _ := strings.Cut(line, "\t")
		meant[name] = true
	}
	out, err := r.git(r.top, nil, nil, "diff-tree", "-r", "-z", "--name-only", base, tree)
	names := slices.DeleteFunc(strings.Split(string(out), "\x00"), func(name string) bool { return meant[name] })
	return cmp.Or(err, otherwise(names))
}

// nested reports whether a path lies in a repository that lies in this one.
func (r *repository) nested(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(r.top, dir, ".git")); err == nil {
			return true
		}
	}
	return false
}

// onto is the change c made of what git has.
func (r *repository) onto(c delta.Change, name string, had entry) (entry, error) {
	pre, err := r.written(c.Pre, name)
	if err != nil {
		return entry{}, err
	}
	if pre == had {
		return r.written(c.Post, name)
	}
	now, err := r.image(had)
	if err != nil {
		return entry{}, err
	}
	c.Path, c.Pre, c.Post = name, plainMode(c.Pre), plainMode(c.Post)
	out, err := delta.Rebase(c, now)
	if err != nil {
		return entry{}, err
	}
	return r.written(out.Post, name)
}

// plainMode is an image with one of the two modes that git knows.
func plainMode(i *delta.Image) *delta.Image {
	if i == nil || i.Kind != delta.File {
		return i
	}
	j := *i
	j.Mode = 0o644
	if i.Mode&0o111 != 0 {
		j.Mode = 0o755
	}
	return &j
}

// written stores an image as git would with git add.
func (r *repository) written(i *delta.Image, name string) (entry, error) {
	switch {
	case i == nil:
		return entry{}, nil
	case !i.Loaded:
		return entry{}, fmt.Errorf("%s: its content is not kept, or too large", name)
	}
	mode, args := "100644", []string{"hash-object", "-w", "--stdin", "--path", name}
	switch {
	case i.Kind == delta.Symlink:
		mode, args = "120000", []string{"hash-object", "-w", "--stdin"}
	case i.Mode&0o100 != 0:
		mode = "100755"
	}
	out, err := r.git(r.top, nil, i.Data, args...)
	return entry{mode, strings.TrimSpace(string(out))}, err
}

// image reads what git has.
func (r *repository) image(e entry) (*delta.Image, error) {
	if e == (entry{}) {
		return nil, nil
	}
	data, err := r.git(r.top, nil, nil, "cat-file", "blob", e.id)
	if err != nil {
		return nil, err
	}
	switch e.mode {
	case "120000":
		return delta.NewSymlink(string(data)), nil
	case "100755":
		return delta.NewFile(data, 0o755), nil
	}
	return delta.NewFile(data, 0o644), nil
}

// committed is a file in HEAD.
func (r *repository) committed(name string) (entry, error) {
	if r.head == "" {
		return entry{}, nil
	}
	out, err := r.git(r.top, nil, nil, "ls-tree", "-z", r.head, "--", ":(literal)"+name)
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 || fields[1] != "blob" {
		return entry{}, err
	}
	return entry{fields[0], fields[2]}, nil
}

// staged is a file in the index.
func (r *repository) staged(name string) (entry, error) {
	out, err := r.git(r.top, nil, nil, "ls-files", "-s", "-z", "--", ":(literal)"+name)
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 {
		return entry{}, err
	}
	return entry{fields[0], fields[1]}, nil
}

func (r *repository) ignored(name string) bool {
	_, err := r.git(r.top, nil, nil, "check-ignore", "-q", "--", name)
	return err == nil
}

func (r *repository) line(e entry, name string) string {
	if e == (entry{}) {
		return "0 " + r.none + "\t" + name
	}
	return e.mode + " " + e.id + "\t" + name
}

// tree writes the tree of HEAD with the lines.
func (r *repository) tree(lines []string) (string, error) {
	dir, err := os.MkdirTemp("", "kerf-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	if r.head != "" {
		if _, err := r.git(r.top, env, nil, "read-tree", r.head); err != nil {
			return "", err
		}
	}
	if err := r.enter(env, lines); err != nil {
		return "", err
	}
	out, err := r.git(r.top, env, nil, "write-tree")
	return strings.TrimSpace(string(out)), err
}

// enter puts lines into an index.
func (r *repository) enter(env, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := r.git(r.top, env, []byte(strings.Join(lines, "\x00")+"\x00"), "update-index", "-z", "--index-info")
	return err
}

// commit makes the commit, moves the branch to it, and then puts the lines into the index.
func (r *repository) commit(tree, message string, index []string, res *Result) error {
	args := []string{"commit-tree", tree, "-F", "-"}
	if r.head != "" {
		args = append(args, "-p", r.head)
	}
	if out, err := r.git(r.top, nil, nil, "config", "--type=bool", "commit.gpgsign"); err == nil &&
		strings.TrimSpace(string(out)) == "true" {
		args, r.settings = append(args, "-S"), r.signers()
	}
	out, err := r.git(r.top, nil, []byte(message), args...)
	if err != nil {
		return err
	}
	res.ID = strings.TrimSpace(string(out))
	subject, _, _ := strings.Cut(message, "\n")
	_, err = r.git(r.top, nil, nil, "update-ref", "-m", "commit: "+subject, "HEAD", res.ID, cmp.Or(r.head, r.none))
	if err != nil {
		return err
	}
	return r.enter(nil, index)
}

// signers are settings for git under which no setting of the repository's own names the program that signs:
// those of the user and of the machine count, or what git would start by itself.
func (r *repository) signers() (settings []string) {
	out, err := r.git(r.top, nil, nil, "config", "--show-scope", "--includes", "-z", "--get-regexp",
		`^gpg\.((openpgp|x509|ssh)\.)?(program|defaultkeycommand)$`)
	if err != nil {
		return nil // there are none
	}
	settings = []string{"-c", "gpg.program=gpg", "-c", "gpg.x509.program=gpgsm", "-c", "gpg.ssh.program=ssh-keygen",
		"-c", "gpg.ssh.defaultKeyCommand="}
	found := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(found); i += 2 {
		if key, value, _ := strings.Cut(found[i+1], "\n"); found[i] != "local" && found[i] != "worktree" {
			settings = append(settings, "-c", key+"="+value)
		}
	}
	return settings
}

// patience is how long git may take for a step: a pipe among the files of a repository would have it wait for ever.
const patience = time.Minute

// Program is the user's git, and none that lies in one of the directories or in the working tree
// that holds one.
func Program(dirs ...string) (string, error) {
	for _, dir := range slices.Clone(dirs) {
		if root, _, ok := repo.Find(dir); ok {
			dirs = append(dirs, root)
		}
	}
	return proc.Program("git", dirs)
}

// git runs git and returns what it prints.
func (r *repository) git(dir string, env []string, input []byte, args ...string) ([]byte, error) {
	program, err := Program(dir, r.top)
	if err != nil {
		return nil, err
	}
	limit := patience
	if args[0] == "hash-object" || args[0] == "commit-tree" { // a filter of the user's works, or the user signs
		limit = 24 * time.Hour
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	// No hook runs, that of a changed index included, nothing that watches for changes, and nothing that
	// fetches what is missing.
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"-c", "core.hooksPath=" + os.DevNull, "-c",
		"core.fsmonitor=false"}, r.settings, args)...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, bytes.NewReader(input), time.Second
	cmd.Env = append(append(slices.Clone(r.env), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil && r.ctx.Err() == nil {
			return nil, fmt.Errorf("git %s: it does not answer", args[0])
		}
		said := strings.TrimSpace(errs.String())
		if said == "" {
			said = err.Error()
		}
		return out.Bytes(), fmt.Errorf("git %s: %s", args[0], strings.TrimPrefix(said, "fatal: "))
	}
	return out.Bytes(), nil
}
