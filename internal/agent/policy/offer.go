package policy

import (
	"slices"
	"strings"

	"kerf/internal/agent/policy/starts"
	"kerf/internal/text/shell"
)

// Banned reports whether no rule is offered for a program: what it does depends
// on its surroundings or on what it is given to run.
func Banned(name string) bool {
	if starts.Carries(name) || strings.ContainsAny(name, "/\\") {
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

// Prefix are the words of the rule that may be offered for a command, nil when only this
// very command can be allowed. Of tools that have subcommands they say what is done; else
// they are the whole command, and only that is meant: whole is true then. No rule is the
// name of a program alone.
func Prefix(argv []string) (prefix []string, whole bool) {
	if len(argv) == 0 || Banned(argv[0]) || strings.HasPrefix(argv[0], "-") {
		return nil, false
	}
	switch argv[0] {
	case "go", "cargo", "dotnet", "swift", "zig", "mix", "flutter", "dart", "rustup", "stack", "cabal", "lake",
		"bazel", "buck2":
		if len(argv) < 2 || strings.HasPrefix(argv[1], "-") ||
			slices.Contains([]string{"run", "exec", "tool", "generate", "install", "script", "x", "env", "get"}, argv[1]) {
			return nil, false
		}
		return slices.Clone(argv[:2]), false
	}
	if len(argv) > 8 {
		return nil, false
	}
	return slices.Clone(argv), true
}

// offer fills in the rules that the user may choose. A line that is not plain or
// that does harm can only be allowed as it is. A rule that lets a command out of the
// sandbox is for exactly that command and the program that it starts now. Where another
// rule asks, one that allows would change nothing.
func (j *Judgement) offer(p *Parsed, c Command, h Harm) {
	if strings.HasPrefix(j.By, "rule ") || !p.Plain() || h.Level > Ordinary || len(p.Doubts) > 0 ||
		j.Unsandboxed && len(p.Commands) != 1 {
		return
	}
	var wanted []string
	exactly := false
	for _, s := range p.Commands {
		argv, ok := s.Argv()
		if !ok || s.Started || changesDir(argv[0]) {
			return
		}
		if s.Safe() && !j.Unsandboxed {
			continue
		}
		prefix, whole := Prefix(argv)
		if j.Unsandboxed && prefix != nil {
			prefix, whole = argv, true
		}
		if prefix == nil || wanted != nil && !slices.Equal(prefix, wanted) {
			return
		}
		wanted, exactly = prefix, whole
	}
	if wanted == nil {
		return
	}
	r := Rule{Decision: RuleAllow, Unsandboxed: j.Unsandboxed, Exactly: exactly, In: c.Dir, Repo: c.Repo}
	if c.Repo != "" {
		r.In = c.Repo
	}
	if j.Unsandboxed {
		path, changeable := c.place().Program(wanted[0])
		if _, defined := c.Stands[wanted[0]]; defined || changeable {
			return
		}
		r.Program = path
	}
	for _, w := range wanted {
		if strings.ContainsAny(w, "\n\r") {
			return
		}
		r.Prefix = append(r.Prefix, []string{w})
	}
	if !exactly {
		j.Prefix = wanted
	}
	j.Rule, j.Covers = r.String(), r.Covers()
}

// Covers says in words what a rule allows.
func (r Rule) Covers() string {
	words := make([]string, len(r.Prefix))
	for i, alternatives := range r.Prefix {
		words[i] = strings.Join(alternatives, "|")
	}
	var b strings.Builder
	if r.Exactly {
		b.WriteString("exactly the command ")
	} else {
		b.WriteString("every command that begins with ")
	}
	b.WriteString(shell.Line(words))
	if r.Program != "" {
		b.WriteString(", as long as it starts " + r.Program)
	}
	if r.In != "" {
		b.WriteString(", in " + r.In + " and below")
	}
	if r.Unsandboxed {
		b.WriteString(", without the sandbox")
	} else {
		b.WriteString(", in the sandbox")
	}
	return b.String() + ", unasked, in this session and all later ones"
}
