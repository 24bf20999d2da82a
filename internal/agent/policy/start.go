package policy

import (
	"path"
	"strings"

	"kerf/internal/text/shell"
)

// base is the name of a program without its directory.
func base(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }

// interpreter reports whether a program runs what it reads.
func interpreter(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "ash", "python", "python2", "python3", "perl", "ruby",
		"node", "php",
		"lua", "deno", "bun", "tclsh", "Rscript", "osascript", "pwsh", "powershell", "cmd", "eval", "source", ".":
		return true
	}
	return false
}

// scriptOf is the shell text that a command runs: sh -c TEXT, eval TEXT.
func scriptOf(s Simple) (string, bool) {
	argv := s.texts()
	if len(argv) == 0 {
		return "", false
	}
	switch base(argv[0]) {
	case "sh", "bash", "zsh", "dash", "ksh", "ash":
		for i, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c") && i+2 < len(argv) {
				return argv[i+2], s.Words[i+2].Literal
			}
		}
	case "eval":
		for _, w := range s.Words[1:] {
			if !w.Literal {
				return "", false
			}
		}
		return strings.Join(argv[1:], " "), len(argv) > 1
	}
	return "", false
}

// carriers run the command that follows their own options and operands. The
// value tells which options take a value, and how many operands come first.
func carrier(name string) (valued string, operands int, ok bool) {
	switch name {
	case "sudo":
		return "-u -g -h -p -C -r -t -T -U -D", 0, true
	case "doas":
		return "-u -C", 0, true
	case "env":
		return "-u -C -S --unset --chdir", 0, true
	case "nice":
		return "-n", 0, true
	case "ionice":
		return "-c -n -p", 0, true
	case "timeout", "gtimeout":
		return "-k -s", 1, true
	case "stdbuf":
		return "-i -o -e", 0, true
	case "xargs":
		return "-I -i -n -L -P -s -d -E -a --max-args --max-procs --delimiter --arg-file", 0, true
	case "chroot", "flock":
		return "-w -E", 1, true
	case "strace", "ltrace":
		return "-o -e -p -s -u -E -P", 0, true
	case "watch":
		return "-n --interval", 0, true
	case "unshare", "nsenter", "setpriv", "systemd-run", "runuser", "su", "pkexec", "proot", "firejail", "bwrap":
		return "", 0, true
	case "nohup", "setsid", "time", "command", "builtin", "exec", "busybox", "toybox", "parallel", "catchsegv", "torsocks",
		"proxychains", "rlwrap", "unbuffer", "script", "faketime", "chronic", "caffeinate", "arch", "setarch", "linux64",
		"linux32", "numactl", "taskset", "chrt", "cpulimit", "prlimit":
		return "", 0, true
	}
	return "", 0, strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so"
}

// started is the command that s starts, if it is known to start one.
func started(s Simple) (Simple, bool) {
	argv := s.texts()
	if len(argv) == 0 {
		return Simple{}, false
	}
	name := base(argv[0])
	if name == "find" || name == "fd" || name == "fdfind" {
		return startedByFind(s, argv)
	}
	valued, operands, ok := carrier(name)
	if !ok {
		return Simple{}, false
	}
	i := 1
	for ; i < len(argv); i++ {
		a := argv[i]
		switch {
		case a == "--":
			return after(s, i+1+operands)
		case strings.HasPrefix(a, "-") && len(a) > 1:
			for _, v := range strings.Fields(valued) {
				if a == v {
					i++
					break
				}
			}
		case name == "env" && strings.Contains(a, "="):
		default:
			return after(s, i+operands)
		}
	}
	return Simple{}, false
}

func after(s Simple, i int) (Simple, bool) {
	if i >= len(s.Words) {
		return Simple{}, false
	}
	return Simple{Words: s.Words[i:]}, true
}

func startedByFind(s Simple, argv []string) (Simple, bool) {
	for i, a := range argv {
		switch a {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			end := i + 1
			for end < len(argv) && argv[end] != ";" && argv[end] != `\;` && argv[end] != "+" {
				end++
			}
			if end > i+1 {
				return Simple{Words: s.Words[i+1 : end]}, true
			}
		}
	}
	return Simple{}, false
}

// ArgvLine is the shell line that an argument list amounts to, as it is judged.
func ArgvLine(argv []string) string { return shell.Line(argv) }
