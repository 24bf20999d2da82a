package policy

import (
	"path"
	"strings"
)

// Steers reports whether agents, editors, shells or build machines obey the file
// of this name, so that whoever writes it has others act for him.
func Steers(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	switch path.Base(name) {
	case "agents.md", "agents.override.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".clinerules", ".windsurfrules", ".aider.conf.yml", ".mcp.json",
		".gitlab-ci.yml", "jenkinsfile", "azure-pipelines.yml", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", "appveyor.yml", "cloudbuild.yaml",
		".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".envrc", ".inputrc", ".vimrc", ".exrc", ".nvimrc", ".tmux.conf", ".npmrc", ".yarnrc", ".pypirc",
		".pre-commit-config.yaml", "lefthook.yml", ".gitconfig", ".gitmodules", "devcontainer.json", ".devcontainer.json":
		return true
	}
	parts := strings.Split(name, "/")
	for i, p := range parts[:len(parts)-1] {
		switch p {
		case ".vscode", ".idea", ".circleci", ".husky", ".githooks", ".devcontainer", ".cursor", ".claude", ".gemini", ".codex", ".agents", ".zed", ".fleet", ".buildkite", ".woodpecker":
			return true
		case ".github", ".gitea", ".forgejo":
			if next := parts[i+1]; next == "workflows" || next == "actions" || next == "instructions" || next == "copilot-instructions.md" {
				return true
			}
		}
	}
	return false
}
