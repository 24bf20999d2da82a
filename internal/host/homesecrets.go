package host

import (
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/work/sandbox"
)

// homeSecrets are the places of a home where programs keep what opens other
// machines and accounts. Commands in the sandbox do not see them unless a rule of
// the user's opens them again.
var homeSecrets = [...]string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".oci", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/doctl", ".config/op",
	".config/git/credentials", ".git-credentials", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".docker/config.json",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json", ".vault-token", ".password-store",
	".local/share/keyrings", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
	"Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
}

// hiddenHome are the rules that hide those of them that are there. One that is, or
// holds, a root is the user's own choice and stays open.
func (h *Host) hiddenHome(roots []string) []sandbox.Rule {
	home := h.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return nil
	}
	var rules []sandbox.Rule
	for _, name := range homeSecrets {
		path := filepath.Join(home, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err != nil || slices.ContainsFunc(roots, func(root string) bool { return inside(real, root) }) {
			continue
		}
		rules = append(rules, sandbox.Rule{Path: path, Access: sandbox.None})
	}
	return rules
}

// inside reports whether path is dir or lies in it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
