package reads

import (
	"slices"
	"strings"
)

// safeGit admits the subcommands of git that only read, with the options that neither
// write nor start a program. Options before the subcommand change what git runs or reads
// and are not admitted, pagers apart.
func safeGit(args []string) bool {
	for len(args) > 0 && (args[0] == "--no-pager" || args[0] == "-P" || args[0] == "--no-optional-locks") {
		args = args[1:]
	}
	if len(args) == 0 || slices.ContainsFunc(args, asksSignature) {
		return false
	}
	sub, rest := args[0], args[1:]
	if f, ok := formOf(gitForms, sub); ok {
		return f.admits(rest)
	}
	switch sub {
	case "branch":
		return gitLists(rest, []string{"-a", "-r", "-v", "-vv", "-av", "-avv", "-rv", "--all", "--remotes",
			"--list", "-l",
			"--show-current", "--merged", "--no-merged", "--verbose", "-i", "--ignore-case", "--column",
			"--no-column"},
			[]string{"--contains", "--no-contains", "--sort", "--format", "--points-at", "--merged",
				"--no-merged", "--color"},
			[]string{"--list", "-l"})
	case "tag":
		return gitLists(rest, []string{"-l", "--list", "-n", "-n1", "-i", "--ignore-case", "--merged",
			"--no-merged",
			"--column"},
			[]string{"--contains", "--no-contains", "--sort", "--format", "--points-at", "--merged", "--no-merged"},
			[]string{"-l", "--list"})
	case "remote":
		return len(rest) == 0 || len(rest) == 1 && (rest[0] == "-v" || rest[0] == "--verbose") || len(rest) == 2 &&
			rest[0] == "get-url" && !strings.HasPrefix(rest[1], "-")
	case "stash":
		return len(rest) > 0 && (rest[0] == "list" || rest[0] == "show") && gitLog.admits(rest[1:])
	case "worktree":
		return len(rest) > 0 && rest[0] == "list" && words("-v", "--porcelain", "-z", "--verbose")(rest[1:])
	case "reflog":
		return len(rest) == 0 || (rest[0] == "show" || strings.HasPrefix(rest[0], "-")) &&
			gitLog.admits(rest[min(1, strings.Count(rest[0], "show")):])
	}
	return false
}

// asksSignature reports whether a format has git start the program that checks
// signatures.
func asksSignature(arg string) bool {
	return strings.Contains(arg, "%G") || strings.Contains(arg, "signature")
}

// gitDiffLong are the options about differences, but for --output, --ext-diff,
// --textconv and those that git may add.
const gitDiffLong = "patch no-patch unified= raw patch-with-raw patch-with-stat minimal patience histogram " +
	"diff-algorithm= stat? compact-summary numstat shortstat dirstat? cumulative summary name-only " +
	"name-status submodule? " +
	"color? no-color color-words? word-diff? word-diff-regex= no-renames rename-empty no-rename-empty check " +
	"full-index " +
	"binary abbrev? break-rewrites? find-renames? find-copies? find-copies-harder irreversible-delete " +
	"diff-filter= " +
	"pickaxe-all pickaxe-regex relative? no-relative text ignore-cr-at-eol ignore-space-at-eol " +
	"ignore-space-change " +
	"ignore-all-space ignore-blank-lines inter-hunk-context= function-context exit-code quiet no-ext-diff " +
	"no-textconv " +
	"ignore-submodules? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= anchored= " +
	"indent-heuristic cached " +
	"staged merge-base no-index color-moved? no-color-moved color-moved-ws= ws-error-highlight= " +
	"combined-all-paths ours theirs base"

// gitRevLong are the options about revisions.
const gitRevLong = "max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep " +
	"regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges no-merges min-parents= " +
	"max-parents= " +
	"first-parent exclude-first-parent-only not all branches? tags? remotes? glob= exclude= reflog " +
	"ignore-missing cherry-mark " +
	"cherry-pick left-only right-only cherry walk-reflogs merge boundary simplify-by-decoration show-pulls " +
	"full-history dense " +
	"sparse simplify-merges ancestry-path? reverse date-order author-date-order topo-order objects no-walk? " +
	"do-walk pretty? " +
	"format= abbrev-commit no-abbrev-commit oneline encoding= expand-tabs? no-expand-tabs notes? no-notes " +
	"relative-date date= " +
	"parents children left-right graph show-linear-break? count follow no-decorate decorate? decorate-refs= " +
	"decorate-refs-exclude= source mailmap no-mailmap use-mailmap log-size no-diff-merges cc dd " +
	"stdin timestamp header root full-diff bisect no-color-graph"

var gitLog = form{flags: "psuzEFPgmcRawbDiWqt1", valued: "nSGLUl", optional: "MCBX", digits: true,
	long: gitDiffLong + " " + gitRevLong}

// gitForms are the subcommands that only read, with their options.
var gitForms = []named{
	{" log show diff whatchanged diff-tree diff-index diff-files rev-list range-diff ", gitLog},
	{" blame annotate ", gitBlame},
	{" rev-parse merge-base ", form{free: true}},

	{" status ", form{flags: "sbvz", optional: "uM", long: "short branch show-stash porcelain? long verbose " +
		"untracked-files? " +
		"ignore-submodules? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames " +
		"find-renames?"}},
	{" show-ref ", form{flags: "dq", long: "head heads tags branches verify " +
		"exists " +
		"dereference hash? abbrev? quiet exclude-existing?", optional: "s"}},
	{" ls-files ", form{flags: "cdmosiukztvfrR", valued: "xX", long: "cached deleted modified others stage directory " +
		"no-empty-directory " +
		"ignored exclude= exclude-from= exclude-standard error-unmatch full-name abbrev? debug deduplicate " +
		"eol unmerged killed " +
		"format= sparse"}},
	{" ls-tree ", form{flags: "drtlz", long: "long name-only name-status object-only full-name full-tree abbrev? " +
		"format="}},
	{" cat-file ", form{flags: "ptse", long: "batch? batch-check? batch-command? batch-all-objects buffer unordered " +
		"allow-unknown-type follow-symlinks mailmap use-mailmap"}},
	{" describe ", form{long: "all tags contains abbrev= candidates= exact-match debug long match= exclude= always " +
		"first-parent dirty? broken?"}},
	{" shortlog ", form{flags: "nsecpEFi", optional: "w", long: "numbered summary email group= " +
		strings.Replace(gitRevLong, " committer= ", " committer ", 1)}},
	{" name-rev ", form{long: "tags refs= exclude= all name-only no-undefined always annotate-stdin stdin"}},
	{" grep ", form{flags: "aIriEGFPnhHlLzocvwWpq", valued: "ABCefm", digits: true, long: "cached untracked no-index " +
		"exclude-standard " +
		"no-exclude-standard text no-textconv max-depth= recursive no-recursive word-regexp invert-match " +
		"full-name extended-regexp " +
		"basic-regexp fixed-strings perl-regexp line-number column files-with-matches name-only " +
		"files-without-match null only-matching " +
		"count color? no-color break heading show-function context= after-context= before-context= " +
		"function-context max-count= " +
		"threads= and or not all-match quiet ignore-case"}},
	{" for-each-ref ", form{long: "count= sort= format= color? points-at= merged? no-merged? contains? no-contains? " +
		"ignore-case omit-empty exclude= shell perl python tcl"}},
	{" count-objects ", form{flags: "vH", long: "verbose human-readable"}},
	{" version ", form{long: "build-options"}},
	{" check-ignore ", form{flags: "qvnz", long: "quiet verbose stdin non-matching no-index"}},
	{" check-attr ", form{flags: "az", long: "all stdin cached source="}},
	{" show-branch ", form{flags: "ar", long: "remotes all current topo-order date-order sparse more= list " +
		"merge-base independent no-name sha1-name topics color? no-color", optional: "g"}},
	{" cherry ", form{flags: "v", long: "abbrev?"}},
}

var gitBlame = form{flags: "bltpscfnewh", valued: "LS", optional: "MC", long: "root show-stats line-porcelain " +
	"porcelain " +
	"incremental encoding= first-parent date= ignore-rev= color-lines color-by-age abbrev= score-debug " +
	"show-name show-number " +
	"show-email"}

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
