package repo

import (
	"net/url"
	"path/filepath"
	"strings"
)

// RemoteSecrets returns the passwords, and the tokens in their place, that the URLs
// in the configuration of the repository around cwd hold. Only its own file is read,
// as text; nothing is run.
func RemoteSecrets(cwd string) []string {
	_, gitDir, ok := Find(cwd)
	if !ok {
		return nil
	}
	text, err := readSmall(filepath.Join(CommonDir(gitDir), "config"), 1<<20)
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.Lines(text) {
		at := strings.Index(line, "://")
		if at < 0 {
			continue
		}
		rest := line[at+len("://"):]
		if end := strings.IndexAny(rest, "/\"' \t\r\n"); end >= 0 {
			rest = rest[:end]
		}
		user := rest[:max(strings.LastIndexByte(rest, '@'), 0)]
		name, password, has := strings.Cut(user, ":")
		if !has && len(name) > 12 {
			password = name
		}
		if password == "" {
			continue
		}
		found = append(found, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			found = append(found, plain)
		}
	}
	return found
}
