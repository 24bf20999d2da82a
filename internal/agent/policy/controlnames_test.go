package policy

import "testing"

// TestControlFilesOfTools: what steers tools is asked about under every spelling, what only
// looks like it is not.
func TestControlFilesOfTools(t *testing.T) {
	for name, want := range map[string]bool{
		".yarnrc.yml": true, "sub/.cargo/config.toml": true, ".cargo/config": true, "rust-toolchain.toml": true,
		"rust-toolchain": true, ".nvim.lua": true, "lefthook.yaml": true, ".lefthook-local.toml": true,
		"lefthook-local.yml": true, ".envrc": true, "mise.toml": true, ".mise.local.toml": true, ".tool-versions": true,
		"build.rs": true, "a/conftest.py": true, "x.pth": true, "Build.RS": true, `win\conftest.py`: true,
		"Directory.Build.props": true, ".mvn/extensions.xml": true, "w.code-workspace": true,
		"main.go": false, "cargo/config.toml": false, "src/rebuild.rs": false, "test_conf.py": false, "pth": false,
		"lefthook.md": false, "mylefthook.yml": false,
	} {
		if got := IsControlFile(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
