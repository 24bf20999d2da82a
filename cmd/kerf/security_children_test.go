package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSEC_S2_HomeSecretsAreHidden has commands read what Kerf and other programs
// keep in the home, where the home itself may be read. The control reads it all.
func TestSEC_S2_HomeSecretsAreHidden(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox of this system is not tried here")
	}
	v := newVictim(t)
	v.repository()
	s := v.serve(fmt.Sprintf("[permissions.p.filesystem]\n%q = \"read\"\n", v.home), turn(shellCall("true"))...)
	config := filepath.Join(v.own, "config.toml")
	v.write(config, "default_permissions = \"p\"\n"+readable(config))
	v.must("exec", "-s", "workspace-write", "my own words")
	v.write(filepath.Join(v.own, "auth.json"), "hidden-secret")
	for _, name := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials",
		".config/gh/hosts.yml", ".bash_history", ".config/rclone/rclone.conf", ".m2/settings.xml", ".config/sops/age/keys.txt",
		".claude.json", ".docker/config.json", ".kube/config", ".pgpass", ".cargo/credentials.toml"} {
		v.write(filepath.Join(v.home, name), "hidden-secret\n")
	}
	v.write(filepath.Join(v.home, "notes.txt"), "open to read\n")
	read := "cat " + v.home + "/notes.txt; cat $(find " + v.home + " -type f); grep -r 'my own words' " + v.home + "; true"
	control := v.run("sandbox", "--sandbox", "danger-full-access", "--", "sh", "-c", read)
	if n := strings.Count(control.out, "hidden-secret"); n < 15 || !strings.Contains(control.out, "my own words") {
		t.Fatalf("control: %d secrets: %s", n, control.all())
	}
	for _, mode := range []string{"read-only", "workspace-write"} {
		r := v.run("sandbox", "--sandbox", mode, "--", "sh", "-c", read)
		if r.code == 125 {
			t.Skip(r.err)
		}
		if strings.Contains(r.out, "hidden-secret") || strings.Contains(r.out, "my own words") ||
			!strings.Contains(r.out, "open to read") {
			t.Errorf("%s: read %q, %s", mode, r.out, r.err)
		}
	}
	_ = s
}

// TestSEC_S3_ChildrenGetNoSecrets looks at the environment of every kind of child: a
// command and all it can see, a hook, an MCP server. A server gets the variables of a list
// alone, the others do so where the user asks for it.
func TestSEC_S3_ChildrenGetNoSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	t.Run("all", func(t *testing.T) { childrenGet(t, "", true) })
	t.Run("core", func(t *testing.T) { childrenGet(t, "[shell_environment_policy]\ninherit = \"core\"\n", false) })
}

func childrenGet(t *testing.T, more string, unlisted bool) {
	v := newVictim(t)
	v.repository()
	v.env = append(v.env, "MY_TOKEN=env-secret-1234", "ODD_NAME=sk-"+strings.Repeat("aB3d", 8),
		"UNLISTED=not-a-core-variable", "LD_PRELOAD=", "GIT_SSH_COMMAND=evil", "BASH_ENV=/nowhere")
	seen := filepath.Join(v.base, "seen")
	server := v.script(filepath.Join(v.base, "bin", "server"), "#!/bin/sh\nenv | sed 's/^/mcp /' >> "+seen+"\n")
	v.write(filepath.Join(v.own, "hooks.json"),
		fmt.Sprintf(`{"hooks": {"SessionStart": [{"hooks": [{"command": "env | sed 's/^/hook /' >> %s"}]}]}}`, seen))
	s := v.serve(more+fmt.Sprintf("[mcp_servers.x]\ncommand = %q\n", server),
		turn(shellCall("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"))...)
	r := v.run("exec", "-s", "workspace-write", "go")
	all := strings.Join(outputs(s), "\n") + readable(seen)
	if r.code != 0 || !strings.Contains(all, "\nhook PATH=") && !strings.Contains(all, "hook PATH=") ||
		!strings.Contains(all, "mcp PATH=") || !strings.Contains(strings.Join(outputs(s), ""), "PATH=") {
		t.Fatalf("exit code %d: not every child was seen: %.600s", r.code, r.all())
	}
	for _, bad := range []string{"MY_TOKEN", "env-secret-1234", "ODD_NAME", "mcp UNLISTED", "mcp GIT_SSH_COMMAND",
		"mcp BASH_ENV"} {
		if strings.Contains(all, bad) {
			t.Errorf("a child has %s", bad)
		}
	}
	for _, child := range []string{"\nUNLISTED=", "hook UNLISTED="} {
		if strings.Contains("\n"+all, child) != unlisted {
			t.Errorf("%q reaches a child: %t", child, !unlisted)
		}
	}
	if _, err := os.Stat(seen); err != nil {
		t.Error(err)
	}
}
