package boundary

import (
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
)

// homeSecrets are the places of a home where programs keep what opens other
// machines and accounts. Commands in the sandbox do not see them unless a rule of
// the user's opens them again.
var homeSecrets = [...]string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".oci", ".config/gcloud", ".config/gh", ".config/glab-cli",
	".config/hub", ".config/doctl", ".config/op",
	".config/git/credentials", ".git-credentials", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass",
	".my.cnf", ".docker/config.json",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
	".vault-token", ".password-store",
	".local/share/keyrings", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
	".config/BraveSoftware",
	".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".bash_history", ".zsh_history",
	".python_history", ".psql_history",
	"Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome",
	"Library/Application Support/Firefox",
}

// HideHomeSecrets returns the rules that hide those of them that are in home. One that
// is, or holds, a root is the user's own choice and stays open.
func HideHomeSecrets(home string, roots []string) []Rule {
	if !filepath.IsAbs(home) {
		return nil
	}
	var rules []Rule
	for _, name := range homeSecrets {
		path := filepath.Join(home, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err != nil ||
			slices.ContainsFunc(roots, func(root string) bool { return pathname.Inside(real, root) }) {
			continue
		}
		rules = append(rules, Rule{Path: path, Access: None})
	}
	return rules
}
