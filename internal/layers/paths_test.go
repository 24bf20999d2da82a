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
var resolving = []string{"filepath.EvalSymlinks", "filepath.IsLocal", "os.Readlink", "pathname.Inside", "pathname.Under", "pathname.Rel"}

// telling are the names that a second list of what is protected would hold.
var telling = []string{`".."`, `".git"`, `".kerf"`, `".ssh"`, `".bashrc"`}

// planRooms are the plan itself, and what carries it out.
var planRooms = []string{"internal/pathname", "internal/work/boundary", "internal/work/sandbox"}

// otherwise says of each other file with such a call what it decides about. What may be
// read or written is decided by the plan of the session (work/boundary) and asked there.
var otherwise = map[string]string{
	"cmd/kerf/internal/program/program.go":                 "the directory that -C names",
	"cmd/kerf/internal/records/sessions.go":                "which sessions were held in a directory",
	"cmd/kerf/internal/records/book.go":                    "which files of the history a word names, and how a path is shown",
	"cmd/kerf/internal/records/diff.go":                    "which files of a diff are printed; the dots of A..B",
	"cmd/kerf/internal/start/demo.go":                      "where the demo's own files lie",
	"cmd/kerf/internal/start/exec.go":                      "pictures that the user names; links of a repository lead to none outside",
	"cmd/kerf/internal/start/tui_trust.go":                 "what the question about trust shows",
	"internal/agent/executor/binding/binding.go":           "which content was approved",
	"internal/agent/executor/files/files.go":               "how a path is shown",
	"internal/agent/executor/instructions/instructions.go": "from which directories instruction files are taken; it asks the plan",
	"internal/agent/executor/place/place.go":               "which program and directory a command line means",
	"internal/agent/executor/usershell/usershell.go":       "which start files shells have",
	"internal/agent/policy/controlfile.go":                 "which changes are marked and asked about; it allows nothing",
	"internal/agent/policy/danger.go":                      "which deletions are asked about; it allows nothing",
	"internal/agent/policy/place.go":                       "where a rule with a directory holds",
	"internal/agent/policy/reads/reads.go":                 "which commands are asked about because of what they read; it allows nothing",
	"internal/config/edit/write.go":                        "the file behind a linked config.toml of the user",
	"internal/config/hooks.go":                             "where settings of a project are",
	"internal/config/load.go":                              "where Kerf's home is",
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
	"internal/host/agents.go":                              "where a sub-agent's working directory lies in its copy of the repository",
	"internal/host/skills.go":                              "where settings of a project are",
	"internal/sessions/prompts.go":                         "which names of sessions are none",
	"internal/sessions/replay/replay.go":                   "files of a scratch directory of its own",
	"internal/sessions/replay/scratch.go":                  "files of a scratch directory of its own",
	"cmd/kerf/internal/selftest/selftest.go":               "the one name of a directory of its own",
	"internal/sessions/transcript/transcript.go":           "names of files inside an export",
	"internal/text/charset/editorconfig.go":                "what a pattern of an .editorconfig means",
	"internal/text/patch/unified/names.go":                 "which names a git patch may not have, as with git; what is left is asked of the plan",
	"internal/text/patch/unified/unified.go":               "which names a git patch may not have",
	"internal/work/changes/blamefile.go":                   "which file the user asks about",
	"internal/work/changes/changes.go":                     "how a path is shown",
	"internal/work/proc/program.go":                        "which programs Kerf starts by their bare names",
	"internal/work/repo/content.go":                        "which object of a repository is meant",
	"internal/work/repo/find.go":                           "where git looks for a repository",
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
	"internal/work/tree/hidden.go":                         "whether a recorded path can still be a file",
	"internal/work/tree/locate.go":                         "which path links stand for; it asks the plan",
	"internal/work/tree/tree.go":                           "which root a path lies in; it asks the plan",
	"internal/work/txn/plan.go":                            "which directories a change empties; it asks the plan",
	"internal/work/txn/txn.go":                             "which records belong to a root",
	"internal/work/witness/locate/locate_linux.go":         "which name a call of another process means",
	"internal/work/witness/witness_linux.go":               "how the kernel names the roots",
	"internal/work/workspace/adopt.go":                     "which records belong to a directory that moved",
	"internal/work/workspace/find.go":                      "which records belong to a directory",
	"internal/work/repo/commit/commit.go":                  "whether a path lies in the repository that is committed to",
}

// TestOnePlanDecidesAboutPaths wants a reason for every file that works out where paths
// lead, so that a second place which decides about access is noticed.
func TestOnePlanDecidesAboutPaths(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t) {
		if calls := resolvers(f); len(calls) > 0 {
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
	seeded := parsed(t, "internal/agent/tools", "var x, _ = filepath.EvalSymlinks(p)\nvar y = pathname.Under(a, \".git\")\n")
	if d := cmp.Diff([]string{"filepath.EvalSymlinks", "pathname.Under", `".git"`}, resolvers(seeded)); d != "" {
		t.Error("a seeded fault:", d)
	}
}

// resolvers are the calls of a file that work out paths, none for the plan's own rooms and
// the test kit.
func resolvers(f goFile) (calls []string) {
	if within(f.pkg, planRooms) || strings.HasPrefix(f.pkg, "internal/testkit") {
		return nil
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(resolving, pkg.Name+"."+n.Sel.Name) {
				name = pkg.Name + "." + n.Sel.Name
			}
		case *ast.BasicLit:
			if slices.Contains(telling, n.Value) {
				name = n.Value
			}
		}
		if name != "" && !slices.Contains(calls, name) {
			calls = append(calls, name)
		}
		return true
	})
	return calls
}
