// Package render writes a boundary plan down for those who carry it out: as the
// arguments of bubblewrap, the profile of Seatbelt, and the environment of commands. It
// does not touch the machine.
package render

import (
	"fmt"
	"strconv"
	"strings"

	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
)

// ProxyPort is where a filtering proxy listens inside, on the loopback interface.
const ProxyPort = 3128

// The descriptors that bubblewrap is started with: the program of a launcher and
// that launcher, for what runs inside; the filter; and what says that the limits
// are set.
const (
	ProgramFD = 3 + iota
	LauncherFD
	SeccompFD
	GateFD
)

// Bwrap returns the arguments of bubblewrap, without its own name, that run argv
// under the plan. All paths were resolved and all placeholders are
// in place by the time it runs.
func Bwrap(p boundary.Plan, argv []string) []string {
	args := []string{
		"--new-session", "--die-with-parent",
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--cap-drop", "ALL", "--seccomp", strconv.Itoa(SeccompFD), "--block-fd", strconv.Itoa(GateFD),
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	if p.Privileged {
		for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
			args = append(args, "--ro-bind-try", path, path)
		}
	}
	var seal []string
	for _, m := range p.Mounts {
		switch m.Kind {
		case boundary.MountWrite:
			args = append(args, "--bind", m.Path, m.Path)
		case boundary.MountRead:
			args = append(args, "--ro-bind", m.Path, m.Path)
		case boundary.MountHideFile:
			args = append(args, "--ro-bind", "/dev/null", m.Path)
		case boundary.MountHideDir:
			// Without the x bit nobody gets to what is open below.
			perms := "0000"
			if m.Pass {
				perms = "0111"
			}
			args = append(args, "--perms", perms, "--tmpfs", m.Path)
			seal = append(seal, "--remount-ro", m.Path)
		case boundary.MountTmp:
			if m.Source == "" {
				args = append(args, "--perms", "1777", "--tmpfs", m.Path)
			} else {
				args = append(args, "--bind", m.Source, m.Path)
			}
		}
	}
	args = append(args, seal...) // last, when the mount points in them are made
	for _, kv := range Environment(p, "bwrap") {
		name, value, _ := strings.Cut(kv, "=")
		args = append(args, "--setenv", name, value)
	}
	args = append(args, "--chdir", p.Cwd, "--")
	return append(args, argv...)
}

// Environment is what the sandbox says of itself to commands.
func Environment(p boundary.Plan, backend string) []string {
	env := []string{"KERF_SANDBOX=" + backend}
	if !p.NoTmpdir {
		env = append([]string{"TMPDIR=/tmp"}, env...)
	}
	switch {
	case p.Proxy != nil:
		at := "http://127.0.0.1:" + strconv.Itoa(ProxyPort)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+at, strings.ToLower(name)+"="+at)
		}
		env = append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1")
	case !p.Network:
		env = append(env, "KERF_SANDBOX_NETWORK_DISABLED=1")
	}
	return env
}

// Param is a parameter of a Seatbelt profile; paths are passed so and never
// become part of the profile's text.
type Param struct{ Name, Value string }

// seatbeltBase is what every program needs: itself, its children, and the
// services of the system that do not write or talk.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-ioctl (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
(allow pseudo-tty)
(allow file-read* file-write* (literal "/dev/ptmx"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read*)
(allow user-preference-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.cfprefsd.daemon")
  (global-name "com.apple.cfprefsd.agent"))
`

// Seatbelt returns the profile for sandbox-exec and its parameters. Of several
// rules that match, Seatbelt takes the last; the order of the mounts fits that.
func Seatbelt(p boundary.Plan) (profile string, params []Param) {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	if p.Network {
		b.WriteString("(allow network-outbound (remote ip))\n(allow network-inbound (local ip))\n(allow system-socket)\n" +
			"(allow mach-lookup (global-name \"com.apple.SystemConfiguration.configd\") (global-name " +
			"\"com.apple.trustd.agent\"))\n")
	} else {
		b.WriteString("(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n")
	}
	for i, m := range p.Mounts {
		name := fmt.Sprintf("PATH_%d", i)
		value := m.Path
		at := fmt.Sprintf("(subpath (param %q))", name)
		switch m.Kind {
		case boundary.MountWrite:
			fmt.Fprintf(&b, "(allow file-read* file-write* %s)\n", at)
			// The root itself must not be renamed or removed.
			fmt.Fprintf(&b, "(deny file-write-unlink (literal (param %q)))\n", name)
		case boundary.MountRead:
			fmt.Fprintf(&b, "(allow file-read* %s)\n(deny file-write* %s)\n", at, at)
		case boundary.MountHideDir, boundary.MountHideFile:
			fmt.Fprintf(&b, "(deny file-read* file-write* %s)\n", at)
			fmt.Fprintf(&b, "(allow file-read-metadata %s)\n", at)
		case boundary.MountTmp:
			fmt.Fprintf(&b, "(deny file-write* %s)\n", at)
			if m.Source != "" {
				name += "_SOURCE"
				fmt.Fprintf(&b, "(allow file-read* file-write* (subpath (param %q)))\n", name)
				value = m.Source
				params = append(params, Param{strings.TrimSuffix(name, "_SOURCE"), m.Path})
			}
		}
		params = append(params, Param{name, value})
	}
	return b.String(), params
}

// Windows refuses every plan that would have to be enforced: a restricted token
// alone keeps neither reads nor the network.
func Windows(p boundary.Plan) error {
	if p.Mode == boundary.FullAccess {
		return nil
	}
	return &UnavailableError{
		Reason: "no sandbox on Windows can enforce " + p.Mode + " yet",
		Hint:   "use WSL2, or run with --sandbox " + boundary.FullAccess,
	}
}

// UnavailableError says that the isolation which was asked for cannot be had.
type UnavailableError struct {
	Reason string // why, in one line
	Hint   string // how to get it
}

// Error gives reason and hint in one line.
func (e *UnavailableError) Error() string {
	if e.Hint == "" {
		return "sandbox unavailable: " + e.Reason
	}
	return "sandbox unavailable: " + e.Reason + "; " + e.Hint
}

// Idle makes a reason of the last words of a process in which no command began, and of its exit
// code.
func Idle(code int, said string) string {
	for line := range strings.Lines(said) {
		if _, why, ok := strings.Cut(line, launch.NotSetUp); ok {
			return again(strings.TrimSpace(why))
		}
		if strings.HasPrefix(line, "bwrap: ") {
			return again(strings.TrimSpace(line))
		}
	}
	return fmt.Sprintf("what sets it up ended before the command began (exit code %d)", code)
}

// again adds the next step to a reason that a file gives which goes, as an editor saves one, while its
// name is protected: the kernel takes the mount away with it.
func again(why string) string {
	why = visible.Plain(why)
	gone := strings.HasSuffix(strings.ToLower(why), "no such file or directory") ||
		strings.HasSuffix(why, "in mount table")
	if gone && (strings.HasPrefix(why, "mount ") || strings.HasPrefix(why, "bwrap: Can't ")) {
		why += "; if something replaced it just now, run the command again"
	}
	return why
}
