package render

import (
	"errors"
	"strings"
	"testing"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/launch"
)

func TestWindowsRefusesWhatItCannotEnforce(t *testing.T) {
	if err := Windows(boundary.Plan{Mode: boundary.FullAccess}); err != nil {
		t.Fatal(err)
	}
	var unavailable *UnavailableError
	if err := Windows(boundary.Plan{Mode: boundary.ReadOnly}); !errors.As(err, &unavailable) {
		t.Errorf("got %v", err)
	}
}

// TestBwrapArguments: each mount in its order, what is hidden sealed at the end, and the network only where the
// plan has it.
func TestBwrapArguments(t *testing.T) {
	p := boundary.Plan{Cwd: "/w", Privileged: true, NoTmpdir: true, Mounts: []boundary.Mount{
		{Kind: boundary.MountHideDir, Path: "/h"}, {Kind: boundary.MountHideDir, Path: "/p", Pass: true}, {Kind: boundary.MountWrite, Path: "/w"},
		{Kind: boundary.MountRead, Path: "/w/r"}, {Kind: boundary.MountHideFile, Path: "/w/f"}, {Kind: boundary.MountTmp, Path: "/t"},
		{Kind: boundary.MountTmp, Path: "/t2", Source: "/s"}}}
	const begin = "--new-session --die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try "
	const held = "--cap-drop ALL --seccomp 5 --block-fd 6 --ro-bind / / --dev /dev --proc /proc "
	const kernel = "--ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger " +
		"--ro-bind-try /proc/irq /proc/irq --ro-bind-try /proc/bus /proc/bus --ro-bind-try /proc/fs /proc/fs "
	const mounts = "--perms 0000 --tmpfs /h --perms 0111 --tmpfs /p --bind /w /w --ro-bind /w/r /w/r --ro-bind /dev/null /w/f " +
		"--perms 1777 --tmpfs /t --bind /s /t2 --remount-ro /h --remount-ro /p "
	want := begin + "--unshare-net " + held + kernel + mounts +
		"--setenv KERF_SANDBOX bwrap --setenv KERF_SANDBOX_NETWORK_DISABLED 1 --chdir /w -- a b"
	if got := strings.Join(Bwrap(p, []string{"a", "b"}), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.Network, p.Privileged, p.Mounts, p.NoTmpdir = true, false, nil, false
	want = begin + held + "--setenv TMPDIR /tmp --setenv KERF_SANDBOX bwrap --chdir /w -- a"
	if got := strings.Join(Bwrap(p, []string{"a"}), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWhatCommandsAreToldOfTheirSandbox: where they may write, and how they reach the network.
func TestWhatCommandsAreToldOfTheirSandbox(t *testing.T) {
	const at = "http://127.0.0.1:3128"
	for want, p := range map[string]boundary.Plan{
		"TMPDIR=/tmp KERF_SANDBOX=x KERF_SANDBOX_NETWORK_DISABLED=1": {}, "KERF_SANDBOX=x": {Network: true, NoTmpdir: true},
		"TMPDIR=/tmp KERF_SANDBOX=x HTTP_PROXY=" + at + " http_proxy=" + at + " HTTPS_PROXY=" + at + " https_proxy=" + at + " ALL_PROXY=" + at +
			" all_proxy=" + at + " NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1 NODE_USE_ENV_PROXY=1": {Proxy: &boundary.Filter{}},
	} {
		if got := strings.Join(Environment(p, "x"), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

const onceMore = "; if something replaced it just now, run the command again"

// TestWhyNothingBegan is read from what the launcher or bubblewrap said last, and shown as text.
func TestWhyNothingBegan(t *testing.T) {
	for said, want := range map[string]string{
		"": "what sets it up ended before the command began (exit code 9)", "noise\nbwrap: No \x1b[31mspace \nmore\n": "bwrap: No \ufffd[31mspace",
		"x\nkerf: " + launch.NotSetUp + "mount /a: denied \n":                "mount /a: denied",
		"kerf: " + launch.NotSetUp + "mount /a: no such file or directory\n": "mount /a: no such file or directory" + onceMore,
		"bwrap: Can't bind mount /a on /b: Unable to find \"/b\" in mount table\n": "bwrap: Can't bind mount /a on /b: " +
			"Unable to find \"/b\" in mount table" + onceMore,
		"say bwrap: no\n": "what sets it up ended before the command began (exit code 9)",
	} {
		if got := Idle(9, said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	for want, err := range map[string]UnavailableError{"sandbox unavailable: a": {Reason: "a"}, "sandbox unavailable: a; b": {Reason: "a", Hint: "b"}} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
