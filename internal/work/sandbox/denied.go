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
			return a.command + " changes what git runs or follows, so it does not work inside the sandbox. Run just this git " +
				"command again with " +
				`sandbox_permissions "require_escalated" and a justification; the user is asked.`
		}
	}
	return ""
}

func refusedBySystem(text string) bool {
	for _, words := range []string{"Read-only file system", "Device or resource busy", "Not a directory",
		"Permission denied", "could not lock", "invalid gitfile", "could not create directory", "Operation not permitted"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Denied reports whether output and exit code of a sandboxed command look as if
// the sandbox stood in its way. It is a guess: programs say it in many ways.
func Denied(output []byte, exitCode int) bool {
	const badSystemCall = 128 + 31 // SIGSYS
	if exitCode == 0 {
		return false
	}
	if exitCode == badSystemCall {
		return true
	}
	text := strings.ToLower(string(output))
	for _, words := range []string{
		"operation not permitted", "permission denied", "read-only file system", "seccomp", "sandbox", "landlock",
		"failed to write file",
		"network is unreachable", "could not resolve host", "temporary failure in name resolution",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
