package policy

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
)

// IsControlFile reports whether a file of this name is a control file: agents, editors,
// shells or build machines obey what it says.
func IsControlFile(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	switch path.Base(name) {
	case "agents.md", "agents.override.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules",
		".clinerules", ".windsurfrules", ".aider.conf.yml", ".mcp.json", "qwen.md", ".goosehints", ".roomodes", ".roorules",
		"opencode.json", "opencode.jsonc",
		".gitlab-ci.yml", "jenkinsfile", "azure-pipelines.yml", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml",
		"appveyor.yml", "cloudbuild.yaml",
		".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".envrc",
		".inputrc", ".vimrc", ".exrc", ".nvimrc", ".tmux.conf", ".npmrc", ".yarnrc", ".pypirc",
		".pre-commit-config.yaml", ".gitconfig", ".gitmodules", "devcontainer.json", ".devcontainer.json",
		".overcommit.yml", ".lvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit", ".rvmrc",
		".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml",
		"rust-toolchain", "rust-toolchain.toml", "build.rs", "conftest.py", "sitecustomize.py", "usercustomize.py",
		".yarnrc.yml", ".pnpmfile.cjs", ".pnp.cjs", "bunfig.toml", ".bazelrc", ".irbrc", ".pryrc", ".jvmopts", ".sbtopts",
		"directory.build.props", "directory.build.targets", "gradle-wrapper.properties", "init.gradle":
		return true
	}
	if base := path.Base(name); strings.HasSuffix(base, ".pth") || strings.HasSuffix(base, ".code-workspace") ||
		lefthook(base) {
		return true
	}
	parts := strings.Split(name, "/")
	for i, p := range parts[:len(parts)-1] {
		switch p {
		case ".vscode", ".idea", ".circleci", ".husky", ".githooks", ".devcontainer", ".cursor", ".claude", ".gemini",
			".codex", ".agents", ".zed", ".fleet", ".buildkite", ".woodpecker", ".cargo", ".mvn", ".mise", ".lefthook",
			".clinerules", ".roo", ".windsurf", ".continue", ".qwen", ".opencode", ".kiro", ".junie", ".amazonq":
			return true
		case ".github", ".gitea", ".forgejo":
			switch parts[i+1] {
			case "workflows", "actions", "instructions", "copilot-instructions.md", "hooks", "copilot", "mcp.json", "skills",
				"agents", "prompts", "plugin":
				return true
			}
		}
	}
	return false
}

// lefthook reports whether Lefthook reads a file of this name.
func lefthook(base string) bool {
	base = strings.TrimPrefix(base, ".")
	switch path.Ext(base) {
	case ".yml", ".yaml", ".toml", ".json", ".jsonc":
	default:
		return false
	}
	name := strings.TrimSuffix(base, path.Ext(base))
	return name == "lefthook" || name == "lefthook-local"
}

// HoldsScripts reports whether a file of this name holds, among other things,
// commands that package managers run by themselves or by name. What they install
// is not meant: its commands ran when it was installed.
func HoldsScripts(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	if strings.HasPrefix(name, "node_modules/") || strings.Contains(name, "/node_modules/") {
		return false
	}
	switch path.Base(name) {
	case "package.json", "composer.json", "deno.json":
		return true
	}
	return false
}

// scriptKeys are the members that hold commands.
var scriptKeys = [...]string{"scripts", "tasks", "gitHooks", "husky", "pre-commit", "simple-git-hooks", "lint-staged"}

// ScriptsDiffer reports whether two contents of such a file, nil for none, differ
// in their commands. One that cannot be read may hold any.
func ScriptsDiffer(before, after []byte) bool {
	old, fine := scriptsOf(before)
	now, good := scriptsOf(after)
	if !good {
		return !bytes.Equal(before, after)
	}
	if !fine {
		return len(now) > 0
	}
	return !reflect.DeepEqual(old, now)
}

// scriptsOf are the members that hold commands. All members of the same name count,
// because readers differ in which one they take.
func scriptsOf(data []byte) (map[string][]any, bool) {
	found := map[string][]any{}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return found, true
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return found, err == nil && t != json.Delim('[')
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		if name, _ := key.(string); slices.Contains(scriptKeys[:], name) {
			found[name] = append(found[name], value)
		}
	}
	_, err := d.Token()
	return found, err == nil
}
