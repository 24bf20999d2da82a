package sandbox

import (
	"os"
	"strings"
	"testing"
)

func TestWhatIsMissingIsSaidWithTheStepThatHelps(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"sysctl -w user.max_user_namespaces=15000":     {"/proc/sys/user/max_user_namespaces": "0\n"},
		"sysctl -w kernel.unprivileged_userns_clone=1": {"/proc/sys/kernel/unprivileged_userns_clone": "0\n"},
		"--security-opt seccomp=unconfined":            {"/.dockerenv": " ", "/proc/sys/user/max_user_namespaces": "96365\n"},
		"let it be the sandbox":                        {"/run/.containerenv": "engine=\"podman\""},
		"bwrap-userns-restrict":                        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
		"allow unprivileged user namespaces, or install": {"/proc/sys/user/max_user_namespaces": "96365\n", "/proc/sys/kernel/unprivileged_userns_clone": "1\n",
			"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n"},
		"this container forbids": {"/.dockerenv": " ", "/run/.containerenv": " ", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
	} {
		got := mend("clone: operation not permitted", func(path string) string { return files[path] })
		if !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: got %q, want %q", files, got, want)
		}
	}
	// What a limit of the shell forbids is no fault of the container.
	container := func(path string) string { return map[string]string{"/.dockerenv": " "}[path] }
	for why, want := range map[string]string{
		"kerf: /bin/sh: permission denied; bwrap: pipe2: too many open files":      "ulimit -n",
		"bwrap: Creating new namespace failed: Resource temporarily unavailable":   "ulimit -u",
		"kerf: runtime: failed to create new OS thread (have 2 already; errno=11)": "ulimit -u",
	} {
		if got := mend(why, container); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", why, got, want)
		}
	}
}

// TestAFileIsThereOrNot, whatever it holds.
func TestAFileIsThereOrNot(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{"": " ", "0\n": "0\n "} {
		if err := os.WriteFile(dir+"/f", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := present(dir + "/f"); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	if got := present(dir + "/none"); got != "" {
		t.Errorf("what is not there holds %q", got)
	}
}
