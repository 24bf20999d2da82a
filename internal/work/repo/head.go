package repo

import (
	"os"
	"path/filepath"
	"strings"
)

// Checkout is what the files of a repository say is checked out, looked at once: HEAD is read
// by Look, and what it leads to when that is asked for. It belongs to one goroutine.
type Checkout struct {
	Root   string // of the working tree
	GitDir string // with HEAD; see Find

	head   string // what HEAD holds
	common string // see CommonDir; empty before it is asked for
}

// maxRef bounds a file that holds a reference, in bytes.
const maxRef = 4096

// checkoutOf is what is checked out where the directory with HEAD is known.
func checkoutOf(gitDir string) Checkout {
	head, _ := readSmall(filepath.Join(gitDir, "HEAD"), maxRef) // without it nothing is checked out
	return Checkout{GitDir: gitDir, head: head}
}

// At is what is checked out in the repository that holds dir, and the directory with its HEAD: the
// branch, empty when HEAD is detached, and the commit, empty on an unborn branch. It fails where
// neither can be told from files.
func At(dir string) (branch, commit, gitDir string, ok bool) {
	c, ok := Look(dir)
	if !ok {
		return "", "", "", false
	}
	commit = c.Commit()
	if name, detached, _ := c.Branch(); !detached {
		branch = name
	}
	return branch, commit, c.GitDir, commit != "" || branch != ""
}

// Branch reads what is checked out from HEAD; see Checkout.Branch.
func Branch(gitDir string) (name string, detached, unborn bool) {
	c := checkoutOf(gitDir)
	return c.Branch()
}

// Head is the id of the commit that is checked out; see Checkout.Commit.
func Head(gitDir string) string {
	c := checkoutOf(gitDir)
	return c.Commit()
}

// Tip is the id of the commit of a branch; empty where there is none, or only git can tell.
func Tip(gitDir, branch string) string {
	c := Checkout{GitDir: gitDir, head: "ref: refs/heads/" + branch}
	return c.Commit()
}

// Busy reports whether git is in the middle of a rebase, a bisection, or several picks or reverts: they
// go on from where HEAD is, and a reset does not end them.
func Busy(gitDir string) bool {
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer", "BISECT_START"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			return true
		}
	}
	return false
}

// midst are the files that tell what git is in the middle of, in the order in which they are looked for.
var midst = [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick or revert"}, {"MERGE_HEAD", "merge"}, {"BISECT_START", "bisect"}}

// Midst is what git is in the middle of, and went on with since a moment in Unix seconds; empty when there is
// nothing.
func Midst(gitDir string, since int64) string {
	for _, m := range midst {
		if st, err := os.Lstat(filepath.Join(gitDir, m[0])); err == nil && st.ModTime().Unix() >= since {
			return m[1]
		}
	}
	return ""
}

// Branch is what is checked out, as HEAD says. Of a detached HEAD the name is the
// object's. An unborn branch has no commit yet. A name that git would not allow
// is given as empty, as is one that only git can tell (reftable).
func (c *Checkout) Branch() (name string, detached, unborn bool) {
	head := strings.TrimRight(c.head, " \t\r\n")
	if objectName().MatchString(head) {
		return head, true, false
	}
	ref, ok := strings.CutPrefix(head, "ref:")
	ref = strings.TrimLeft(ref, " \t")
	if !ok || !validRef(ref) {
		return "", false, false
	}
	name = strings.TrimPrefix(ref, "refs/heads/")
	return name, false, !c.exists(ref)
}

// commonDir is CommonDir, read once.
func (c *Checkout) commonDir() string {
	if c.common == "" {
		c.common = CommonDir(c.GitDir)
	}
	return c.common
}

// dirs are those in which a reference may be a file.
func (c *Checkout) dirs() []string {
	if common := c.commonDir(); common != c.GitDir {
		return []string{c.GitDir, common}
	}
	return []string{c.GitDir}
}

func (c *Checkout) exists(ref string) bool {
	for _, dir := range c.dirs() {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(ref))); err == nil {
			return true
		}
	}
	packed, err := readSmall(filepath.Join(c.commonDir(), "packed-refs"), 64<<20)
	return err == nil && strings.Contains(packed, " "+ref+"\n")
}

// Commit is the id of the commit that is checked out, read from files alone; empty for an
// unborn branch, and where only git can tell (reftable).
func (c *Checkout) Commit() string {
	id, ref := named(c.head)
	for range 4 { // as far as git follows a reference that names another one
		if ref == "" {
			return id
		}
		id, ref = c.resolve(ref)
	}
	if ref != "" {
		return ""
	}
	return id
}

// named is what the file of a reference says: the object, or the next reference.
func named(text string) (id, next string) {
	text = strings.TrimRight(text, " \t\r\n")
	if to, ok := strings.CutPrefix(text, "ref:"); ok {
		if to = strings.TrimLeft(to, " \t"); validRef(to) {
			return "", to
		}
		return "", ""
	}
	if objectName().MatchString(text) {
		return text, ""
	}
	return "", ""
}

// resolve reads a reference: the object that it names, or the next reference.
func (c *Checkout) resolve(ref string) (id, next string) {
	for _, dir := range c.dirs() {
		if text, err := readSmall(filepath.Join(dir, filepath.FromSlash(ref)), maxRef); err == nil {
			return named(text)
		}
	}
	packed, err := readSmall(filepath.Join(c.commonDir(), "packed-refs"), 64<<20)
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(packed) {
		id, name, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if name == ref && objectName().MatchString(id) {
			return id, ""
		}
	}
	return "", ""
}

// Remote is the URL from which a branch comes; see Checkout.Remote.
func Remote(gitDir, branch string) string {
	c := Checkout{GitDir: gitDir}
	return c.Remote(branch)
}

// Remote is the URL from which a branch comes, as the repository's own configuration has
// it: that of the branch's remote, else that of origin, else the first. It may hold a
// password.
func (c *Checkout) Remote(branch string) string {
	text, err := readSmall(filepath.Join(c.commonDir(), "config"), 1<<20)
	if err != nil {
		return ""
	}
	urls, name, first := map[string]string{}, "origin", ""
	all, _ := settingsOf(text)
	for _, s := range all {
		switch remote := strings.TrimPrefix(strings.TrimSuffix(s.name, ".url"), "remote."); {
		case s.form() == "remote.*.url":
			urls[remote] = s.value // the last one holds
			if first == "" {
				first = remote
			}
		case branch != "" && s.name == "branch."+branch+".remote":
			name = s.value
		}
	}
	if url, ok := urls[name]; ok {
		return url
	}
	if url, ok := urls["origin"]; ok {
		return url
	}
	return urls[first]
}
