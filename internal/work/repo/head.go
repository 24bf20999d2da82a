package repo

import (
	"path/filepath"
	"strings"
)

// Head is the id of the commit that is checked out, read from files alone; empty for an
// unborn branch, and where only git can tell (reftable).
func Head(gitDir string) string {
	ref := "HEAD"
	for range 5 { // as far as git follows a reference that names another one
		id, next := resolve(gitDir, ref)
		if next == "" {
			return id
		}
		ref = next
	}
	return ""
}

// resolve reads a reference: the object that it names, or the next reference.
func resolve(gitDir, ref string) (id, next string) {
	common := CommonDir(gitDir)
	for _, dir := range []string{gitDir, common} {
		text, err := readSmall(filepath.Join(dir, filepath.FromSlash(ref)), 4096)
		if err != nil {
			continue
		}
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
	packed, err := readSmall(filepath.Join(common, "packed-refs"), 64<<20)
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

// Remote is the URL from which a branch comes, as the repository's own configuration has
// it: that of the branch's remote, else that of origin, else the first. It may hold a
// password.
func Remote(gitDir, branch string) string {
	text, err := readSmall(filepath.Join(CommonDir(gitDir), "config"), 1<<20)
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
