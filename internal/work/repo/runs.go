package repo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"kerf/internal/work/scan/gitindex"
)

// The bounds of what is looked at below one repository.
const (
	maxModules     = 500
	maxModuleDepth = 8
	maxConfig      = 1 << 20
)

// Runs says what may have git start a program when it only reads in dir: a setting of the
// repository itself, or of a submodule. It is empty when nothing does. Settings of the
// user and of the machine are not looked at: they are no repository's. It reads files
// only, and what it cannot read counts as a reason.
func Runs(dir string) string {
	left := maxModules
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "the directory cannot be read"
	}
	for {
		gitDir, reason := gitDirAt(dir)
		switch {
		case reason != "":
			return reason
		case gitDir != "":
			return inRepository(dir, gitDir, 0, &left)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitDirAt is the directory that git would take for the repository of a work tree at
// dir, or why it is not one that may be trusted to be plain.
func gitDirAt(dir string) (gitDir, reason string) {
	path := filepath.Join(dir, ".git")
	info, err := os.Stat(path)
	if err == nil {
		if info.Mode().IsRegular() {
			if path, err = Pointer(path); err != nil {
				return "", "its .git cannot be read"
			}
		}
		if _, err := os.Stat(filepath.Join(path, "HEAD")); err == nil {
			return path, ""
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			return path, ""
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", "its .git cannot be read"
	}
	bare := true
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			bare = false
		}
	}
	if bare {
		return "", "a repository without a work tree, " + dir
	}
	return "", ""
}

// inRepository looks at the settings of one repository and of its submodules.
func inRepository(root, gitDir string, depth int, left *int) string {
	if *left--; *left < 0 || depth > maxModuleDepth {
		return "too many submodules"
	}
	for _, file := range []string{filepath.Join(CommonDir(gitDir), "config"), filepath.Join(gitDir, "config"),
		filepath.Join(gitDir, "config.worktree")} {
		text, err := readSmall(file, maxConfig)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "its " + filepath.Base(file) + " cannot be read"
		}
		if key := oddSetting(text, root, gitDir); key != "" {
			return key + " in " + file
		}
	}
	modules, err := gitlinks(gitDir)
	if err != nil {
		return "its index cannot be read"
	}
	for _, m := range modules {
		dir := filepath.Join(root, filepath.FromSlash(m))
		inner, reason := gitDirAt(dir)
		if reason != "" {
			return reason
		}
		if inner == "" {
			continue
		}
		if reason := inRepository(dir, inner, depth+1, left); reason != "" {
			return reason
		}
	}
	return ""
}

// modeLink is the mode of a submodule in an index.
const modeLink = 0o160000

// gitlinks are the submodules that the index of a repository names.
func gitlinks(gitDir string) ([]string, error) {
	data, err := readSmall(filepath.Join(gitDir, "index"), gitindex.MaxSize)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := gitindex.Parse([]byte(data), 20)
	if err != nil {
		if x, err = gitindex.Parse([]byte(data), 32); err != nil {
			return nil, err
		}
	}
	var all []string
	for _, f := range x.Files {
		if f.Mode == modeLink {
			all = append(all, f.Path)
		}
	}
	return all, nil
}

// oddSetting is the first setting of a configuration that is not known to be harmless
// for commands that only read in the work tree root, or nothing.
func oddSetting(text, root, gitDir string) string {
	all, whole := settingsOf(text)
	for _, s := range all {
		if s.form() == "core.worktree" && !sameDir(root, gitDir, s.value) ||
			!harmlessSetting(s.form(), strings.ToLower(s.value)) {
			return s.name
		}
	}
	if !whole {
		return "a line that cannot be read"
	}
	return ""
}

// sameDir reports whether a git directory's work tree, as its setting names it, is root:
// git looks for submodules there.
func sameDir(root, gitDir, worktree string) bool {
	if !filepath.IsAbs(worktree) {
		worktree = filepath.Join(gitDir, worktree)
	}
	here, err := os.Stat(root)
	there, err2 := os.Stat(worktree)
	return err == nil && err2 == nil && os.SameFile(here, there)
}

// harmlessSections are those none of whose settings starts a program in commands that
// only read.
var harmlessSections = setOf(`user author committer branch color advice column status push pull fetch rebase rerere gc pack
index feature receive transfer init i18n http https url lfs svn-remote submodule gui blame grep checkout worktree maintenance
notes versionsort`)

// harmlessSettings are others that start none.
var harmlessSettings = setOf(`core.repositoryformatversion core.filemode core.bare core.logallrefupdates
core.ignorecase core.precomposeunicode core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath core.abbrev
core.untrackedcache core.preloadindex core.fscache core.longpaths core.hidedotfiles core.bigfilethreshold
core.compression core.sharedrepository core.checkstat core.trustctime core.splitindex
core.commitgraph core.multipackindex core.sparsecheckout core.sparsecheckoutcone core.whitespace core.worktree
core.hookspath core.editor core.commentchar core.excludesfile core.attributesfile core.protecthfs core.protectntfs
core.packedgitlimit core.packedgitwindowsize core.deltabasecachelimit core.fsync core.fsyncmethod core.fsyncobjectfiles
core.warnambiguousrefs core.disambiguate core.unsetenvvars core.restrictinheritedhandles
remote.*.url remote.*.pushurl remote.*.fetch remote.*.push remote.*.tagopt remote.*.mirror remote.*.prune
remote.*.prunetags remote.*.gh-resolved remote.*.skipfetchall remote.*.skipdefaultupdate remote.*.followremotehead
remote.pushdefault
extensions.objectformat extensions.compatobjectformat extensions.worktreeconfig extensions.refstorage
extensions.preciousobjects extensions.noop extensions.relativeworktrees
merge.conflictstyle merge.renames merge.renamelimit merge.directoryrenames merge.stat merge.ff merge.log
diff.renames diff.renamelimit diff.algorithm diff.colormoved diff.colormovedws diff.mnemonicprefix diff.noprefix
diff.context diff.interhunkcontext diff.statgraphwidth diff.indentheuristic diff.submodule diff.ignoresubmodules
diff.autorefreshindex diff.wordregex diff.wserrorhighlight diff.suppressblankempty
log.date log.decorate log.abbrevcommit log.follow log.mailmap log.showroot log.graphcolors
commit.gpgsign commit.template commit.verbose commit.status commit.cleanup tag.gpgsign tag.sort tag.forcesignannotated
format.signoff`)

// setOf is a set of names, made when it is first asked for.
func setOf(names string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, name := range strings.Fields(names) {
			m[name] = true
		}
		return m
	})
}

func harmlessSetting(name, value string) bool {
	section, _, _ := strings.Cut(name, ".")
	switch {
	case name == "core.fsmonitor":
		return value == "false" || value == "0" || value == "no" || value == "off"
	case name == "core.sshcommand" || name == "core.pager":
		return false
	}
	return harmlessSections()[section] || harmlessSettings()[name]
}
