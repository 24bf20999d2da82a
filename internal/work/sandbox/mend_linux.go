package sandbox

import (
	"os"
	"strings"
)

// mend names the one step after which namespaces can be made here, as far as the system
// tells what keeps them away; why is what went wrong. file returns the text of a file, empty without it.
func mend(why string, file func(path string) string) string {
	why = strings.ToLower(why)
	switch {
	case strings.Contains(why, "too many open files"):
		return "this shell lets too few files be open at once: raise that with `ulimit -n 1024`"
	case strings.Contains(why, "resource temporarily unavailable"), strings.Contains(why, "new os thread"):
		return "no more processes may run here: end some, or raise their number with `ulimit -u`"
	}
	setting := func(name string) string {
		return strings.TrimSpace(file("/proc/sys/" + strings.ReplaceAll(name, ".", "/")))
	}
	inContainer := file("/.dockerenv") != "" || file("/run/.containerenv") != ""
	switch {
	case setting("user.max_user_namespaces") == "0":
		return "user namespaces are switched off: run `sysctl -w user.max_user_namespaces=15000` as root"
	case setting("kernel.unprivileged_userns_clone") == "0":
		return "user namespaces are closed to ordinary users: run `sysctl -w kernel.unprivileged_userns_clone=1` as root"
	case inContainer:
		return "this container forbids namespaces: start it with `--security-opt seccomp=unconfined --security-opt " +
			"systempaths=unconfined`, or let it be the sandbox and run with --sandbox danger-full-access"
	case setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor closes user namespaces to programs without a profile: install the package bubblewrap and its " +
			"profile bwrap-userns-restrict, or run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root"
	}
	return "allow unprivileged user namespaces, or install the package bubblewrap; kerf doctor tells more"
}

// present is the text of a file, or a blank for one that is empty.
func present(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b) + " "
}
