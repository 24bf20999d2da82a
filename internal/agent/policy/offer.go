package policy

import (
	"slices"
	"strings"
)

// Banned reports whether no rule is offered for a program: what it does depends
// on its surroundings or on what it is given to run.
func Banned(name string) bool {
	if _, _, carries := carrier(name); carries || interpreter(name) || strings.ContainsAny(name, "/\\") {
		return true
	}
	switch name {
	case "git", "make", "gmake", "just", "task", "npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "uv", "uvx", "pipx",
		"pip", "pip3", "poetry", "pdm", "conda", "bundle", "rake", "gem",
		"find", "fd", "awk", "gawk", "mawk", "sed", "vim", "vi", "ed", "emacs", "nano", "less", "more", "man", "gdb", "lldb",
		"rm", "rmdir", "mv", "cp", "dd", "ln", "install", "tee", "truncate", "shred", "chmod", "chown", "kill",
		"killall", "pkill",
		"curl", "wget", "http", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp",
		"docker", "podman", "kubectl", "helm", "terraform", "aws", "gcloud", "az", "gh", "glab", "systemctl", "launchctl",
		"crontab", "at",
		"psql", "mysql", "sqlite3", "redis-cli", "mongo", "mongosh", "kerf", "codex", "claude", "gemini", "tar", "unzip",
		"zip", "brew", "apt", "apt-get", "dnf", "yum", "pacman", "apk",
		"export", "alias", "unalias", "set", "unset", "trap", "source", "declare", "local", "readonly", "cd", "pushd", "popd",
		"gradle", "mvn", "ant", "expect", "screen", "tmux", "open", "xdg-open", "start":
		return true
	}
	return false
}

// Prefix is the rule that may be offered for a command: the words that say what
// is done, nil when only this very command can be allowed.
func Prefix(argv []string) []string {
	if len(argv) == 0 || Banned(argv[0]) || strings.HasPrefix(argv[0], "-") {
		return nil
	}
	switch argv[0] {
	case "go", "cargo", "dotnet", "swift", "zig", "mix", "flutter", "dart", "rustup", "stack", "cabal", "lake",
		"bazel", "buck2":
		if len(argv) < 2 || strings.HasPrefix(argv[1], "-") ||
			slices.Contains([]string{"run", "exec", "tool", "generate", "install", "script", "x", "env", "get"}, argv[1]) {
			return nil
		}
		return slices.Clone(argv[:2])
	case "pytest", "ruff", "black", "mypy", "flake8", "pylint", "isort", "eslint", "prettier", "tsc", "jest", "vitest",
		"mocha", "gofmt", "goimports", "staticcheck",
		"golangci-lint", "rustfmt", "clippy-driver", "shellcheck", "shfmt", "clang-format", "clang-tidy", "cmake", "ctest",
		"ninja", "rspec", "rubocop", "phpunit", "mkdir", "touch":
		return []string{argv[0]}
	}
	if len(argv) > 8 {
		return nil
	}
	return slices.Clone(argv)
}

// offer fills in the rules that the user may choose. A line that is not plain or
// that does harm can only be allowed as it is.
func (j *Judgement) offer(p *Parsed, c Command, h Harm) {
	if !p.Plain() || h.Level > Ordinary {
		return
	}
	var wanted []string
	for _, s := range p.Commands {
		argv, ok := s.Argv()
		if !ok || s.Started {
			return
		}
		if s.Safe() {
			continue
		}
		prefix := Prefix(argv)
		if prefix == nil || wanted != nil && !slices.Equal(prefix, wanted) {
			return
		}
		wanted = prefix
	}
	if wanted == nil {
		return
	}
	j.Prefix = wanted
	r := Rule{Decision: RuleAllow, Unsandboxed: j.Unsandboxed, In: c.Dir, Repo: c.Repo}
	if c.Repo != "" {
		r.In = c.Repo
	}
	for _, w := range wanted {
		if strings.ContainsAny(w, "\n\r") {
			return
		}
		r.Prefix = append(r.Prefix, []string{w})
	}
	j.Rule = r.String()
}
