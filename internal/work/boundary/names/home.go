package names

// HomeSecrets are the places of a home where programs keep what opens other
// machines and accounts, with slashes. Files that mostly hold settings, without which a
// program does not run, are not among them (pip.conf, NuGet.Config). The last part are those
// that firejail closes and that were not here (netblue30/firejail:etc/inc/disable-common.inc,
// "top secret", "cloud provider configuration" and "Remote access", November 2026).
var HomeSecrets = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".oci", ".config/gcloud", ".config/gh", ".config/glab-cli",
	".config/hub", ".config/doctl", ".config/op",
	".config/git/credentials", ".git-credentials", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass",
	".my.cnf", ".docker/config.json",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
	".vault-token", ".password-store",
	".local/share/keyrings", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
	".config/BraveSoftware",
	".config/rclone", ".rclone.conf", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
	".config/sops", ".config/age", ".age", ".config/containers/auth.json", ".config/helm/registry",
	".config/helm/registry.json", ".config/hcloud", ".config/scw", ".config/linode-cli", ".config/flyctl", ".fly", ".vultr-cli.yaml",
	".config/netlify", ".netlify", ".config/heroku", ".local/share/com.vercel.cli", ".config/.wrangler", ".wrangler", ".railway",
	".config/stripe", ".config/ngrok", ".config/ngrok2", ".ngrok2", ".pulumi/credentials.json", ".terraformrc", ".boto", ".s3cfg", ".passwd-s3fs",
	".config/pypoetry/auth.toml", ".config/composer/auth.json", ".composer/auth.json",
	".bundle/config", ".config/rubygems/credentials", ".local/share/gem/credentials",
	".hex", ".ivy2/.credentials", ".sbt/.credentials",
	".mylogin.cnf", ".mongorc.js", ".dbshell", ".rediscli_auth", ".snowflake", ".databrickscfg", ".config/databricks",
	".kaggle", ".config/kaggle", ".cache/huggingface/token", ".huggingface/token", ".msmtprc", ".mbsyncrc", ".fetchmailrc",
	".config/msmtp", ".config/hexchat", ".config/keepassxc", ".config/Bitwarden", ".config/Bitwarden CLI",
	".config/1Password", ".1password", ".electrum", ".bitcoin/wallet.dat", ".ethereum/keystore", ".config/solana",
	".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/Slack", ".config/discord", ".config/Signal",
	".local/share/TelegramDesktop", ".local/share/kwalletd", ".kde/share/apps/kwallet",
	".claude.json", ".config/github-copilot", ".local/share/opencode/auth.json", ".qwen/oauth_creds.json",
	".config/fish/fish_history", ".local/share/fish/fish_history", ".node_repl_history", ".mysql_history", ".sqlite_history",
	".rediscli_history", ".irb_history", ".lesshst",
	".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".bash_history", ".zsh_history",
	".python_history", ".psql_history",
	"Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome",
	"Library/Application Support/Firefox",
	"Private", ".Private", ".ecryptfs", ".fscrypt", ".vaults", ".local/share/plasma-vault", ".caff", ".cert", ".pki",
	".local/share/pki", ".config/keybase", ".davfs2/secrets", ".git-credential-cache", ".gnome2/keyrings",
	".kde4/share/apps/kwallet", ".minisign", ".mutt", ".muttrc", ".nyx", ".smbcredentials", ".s3cmd", ".rhosts", ".shosts",
}

// StartFiles are the places of a home from which shells, desktops, editors and git run
// programs by themselves. The lists of the manuals of
// bash, zsh, fish, systemd, the XDG autostart specification, launchd, git, vim, emacs, tmux
// and OpenSSH, and the "Startup files" and "Initialization files" of firejail's list.
var StartFiles = []string{
	".bashrc", ".bash_logout", ".bash_aliases", ".profile",
	".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout",
	".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".pam_environment",
	".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc",
	".gitconfig", ".vimrc", ".emacs", ".tmux.conf", ".screenrc", ".gdbinit", ".forward", ".procmailrc",
	".logout", ".mkshrc", ".csh_files", ".zshrc.local", ".zsh_files", ".exrc", ".gvimrc", ".nanorc", ".mailcap", ".caffrc",
	".pythonrc.py", ".xscreensaver", ".cargo/env",
}

// StartDirs are such places that are directories.
var StartDirs = []string{
	".config/fish", ".config/powershell", ".config/nushell", ".config/environment.d", ".config/autostart",
	".config/systemd", ".config/plasma-workspace", ".local/share/systemd", ".local/share/applications",
	".local/share/dbus-1", "Library/LaunchAgents", ".config/git", ".vim", ".config/nvim", ".emacs.d", ".config/emacs",
	".config/tmux", ".ssh", ".gnupg", ".oh-my-zsh", ".zsh.d", ".xmonad", ".local/bin", ".cargo/bin",
}

// Hooks are the programs that git looks for in its directory of hooks, by its manual
// githooks(5).
var Hooks = []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
	"prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive",
	"update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
	"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist",
	"p4-post-changelist", "p4-pre-submit", "post-index-change"}
