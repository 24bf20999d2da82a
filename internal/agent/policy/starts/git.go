package starts

import "strings"

// GitSub is git's subcommand and what follows it. Known is false if an option before it
// is not known to be harmless: some make git run other programs, or something else than
// the subcommand says.
func GitSub(args []string) (sub string, rest []string, known bool) {
	known = true
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-C" || a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--super-prefix":
			i++
		case a == "-c" && i+1 < len(args):
			i++
			known = known && gitSetting(args[i])
		case a == "--config-env" || a == "--attr-source" || a == "--list-cmds":
			i++
			known = false
		case a == "--no-pager" || a == "-P" || a == "--no-optional-locks" || a == "--literal-pathspecs" || a == "--bare" ||
			a == "--no-replace-objects" || a == "--no-lazy-fetch" || a == "--no-advice" ||
			strings.HasPrefix(a, "--git-dir=") || strings.HasPrefix(a,
			"--work-tree=") || a == "--version" || a == "--help" ||
			a == "-v" || a == "-h" || a == "-p" || a == "--paginate" || a == "--exec-path" || a == "--html-path" ||
			a == "--man-path" || a == "--info-path":
		case strings.HasPrefix(a, "-"):
			known = false
		default:
			return a, args[i+1:], known
		}
	}
	return "", nil, known
}

// gitSetting reports whether a setting of -c changes no program that git runs.
func gitSetting(s string) bool {
	key, _, _ := strings.Cut(strings.ToLower(s), "=")
	for _, p := range []string{"color.", "advice.", "user.", "log.", "column.", "core.quotepath",
		"core.autocrlf", "core.eol",
		"core.safecrlf", "core.abbrev", "init.defaultbranch", "commit.gpgsign", "tag.gpgsign", "pull.",
		"push.default",
		"push.autosetupremote", "merge.conflictstyle", "diff.renames", "diff.algorithm", "diff.context",
		"rebase.autostash",
		"rebase.autosquash", "protocol.version", "fetch.prune", "http.proxy", "http.sslverify", "pack.",
		"gc.auto", "status.",
		"safe.directory", "rerere.enabled", "core.longpaths", "core.filemode", "feature.", "index.",
		"submodule.recurse",
		"core.hookspath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.editor=true"} {
		if strings.Contains(p, "=") && strings.EqualFold(s, p) || strings.HasSuffix(p,
			".") && strings.HasPrefix(key, p) ||
			key == p {
			return true
		}
	}
	return false
}

// gitCommands are git's own; another name is an alias, or a program called git-NAME.
var gitCommands = set(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore
check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree
config count-objects credential describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch
fetch-pack filter-branch filter-repo fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc grep gui hash-object help hook
index-pack init instaweb interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge
merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-redundant
pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset
restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout
stash status stripspace submodule subtree switch symbolic-ref tag unpack-file unpack-objects update-index update-ref
update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree backfill refs repo`)

func (w words) git() Found {
	sub, rest, known := GitSub(w.argv[1:])
	at := len(w.argv) - len(rest)
	for i := range at {
		if w.unknown(i) {
			return Found{Doubt: "the words of git are known only when it runs"}
		}
	}
	switch {
	case !known:
		return Found{Doubt: "the options of git before its command may start another program"}
	case sub != "" && !gitCommands()[sub]:
		return Found{Doubt: "git " + sub + " may be an alias for anything"}
	}
	switch sub {
	case "bisect":
		if len(rest) > 1 && rest[0] == "run" {
			return w.after(at + 1)
		}
	case "submodule":
		for i, a := range rest {
			if a == "foreach" {
				for i++; i < len(rest) && strings.HasPrefix(rest[i], "-"); i++ {
				}
				return w.joined(at + i)
			}
		}
	case "filter-branch", "difftool", "mergetool", "for-each-repo", "send-email", "instaweb", "filter-repo":
		return w.any()
	case "rebase":
		return optioned("CsXS", "-x", "--exec")(w)
	case "grep":
		return optioned("ABCefm", "-O", "--open-files-in-pager")(w)
	case "clone", "fetch", "pull", "ls-remote", "push", "archive", "fetch-pack", "send-pack":
		list := []string{"--upload-pack", "--receive-pack", "--exec", "--config", "-c"}
		if sub == "clone" {
			list = append(list, "-u")
		}
		f := optioned("boj", list...)(words{w.argv[at-1:], w.known[min(at-1, len(w.known)):]})
		for i := range f.Scripts {
			for j := range f.Scripts[i].Words {
				f.Scripts[i].Words[j] += at - 1
			}
		}
		for _, a := range rest {
			if strings.HasPrefix(a, "ext::") || strings.HasPrefix(a, "fd::") {
				f.Doubt = "the address " + a + " starts a program"
			}
		}
		return f
	}
	return Found{}
}
