package sandbox

import "strings"

// Advice names the step that works where a command ran into what the sandbox
// keeps of git, going by what git printed; empty where it says nothing about
// that. Git puts into these places what it later runs or follows.
func Advice(output []byte) string {
	text := string(output)
	for _, a := range []struct{ command, words string }{
		{"git worktree", ".git/worktrees"},
		{"git submodule add", ".git/modules"},
		{"git config and what changes it (remote add, branch --track, push -u)", "could not lock config file"},
		{"git config and what changes it", ".git/config"},
		{"git init", "invalid gitfile format"},
		{"git init", "/.git: Read-only"},
		{"git init", "/.git/description': Not a directory"},
		{"installing hooks", ".git/hooks"},
		{"git sparse-checkout", "config.worktree"},
	} {
		if strings.Contains(text, a.words) && refusedBySystem(text) {
			return a.command + " changes what git runs or follows, so it does not work inside the sandbox. Run just this git command again with " +
				`sandbox_permissions "require_escalated" and a justification; the user is asked.`
		}
	}
	return ""
}

func refusedBySystem(text string) bool {
	for _, words := range []string{"Read-only file system", "Device or resource busy", "Not a directory", "Permission denied", "could not lock", "invalid gitfile", "could not create directory", "Operation not permitted"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
