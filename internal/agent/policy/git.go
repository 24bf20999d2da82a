package policy

import (
	"slices"
	"strings"
)

// safeGit admits the subcommands of git that only read. Options before the
// subcommand change what git runs or reads and are not admitted, pagers apart.
func safeGit(args []string) bool {
	for len(args) > 0 && (args[0] == "--no-pager" || args[0] == "-P" || args[0] == "--no-optional-locks") {
		args = args[1:]
	}
	if len(args) == 0 || hasGitTrap(args[1:]) {
		return false
	}
	rest := args[1:]
	switch args[0] {
	case "status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "annotate", "ls-tree", "cat-file", "describe",
		"shortlog", "grep",
		"name-rev", "merge-base", "rev-list", "for-each-ref", "show-ref", "count-objects", "whatchanged", "version",
		"check-ignore",
		"check-attr", "diff-tree", "diff-index", "diff-files", "show-branch", "cherry", "range-diff":
		return true
	case "branch":
		return gitLists(rest, []string{"-a", "-r", "-v", "-vv", "-av", "-avv", "-rv", "--all", "--remotes", "--list", "-l",
			"--show-current", "--merged", "--no-merged", "--verbose", "-i", "--ignore-case", "--column", "--no-column"},
			[]string{"--contains", "--no-contains", "--sort", "--format", "--points-at", "--merged", "--no-merged", "--color"},
			[]string{"--list", "-l"})
	case "tag":
		return gitLists(rest, []string{"-l", "--list", "-n", "-n1", "-i", "--ignore-case", "--merged", "--no-merged",
			"--column"},
			[]string{"--contains", "--no-contains", "--sort", "--format", "--points-at", "--merged", "--no-merged"},
			[]string{"-l", "--list"})
	case "remote":
		return len(rest) == 0 || len(rest) == 1 && (rest[0] == "-v" || rest[0] == "--verbose") || len(rest) == 2 &&
			rest[0] == "get-url" && !strings.HasPrefix(rest[1], "-")
	case "stash":
		return len(rest) > 0 && (rest[0] == "list" || rest[0] == "show")
	case "worktree":
		return len(rest) > 0 && rest[0] == "list"
	case "reflog":
		return len(rest) == 0 || rest[0] == "show" || strings.HasPrefix(rest[0], "-")
	}
	return false
}

// gitLists reports whether arguments of branch or tag only list: known flags,
// known options with their values, and names only where a flag makes them
// patterns.
func gitLists(args, flags, valued, patterns []string) bool {
	lists := slices.ContainsFunc(args, func(a string) bool { return slices.Contains(patterns, a) })
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, _, joined := strings.Cut(a, "=")
		switch {
		case slices.Contains(valued, name):
			if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		case slices.Contains(flags, a):
		case !strings.HasPrefix(a, "-") && lists:
		default:
			return false
		}
	}
	return true
}

// hasGitTrap reports whether options make a reading subcommand write or run
// something: output files, external programs, signatures.
func hasGitTrap(args []string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		name, value, _ := strings.Cut(a, "=")
		switch {
		case !strings.HasPrefix(a, "-"):
			continue
		case strings.HasPrefix(a, "-O"), strings.Contains(value, "%G"), strings.HasPrefix(name, "--show-sig"):
			return true
		}
		for _, long := range []string{"--output", "--ext-diff", "--textconv", "--exec", "--exec-path", "--paginate",
			"--open-files-in-pager", "--git-dir",
			"--work-tree", "--namespace", "--super-prefix", "--config-env", "--filters", "--upload-pack", "--receive-pack",
			"--ext-grep"} {
			if len(name) > 3 && strings.HasPrefix(long, name) || strings.HasPrefix(name, "--output") &&
				!strings.HasPrefix(name, "--output-indicator") {
				return true
			}
		}
	}
	return false
}
