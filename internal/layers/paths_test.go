package layers

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// resolving are the calls with which code finds out where a path leads, or whether one
// lies in another: whoever decides about access needs one of them.
var resolving = []string{"filepath.EvalSymlinks", "filepath.IsLocal", "filepath.Rel", "os.Readlink", "os.SameFile",
	"pathname.Inside", "pathname.Under", "pathname.Rel"}

// verdicts are the words of a decision: who has them asks the plan, or makes one up.
var verdicts = []string{"boundary.Hidden", "boundary.Readable", "boundary.Protected", "boundary.Writable", "boundary.RefusedError",
	"boundary.Verdict"}

// asking are the files that may have them, because they pass on what the plan said.
var asking = map[string]string{
	"internal/agent/executor/files/files.go":               "says it in words for the model",
	"internal/agent/executor/instructions/instructions.go": "leaves out what is hidden",
	"internal/agent/executor/place/targets.go":             "names no hidden files in a question about a deletion",
	"internal/host/rules.go":                               "kerf explain",
	"internal/host/confining/confining.go":                 "says why a client may not work in a directory that it names",
	"internal/host/mentions/mentions.go":                   "leaves out what is hidden",
	"internal/work/search/grep.go":                         "leaves out what is hidden",
	"internal/work/search/open.go":                         "asks before it opens",
	"internal/work/search/search.go":                       "the interface that it asks by",
	"internal/work/search/walk.go":                         "leaves out what is hidden",
	"internal/work/tries/keep.go":                          "leaves in the try what is closed, and says why",
	"internal/work/tree/guard.go":                          "asks before it reads and writes",
	"internal/work/tree/tree.go":                           "the interface that it asks by",
	"internal/work/workspace/workspace.go":                 "leaves out of scans what is hidden",
}

// telling are the names that a second list of what is protected would hold.
var telling = []string{`".."`, `".git"`, `".kerf"`, `".ssh"`, `".bashrc"`}

// planRooms are the plan itself, and what carries it out.
var planRooms = []string{"internal/pathname", "internal/work/boundary", "internal/work/sandbox"}

// otherwise says of each other file with such a call what it decides about. What may be
// read or written is decided by the plan of the session (work/boundary) and asked there.
var otherwise = map[string]string{
	"internal/agent/executor/checked/checked.go":           "which changed files a check is about",
	"internal/agent/executor/languages/ask.go":             "how a language server names a file",
	"internal/config/languages.go":                         "markers that lead out of the directory of a project",
	"internal/host/langservers/langservers.go":             "the roots and programs as a language server names them",
	"internal/work/homes/homes.go":                         "which records belong to a root",
	"internal/work/langserver/pool.go":                     "which project a file belongs to",
	"internal/config/checks.go":                            "globs that lead out of the working directory",
	"internal/host/checking/checking.go":                   "the working directory as changes name it",
	"internal/work/check/problems/problems.go":             "how a file in a message is named",
	"internal/work/check/treehash/treehash.go":             "the names of files in a hash; a link is what it says",
	"cmd/kerf/internal/program/program.go":                 "the directory that -C names",
	"cmd/kerf/internal/within/within.go":                   "which directories a client over HTTP may name as its own",
	"cmd/kerf/internal/records/sessions.go":                "which sessions were held in a directory",
	"cmd/kerf/internal/browser/data.go":                    "which files a page tells the origin of; it asks the plan, too",
	"internal/front/web/changes.go":                        "which history a directory belongs to",
	"cmd/kerf/internal/records/book.go":                    "which files of the history a word names, and how a path is shown",
	"cmd/kerf/internal/records/diff.go":                    "which files of a diff are printed; the dots of A..B",
	"cmd/kerf/internal/start/demo.go":                      "where the demo's own files lie",
	"cmd/kerf/internal/start/pictures/pictures.go":         "pictures that the user names; links of a repository lead to none outside",
	"cmd/kerf/internal/start/tui_trust.go":                 "what the question about trust shows",
	"internal/agent/executor/aim/aim.go":                   "which files a check consists of, to compare their contents",
	"internal/agent/executor/binding/binding.go":           "which content was approved",
	"internal/agent/executor/files/files.go":               "how a path is shown",
	"internal/agent/executor/instructions/docs.go":         "from which directories instruction files are taken",
	"internal/agent/executor/instructions/instructions.go": "from which directories instruction files are taken; it asks the plan",
	"internal/agent/executor/place/place.go":               "which program and directory a command line means",
	"internal/agent/executor/usershell/usershell.go":       "which start files shells have",
	"internal/agent/tools/encoding/encoding.go":            "which pattern of an .editorconfig holds for a file",
	"internal/config/peers/peers.go":                       "how a path is shown",
	"internal/sessions/replay/put.go":                      "files of a scratch directory of its own",
	"internal/work/ledger/ledger.go":                       "whether the file of the ledger is still the one that is open",
	"internal/work/overlay/upper_linux.go":                 "which file of an overlay stands for which below it",
	"internal/work/store/large.go":                         "whether a kept file is still the one that was copied",
	"internal/work/tree/guard.go":                          "whether what was opened is what was asked about; it asks the plan",
	"internal/work/txn/journal/journal.go":                 "whether the journal is still the one that is open",
	"internal/agent/policy/controlfile.go":                 "which changes are marked and asked about; it allows nothing",
	"internal/agent/policy/danger.go":                      "which deletions are asked about; it allows nothing",
	"internal/agent/policy/place.go":                       "where a rule with a directory holds",
	"internal/agent/policy/reads/reads.go":                 "which commands are asked about because of what they read; it allows nothing",
	"internal/config/edit/write.go":                        "the file behind a linked config.toml of the user",
	"internal/config/hooks.go":                             "where settings of a project are",
	"internal/config/load.go":                              "where Kerf's home is",
	"internal/config/peers/expand.go":                      "in which directory a program starts",
	"internal/config/programs.go":                          "which programs are the user's own",
	"internal/config/project.go":                           "where settings of a project are",
	"internal/config/rules.go":                             "where settings of a project are",
	"internal/config/trust.go":                             "which directory was trusted",
	"internal/config/trust/directories.go":                 "which directories belong to a project",
	"internal/config/trust/trust.go":                       "which content was trusted",
	"internal/engine/engine.go":                            "how a path is shown",
	"internal/front/exec/refusals.go":                      "how a path is shown",
	"internal/front/tui/conversation/item.go":              "how a path is shown",
	"internal/front/tui/external.go":                       "which branch is shown",
	"internal/front/tui/status/status.go":                  "how a path is shown",
	"internal/config/plugins/plugins.go":                   "which paths of a plugin lead out of it",
	"internal/config/plugins/portable.go":                  "which paths of a plugin lead out of it",
	"internal/host/plugging/marketplace.go":                "which paths of a marketplace lead out of it",
	"internal/host/plugging/plugging.go":                   "which address a word stands for",
	"internal/host/plugging/told.go":                       "how a path is shown",
	"internal/host/roles/roles.go":                         "how a path is shown",
	"internal/host/skillset/skillset.go":                   "how a path is shown",
	"internal/work/parcel/git.go":                          "which names a commit of others may not have",
	"internal/work/parcel/parcel.go":                       "which links of a tree of others lead out of it",
	"internal/host/agents.go":                              "where a sub-agent's working directory lies in its copy of the repository",
	"internal/sessions/prompts.go":                         "which names of sessions are none",
	"internal/sessions/replay/replay.go":                   "files of a scratch directory of its own",
	"internal/sessions/replay/scratch.go":                  "files of a scratch directory of its own",
	"cmd/kerf/internal/selftest/selftest.go":               "the one name of a directory of its own",
	"internal/sessions/transcript/transcript.go":           "names of files inside an export",
	"internal/text/charset/editorconfig.go":                "what a pattern of an .editorconfig means",
	"internal/text/patch/unified/names.go":                 "which names a git patch may not have, as with git; what is left is asked of the plan",
	"internal/text/patch/unified/unified.go":               "which names a git patch may not have",
	"internal/sessions/provenance/commit.go":               "which files the user asks about",
	"internal/work/changes/author/author.go":               "which file the user asks about",
	"internal/work/changes/changes.go":                     "how a path is shown",
	"internal/work/guard/guard.go":                         "whether the directories of a run were moved meanwhile, and the home directory lies in the rest; nothing is opened for it",
	"internal/work/changes/moved/moved.go":                 "which file is looked at for one that is gone; the tree decides whether it is read",
	"internal/work/proc/program.go":                        "which programs Kerf starts by their bare names",
	"internal/work/repo/content.go":                        "which object of a repository is meant",
	"internal/work/repo/find.go":                           "where git looks for a repository",
	"internal/work/repo/worktree.go":                       "which directory a work tree is; no link below it is followed",
	"internal/work/repo/runs.go":                           "where git looks for a repository",
	"internal/work/scan/missed.go":                         "what is not compared",
	"internal/work/scan/note.go":                           "what is not compared",
	"internal/work/scan/scan.go":                           "whether a tree is too large to compare",
	"internal/work/scan/walk.go":                           "what is not compared; it asks the plan about the rest",
	"internal/work/search/ignore/git.go":                   "which ignore files hold in a directory",
	"internal/work/search/open.go":                         "which root a directory is opened from; it asks the plan",
	"internal/work/search/search.go":                       "what a pattern of a glob means",
	"internal/work/search/walk.go":                         "which ignore files hold in a directory; it asks the plan",
	"internal/work/tree/handle/handle_windows.go":          "how Windows opens what lies below a directory",
	"internal/work/tree/handle/list_linux.go":              "which names of a directory are no entries",
	"internal/work/tree/hidden.go":                         "whether a recorded path can still be a file",
	"internal/work/tree/locate.go":                         "which path links stand for; it asks the plan",
	"internal/work/tree/tree.go":                           "which root a path lies in; it asks the plan",
	"internal/work/overlay/copy_linux.go":                  "what a copy of a directory has, link for link",
	"internal/work/tries/dirs.go":                          "which rows are below a new directory",
	"internal/work/tries/keep.go":                          "which changes of a try are asked for; writing asks the plan",
	"internal/work/worktrees/worktrees.go":                 "which directory of a work tree corresponds to another one",
	"internal/work/tries/tries.go":                         "which directories an overlay can lie over, and which tries are theirs",
	"internal/work/txn/plan.go":                            "which directories a change empties; it asks the plan",
	"internal/work/txn/recover.go":                         "which operations lie in roots that are gone",
	"internal/work/witness/locate/locate_linux.go":         "which name a call of another process means",
	"internal/work/witness/journal/claim/claim_linux.go":   "whether a lock is still the file that has its name",
	"internal/work/witness/beneath/beneath_linux.go":       "how the kernel names the roots",
	"internal/work/workspace/adopt.go":                     "which records belong to a directory that moved",
	"internal/work/workspace/workspace.go":                 "which directory a root is; its access is asked of the plan",
	"internal/work/workspace/find.go":                      "which records belong to a directory",
	"internal/work/repo/commit/commit.go":                  "whether a path lies in the repository that is committed to",
}

// TestOnePlanDecidesAboutPaths wants a reason for every file that works out where paths
// lead, so that a second place which decides about access is noticed.
func TestOnePlanDecidesAboutPaths(t *testing.T) {
	found, decided := map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		if words := uses(f, verdicts, nil); len(words) > 0 {
			decided[f.path] = true
			if asking[f.path] == "" {
				t.Errorf("%s has %s: only work/boundary decides; say in asking what it does with the answer", f.path, strings.Join(words, ", "))
			}
		}
		if calls := uses(f, resolving, telling); len(calls) > 0 {
			found[f.path] = true
			if otherwise[f.path] == "" {
				t.Errorf("%s has %s: ask boundary.Session about access, or say in otherwise what it decides", f.path,
					strings.Join(calls, ", "))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(otherwise)) {
		if !found[path] {
			t.Logf("%s works out no path any more; take it out of otherwise", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(asking)) {
		if !decided[path] {
			t.Logf("%s has no verdict any more; take it out of asking", path)
		}
	}
	seeded := parsed(t, "internal/agent/tools", "var x, _ = filepath.EvalSymlinks(p)\nvar y = pathname.Under(a, \".git\")\n")
	if d := cmp.Diff([]string{"filepath.EvalSymlinks", "pathname.Under", `".git"`}, uses(seeded, resolving, telling)); d != "" {
		t.Error("a seeded fault:", d)
	}
	seeded = parsed(t, "internal/agent/tools", "var x = &boundary.RefusedError{}\nvar y = v.Access == boundary.Hidden\n")
	if d := cmp.Diff([]string{"boundary.RefusedError", "boundary.Hidden"}, uses(seeded, verdicts, nil)); d != "" {
		t.Error("a seeded fault:", d)
	}
}

// uses are the selectors and literals of a file that are in the lists, none for the plan's own
// rooms and the test kit.
func uses(f goFile, selectors, literals []string) (all []string) {
	if within(f.pkg, planRooms) || strings.HasPrefix(f.pkg, "internal/testkit") {
		return nil
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(selectors, pkg.Name+"."+n.Sel.Name) {
				name = pkg.Name + "." + n.Sel.Name
			}
		case *ast.BasicLit:
			if slices.Contains(literals, n.Value) {
				name = n.Value
			}
		}
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
		return true
	})
	return all
}
