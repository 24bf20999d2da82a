package sandbox

import (
	"strings"
	"testing"
)

func TestWhatIsMissingIsSaidWithTheStepThatHelps(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"sysctl -w user.max_user_namespaces=15000":       {"/proc/sys/user/max_user_namespaces": "0\n"},
		"sysctl -w kernel.unprivileged_userns_clone=1":   {"/proc/sys/kernel/unprivileged_userns_clone": "0\n"},
		"--security-opt seccomp=unconfined":              {"/.dockerenv": " ", "/proc/sys/user/max_user_namespaces": "96365\n"},
		"let it be the sandbox":                          {"/run/.containerenv": "engine=\"podman\""},
		"bwrap-userns-restrict":                          {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
		"allow unprivileged user namespaces, or install": {"/proc/sys/user/max_user_namespaces": "96365\n"},
	} {
		got := mend(func(path string) string { return files[path] })
		if !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: got %q, want %q", files, got, want)
		}
	}
}
