package boundary

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kerf/internal/work/boundary/names"
	"kerf/internal/work/inode"
	"kerf/internal/work/repo"
)

// Finding is something a command planted.
type Finding struct {
	Path    string
	What    string
	Removed bool
}

// Sweep looks, after a command, for what it planted where git, Kerf or the programs of
// the user would follow it. Links and other special files in the writable parts of git
// directories are removed; aside moves what came to be at names for which no placeholder
// could stand. The rest is only told, because the user may have made it: protected names
// that came to be although they were masked, repositories and directories of Kerf below
// the roots, and what git would run when an operation goes on that was begun meanwhile.
func Sweep(p Plan, aside func(path string) (to string, ok bool)) []Finding {
	var below []string
	var looks sync.WaitGroup
	all := p.answers != nil && !p.answers.everything
	if all {
		looks.Go(func() { below = p.answers.below() })
	}
	found := sweepLinks(p)
	for _, m := range p.Masks {
		if _, err := os.Lstat(m.Path); err == nil && !(Disk{}).Placeholder(m.Path) {
			found = append(found, Finding{m.Path, "a protected name that was not there before", false})
		}
	}
	looks.Wait()
	if !all {
		return found
	}
	now := p.sightings(below)
	for _, n := range p.Untouched {
		if !n.Aside || p.before[n.Path] != "" || now[n.Path] == "" {
			continue
		}
		if to, ok := aside(n.Path); ok {
			delete(now, n.Path)
			found = append(found, Finding{n.Path, "was made while a command ran, and only the user makes it; it is now " + to, true})
		}
	}
	return append(found, fresher(p.before, now)...)
}

// maxTold bounds what is told after one command.
const maxTold = 8

// fresher is what was not seen before.
func fresher(before, now map[string]string) []Finding {
	var found []Finding
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if what := now[path]; before[path] != what {
			what, _, _ = strings.Cut(what, "\x00")
			found = append(found, Finding{Path: path, What: what})
		}
	}
	if more := len(found) - maxTold; more > 0 {
		found = found[:maxTold]
		found[maxTold-1].What += fmt.Sprintf("; %d more such names are not told", more)
	}
	return found
}

func sweepLinks(p Plan) (found []Finding) {
	known := make(map[string]bool, len(p.Links))
	for _, l := range p.Links {
		known[l] = true
	}
	for _, git := range p.GitDirs {
		for _, path := range (Disk{}).Links(git) {
			if !known[path] {
				found = append(found, Finding{path, "a link or special file in the git directory", removeIn(git, path)})
			}
		}
	}
	return found
}

// removeIn removes path, which lies in dir, and reports whether it did.
func removeIn(dir, path string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	rel, err := filepath.Rel(dir, path)
	return err == nil && root.Remove(rel) == nil
}

// below are the repositories and directories of Kerf below the writable directories.
func (a *answers) below() (all []string) {
	for _, root := range a.roots {
		if info, err := a.view.Lstat(root); err == nil && info.IsDir() {
			all = append(all, a.view.Nested(root, false)...)
		}
	}
	return all
}

// sightings are what a command may leave for others to follow, each with words about it;
// what stands behind a NUL tells one state from another. nested is what a look below the
// roots found.
func (p *Plan) sightings(nested []string) map[string]string {
	seen := make(map[string]string)
	for _, path := range nested {
		switch {
		case p.answers.view.Placeholder(path):
		case names.Fold(filepath.Base(path)) == Kerf:
			seen[path] = "was made while a command ran; Kerf would take settings from it, once you trust it"
		default:
			seen[path] = "a repository that was made while a command ran: what git runs in it was not protected until now"
		}
	}
	for _, n := range p.Untouched {
		if info, err := p.answers.view.Lstat(n.Path); err == nil {
			id, _ := IdentityOf(info)
			seen[n.Path] = fmt.Sprint("was made or changed while a command ran, and ", p.At(n.Path).Why,
				"\x00", id, info.Size(), info.ModTime().UnixNano(), inode.Changed(info))
		}
	}
	for _, git := range p.GitDirs {
		for path, steps := range repo.Steps(git) {
			seen[path] = steps
		}
	}
	return seen
}
