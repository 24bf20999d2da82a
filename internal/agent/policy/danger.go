package policy

import (
	"slices"
	"strings"

	"kerf/internal/agent/policy/starts"
)

// Level is how much harm a command can do beyond what its words suggest.
type Level int

// The levels.
const (
	Ordinary Level = iota
	// Risky commands destroy, publish or hand over control: fine where a sandbox
	// holds them, asked about where none does.
	Risky
	// Wide ones delete what only the shell knows: a pattern, a variable, a home.
	Wide
	// Grave ones take a repository, a home, a disk or the machine with them.
	Grave
)

// String names the level.
func (l Level) String() string { return [...]string{"ordinary", "risky", "wide", "grave"}[l] }

// Harm is the worst that a line may do, and why.
type Harm struct {
	Level Level
	Why   string
	// Targets are the words of what is deleted, as the shell will see them.
	Targets []Word
}

func (h *Harm) raise(l Level, why string) {
	if l > h.Level {
		h.Level, h.Why = l, why
	}
}

// Grievous reports whether a line may destroy a repository, a home, a disk or the
// machine. Only the user may answer the question about such a line.
func Grievous(line string) bool { return Parse(line).Harm().Level == Grave }

// Harm finds the worst that the line may do.
func (p *Parsed) Harm() Harm {
	var h Harm
	switch {
	case p.bomb:
		h.raise(Grave, "it starts itself again and again")
	case p.device:
		h.raise(Grave, "it writes to a disk directly")
	}
	if p.piped {
		h.raise(Risky, "it runs what another command prints")
	}
	for _, c := range p.Commands {
		h.command(c)
	}
	p.guessed(&h)
	return h
}

// maxGuessed bounds how many parts of commands are looked at as commands.
const maxGuessed = 64

// guessed adds what programs may do if they start what some of their words say. Nobody
// knows that they do, so it counts as risky only.
func (p *Parsed) guessed(h *Harm) {
	n := 0
	for _, g := range p.guesses {
		for i := range g.Words[1:] {
			if !harms(starts.Name(g.Words[i+1].Text)) {
				continue
			}
			if n++; n > maxGuessed {
				h.raise(Risky, "too many of its words name programs that destroy")
				return
			}
			var inner Harm
			if inner.command(Simple{Words: g.Words[i+1:]}); inner.Level >= Risky {
				h.raise(Risky, g.Words[0].Text+" may start another program: "+inner.Why)
			}
		}
	}
	for _, q := range p.maybe {
		if inner := q.Harm(); inner.Level >= Risky {
			h.raise(Risky, "one of its words may be run: "+inner.Why)
		}
	}
}

// harms reports whether a program may do harm by itself.
func harms(name string) bool {
	var h Harm
	h.command(Simple{Words: []Word{{Text: name}, {Text: "-rf"}, {Text: "push"}, {Text: "-delete"}, {Text: "publish"},
		{Text: "-R"}, {Text: "777"}, {Text: "/dev/sda"}, {Text: "of=/dev/sda"}, {Text: "reboot"}, {Text: ".git"}, {Text: "--yolo"}}})
	return h.Level >= Risky || name == "git" || name == "docker" || name == "dd"
}

func (h *Harm) command(c Simple) {
	argv := c.texts()
	if len(argv) == 0 {
		return
	}
	name, args := starts.Name(argv[0]), argv[1:]
	switch name {
	case "rm", "unlink", "rmdir", "shred", "srm", "trash":
		h.remove(name, c)
	case "git":
		h.git(args)
	case "find":
		if slices.Contains(args, "-delete") {
			h.raise(Risky, "find -delete removes files")
		}
	case "dd":
		h.dd(args)
	case "chmod", "chown", "chgrp":
		h.owner(name, c)
	case "kill", "killall", "pkill", "killall5":
		h.kill(name, args)
	case "systemctl", "init", "telinit":
		if slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains([]string{"poweroff", "reboot", "halt", "kexec", "0", "6"}, a)
		}) {
			h.raise(Grave, "it stops the machine")
		}
	case "shutdown", "reboot", "halt", "poweroff":
		h.raise(Grave, "it stops the machine")
	case "fdisk", "parted", "sgdisk", "sfdisk", "wipefs", "mkswap", "cryptsetup", "blkdiscard", "hdparm":
		h.raise(Grave, name+" changes disks")
	case "mv", "cp", "install", "ln", "tee", "truncate":
		if slices.ContainsFunc(args, diskDevice) {
			h.raise(Grave, "it writes to a disk directly")
		} else if slices.ContainsFunc(args, repository) && name == "mv" {
			h.raise(Grave, "it moves a git repository's own directory")
		}
	default:
		h.other(name, args)
	}
}

// other judges the remaining programs.
func (h *Harm) other(name string, args []string) {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case slices.Contains([]string{"kerf", "codex", "claude", "gemini"}, name) &&
		slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--dangerously") || a == "--yolo" || a == "-y" ||
				strings.Contains(a, "danger-full-access")
		}):
		h.raise(Wide, name+" would start an agent without bounds")
	case strings.HasPrefix(name, "mkfs"):
		h.raise(Grave, name+" makes a new file system")
	case slices.Contains([]string{"sudo", "doas", "su", "pkexec", "runuser"}, name):
		h.raise(Risky, name+" acts as another user")
	case slices.Contains([]string{"ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp",
		"crontab", "at", "batch"}, name):
		h.raise(Risky, name+" reaches beyond this machine or this moment")
	case slices.Contains([]string{"npm", "pnpm", "yarn", "cargo", "twine", "gem", "poetry", "flit", "vsce", "mvn",
		"gradle"}, name) &&
		slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains([]string{"publish", "unpublish", "upload", "push", "yank", "deprecate", "deploy"}, a)
		}):
		h.raise(Risky, name+" publishes")
	case slices.Contains([]string{"docker", "podman", "kubectl", "helm", "terraform", "tofu", "pulumi", "aws", "gcloud",
		"az", "gh", "glab", "heroku", "fly", "vercel", "wrangler", "doctl"}, name) &&
		first != "" && !strings.HasPrefix(first, "-") && first != "version":
		h.raise(Risky, name+" acts on things outside this directory")
	case slices.Contains([]string{"iptables", "nft", "ufw", "sysctl", "modprobe", "insmod", "rmmod", "mount", "umount",
		"swapoff", "useradd", "userdel", "passwd", "visudo", "chpasswd"}, name):
		h.raise(Risky, name+" changes the system")
	}
}

// remove judges what deletes files.
func (h *Harm) remove(name string, c Simple) {
	forced, ended := name == "shred" || name == "srm", false
	for _, w := range c.Words[1:] {
		switch {
		case w.Text == "--" && !ended:
			ended = true
			continue
		case !ended && strings.HasPrefix(w.Text, "-") && len(w.Text) > 1:
			forced = forced || strings.HasPrefix(w.Text, "--") &&
				(strings.HasPrefix("--force", w.Text) || strings.HasPrefix("--recursive", w.Text)) ||
				!strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "rRf")
			continue
		}
		h.Targets = append(h.Targets, w)
		switch {
		case vital(w):
			h.raise(Grave, "it would delete "+w.Text)
		case w.Glob || w.Tilde || w.Expands:
			h.raise(Wide, "what "+name+" deletes depends on "+w.Text)
		case strings.HasPrefix(w.Text, "/") && !strings.HasPrefix(w.Text, "/tmp/"):
			h.raise(Wide, "it deletes an absolute path, "+w.Text)
		}
	}
	if forced {
		h.raise(Risky, name+" deletes without asking")
	}
}

// vital reports whether a word names a home, a root, a repository or everything here.
func vital(w Word) bool {
	s := w.Text
	if w.Expands { // the quotes are still in it
		s = strings.ReplaceAll(s, `"`, "")
	}
	s = strings.TrimRight(s, "/")
	switch s {
	case "", ".", "..", "~", "$HOME", "${HOME}", "$PWD", "${PWD}", "*", "./*", "../*", "/*", "~/*", "$HOME/*",
		"${HOME}/*", ".*", "./.*":
		return w.Text != ""
	}
	if repository(s) || w.Tilde && !strings.Contains(s, "/") {
		return true
	}
	rest, rooted := strings.CutPrefix(strings.TrimSuffix(s, "/*"), "/")
	return rooted && !strings.Contains(rest, "/") && rest != "tmp" ||
		strings.HasPrefix(s, "/home/") && strings.Count(strings.TrimSuffix(s, "/*"), "/") == 2 ||
		strings.HasPrefix(s, "/Users/") && strings.Count(strings.TrimSuffix(s, "/*"), "/") == 2
}

// repository reports whether a path is or lies in git's own directory.
func repository(s string) bool {
	for _, part := range strings.Split(strings.ToLower(s), "/") {
		if part == ".git" {
			return true
		}
	}
	return false
}

// diskDevice reports whether a path names a whole disk or a part of one.
func diskDevice(s string) bool {
	rest, ok := strings.CutPrefix(s, "/dev/")
	if !ok {
		return false
	}
	for _, p := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "loop", "mem",
		"kmem", "port"} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

func (h *Harm) dd(args []string) {
	for _, a := range args {
		if out, ok := strings.CutPrefix(a, "of="); ok && diskDevice(out) {
			h.raise(Grave, "it writes to a disk directly")
		}
	}
}

func (h *Harm) owner(name string, c Simple) {
	deep := false
	for _, w := range c.Words[1:] {
		deep = deep || strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "R") || w.Text == "--recursive"
	}
	for _, w := range c.Words[1:] {
		if deep && !strings.HasPrefix(w.Text, "-") && vital(w) && w.Text != "." && w.Text != "*" && w.Text != "./*" {
			h.raise(Grave, name+" would change all of "+w.Text)
		}
		if name == "chmod" && (strings.HasSuffix(w.Text, "777") || strings.Contains(w.Text, "+s")) {
			h.raise(Risky, "it opens files to everybody")
		}
	}
}

func (h *Harm) kill(name string, args []string) {
	if name == "killall5" || name == "kill" && slices.Contains(args, "-1") && len(args) > 1 && args[len(args)-1] == "-1" {
		h.raise(Grave, "it ends every process")
		return
	}
	if name != "kill" {
		h.raise(Risky, name+" ends processes by name")
	}
}

// git judges what loses commits or work, or shows them to others.
func (h *Harm) git(args []string) {
	sub, rest, _ := starts.GitSub(args)
	has := func(options ...string) bool { return hasOption(rest, options) }
	switch sub {
	case "push":
		h.raise(Risky, "git push shows commits to others")
		if has("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "--prune") ||
			slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") }) {
			h.raise(Wide, "this git push can lose commits of others")
		}
	case "reset":
		if has("--hard", "--merge", "--keep") {
			h.raise(Risky, "git reset --hard loses changes")
		}
	case "clean":
		if !has("-n", "--dry-run") {
			h.raise(Risky, "git clean deletes files that are in no commit")
		}
	case "checkout", "restore", "switch":
		if has("-f", "--force", "--discard-changes") || slices.Contains(rest, "--") || slices.Contains(rest, ".") {
			h.raise(Risky, "git "+sub+" can overwrite changes")
		}
	case "filter-branch", "filter-repo", "replace":
		h.raise(Wide, "git "+sub+" rewrites history")
	case "branch", "tag":
		if has("-D", "-d", "--delete") {
			h.raise(Risky, "git "+sub+" deletes a name of commits")
		}
	case "stash":
		if len(rest) > 0 && (rest[0] == "drop" || rest[0] == "clear") {
			h.raise(Risky, "git stash "+rest[0]+" loses changes")
		}
	case "reflog":
		if len(rest) > 0 && (rest[0] == "expire" || rest[0] == "delete") {
			h.raise(Wide, "it loses the way back to old commits")
		}
	case "gc", "prune", "update-ref", "worktree", "submodule", "config":
		h.raise(Risky, "git "+sub+" changes the repository itself")
	}
}

// hasOption reports whether args may have one of the options: as it is, with a
// value, abbreviated, or as one letter among others. In doubt it says yes.
func hasOption(args, options []string) bool {
	for _, a := range args {
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(a, "=")
		for _, o := range options {
			long := strings.HasPrefix(o, "--")
			switch {
			case long && strings.HasPrefix(a, "--") && len(name) > 2 && strings.HasPrefix(o, name):
				return true
			case !long && len(o) == 2 && !strings.HasPrefix(a, "--") && strings.Contains(name[1:], o[1:]):
				return true
			case a == o:
				return true
			}
		}
	}
	return false
}
