package names

// HomeSecrets are the places of a home where programs keep what opens other
// machines and accounts, with slashes.
var HomeSecrets = []string{
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

// StartFiles are the places of a home from which shells, desktops, editors and git run
// programs by themselves. The lists of the manuals of
// bash, zsh, fish, systemd, the XDG autostart specification, launchd, git, vim, emacs, tmux
// and OpenSSH.
var StartFiles = []string{
	".bashrc", ".bash_logout", ".bash_aliases", ".profile",
	".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout",
	".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".pam_environment",
	".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc",
	".gitconfig", ".vimrc", ".emacs", ".tmux.conf", ".screenrc", ".gdbinit", ".forward", ".procmailrc",
}

// StartDirs are such places that are directories.
var StartDirs = []string{
	".config/fish", ".config/powershell", ".config/nushell", ".config/environment.d", ".config/autostart",
	".config/systemd", ".config/plasma-workspace", ".local/share/systemd", ".local/share/applications",
	".local/share/dbus-1", "Library/LaunchAgents", ".config/git", ".vim", ".config/nvim", ".emacs.d", ".config/emacs",
	".config/tmux", ".ssh", ".gnupg",
}

// Hooks are the programs that git looks for in its directory of hooks, by its manual
// githooks(5).
var Hooks = []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
	"prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive",
	"update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
	"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist",
	"p4-post-changelist", "p4-pre-submit", "post-index-change"}
