package layers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// opening are the calls that reach a file by its path. The workspace is reached through
// work/tree and work/search, which ask the plan.
var opening = []string{"os.Open", "os.OpenFile", "os.OpenRoot", "os.ReadFile", "os.ReadDir", "os.DirFS", "os.Create", "os.WriteFile",
	"os.Remove", "os.RemoveAll", "os.Rename", "os.Symlink", "os.Link", "os.Mkdir", "os.MkdirAll", "os.Chmod", "os.Truncate",
	"filepath.WalkDir", "filepath.Walk", "filepath.Glob", "author.Open", "atomicfile.Open", "atomicfile.OpenFile",
	"atomicfile.Read"}

// rooms are where code works for a model or on the files of a workspace.
var rooms = []string{"internal/agent", "internal/engine", "internal/work"}

// ownRooms are those whose files are Kerf's own, or that are the plan and the tree.
var ownRooms = []string{"internal/work/boundary", "internal/work/sandbox", "internal/work/tree", "internal/work/store",
	"internal/work/homes", "internal/work/ledger", "internal/work/presence", "internal/work/room", "internal/work/txn", "internal/agent/rollout",
	"internal/agent/outline", "internal/work/changes/retention", "internal/work/changes/reviewed", "internal/work/witness/journal"}

// opened says of each other file with such a call what it reaches.
var opened = map[string]string{
	"internal/agent/executor/aim/aim.go":                          "hashes what a check consists of; no content leaves it",
	"internal/agent/executor/binding/binding.go":                  "hashes what a command would start; no content leaves it",
	"internal/agent/executor/headmove/headmove.go":                "the last line of git's log of HEAD",
	"internal/agent/executor/instructions/docs.go":                "instruction files, through a root; it asks the plan about each",
	"internal/agent/executor/instructions/instructions.go":        "the same",
	"internal/agent/executor/place/targets.go":                    "names that a deletion would reach, for the user who is asked",
	"internal/agent/skills/skills.go":                             "skills of a trusted project or of the user, through a root; links lead to none outside",
	"internal/agent/skills/validate.go":                           "kerf skills, which the user types",
	"internal/work/apply/room.go":                                 "names in directories that a patch of the user's empties",
	"internal/work/changes/author/author.go":                      "what the user asks the author of; for clients the tree reads",
	"internal/work/changes/present/present.go":                    "names of directories in what undo would remove",
	"internal/work/changes/moved/moved.go":                        "the names in the workspace, for a file that is gone; contents are read by the tree",
	"internal/work/check/treehash/stat_darwin.go":                 "hashes the workspace; no content leaves it",
	"internal/work/check/treehash/stat_linux.go":                  "the same",
	"internal/work/check/treehash/stat_other.go":                  "the same",
	"internal/work/overlay/copy_linux.go":                         "a copy of the user's directories, for a try that is held by the same plan",
	"internal/work/overlay/hold_linux.go":                         "Kerf's own directory of a try",
	"internal/work/overlay/upper_linux.go":                        "what a try wrote, in Kerf's home",
	"internal/work/parcel/git.go":                                 "a scratch directory of its own",
	"internal/work/parcel/parcel.go":                              "a directory that the user named, through a root",
	"internal/work/proc/guard_linux.go":                           "/proc and /dev/null",
	"internal/work/proc/process.go":                               "/dev/null",
	"internal/work/proc/tree_linux.go":                            "/proc",
	"internal/work/repo/add.go":                                   "a scratch file; the work tree is read beneath its root, and nothing hidden",
	"internal/work/repo/branches.go":                              "names of branches",
	"internal/work/repo/commit/commit.go":                         "a scratch directory of its own",
	"internal/work/repo/find.go":                                  "git's own small files",
	"internal/work/repo/worktree.go":                              "a copy of git's index",
	"internal/work/scan/git.go":                                   "ignore files, for what is compared",
	"internal/work/scan/keep.go":                                  "what the scan found, through a root; it asks the plan",
	"internal/work/scan/stat_other.go":                            "names, for the scan, which asks the plan",
	"internal/work/search/ignore/git.go":                          "ignore files, for what is searched",
	"internal/work/tries/base.go":                                 "Kerf's own file of a try",
	"internal/work/tries/dirs.go":                                 "what directories are there, to be made or removed by work/txn",
	"internal/work/tries/keep.go":                                 "what a try wrote, in Kerf's home",
	"internal/work/tries/numbers.go":                              "Kerf's own file of tries",
	"internal/work/tries/room.go":                                 "Kerf's own directory of tries",
	"internal/work/tries/tries.go":                                "Kerf's own directory of tries",
	"internal/work/witness/beneath/beneath_linux.go":              "a root, as a handle below which no link is followed",
	"internal/work/witness/halting/halting_linux.go":              "a file of a test",
	"internal/work/witness/judge_linux.go":                        "names of files, among them the other ones of a changed file",
	"internal/work/witness/supervise/held/others/others_linux.go": "/proc",
	"internal/work/witness/rescue/rescue.go":                      "contents that the helper kept, in Kerf's home",
	"internal/work/witness/witness_linux.go":                      "Kerf's own journals, and /proc",
	"internal/work/workspace/adopt.go":                            "Kerf's own notes about a workspace",
	"internal/work/workspace/find.go":                             "Kerf's own notes about a workspace",
	"internal/work/workspace/workspace.go":                        "Kerf's own temporary directory",
	"internal/work/worktrees/worktrees.go":                        "Kerf's own notes about a work tree",
}

// TestFilesAreOpenedThroughTheTree wants a reason for every file that reaches others past the tree,
// so that a way around the plan is noticed.
func TestFilesAreOpenedThroughTheTree(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t) {
		if !within(f.pkg, rooms) || within(f.pkg, ownRooms) {
			continue
		}
		if calls := uses(f, opening, nil); len(calls) > 0 {
			found[f.path] = true
			if opened[f.path] == "" {
				t.Errorf("%s has %s: reach the workspace through work/tree, or say in opened what it reaches", f.path,
					strings.Join(calls, ", "))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(opened)) {
		if !found[path] {
			t.Errorf("%s opens nothing any more; take it out of opened", path)
		}
	}
	seeded := parsed(t, "internal/agent/tools", "var x, _ = os.ReadFile(p)\nvar y = filepath.WalkDir(p, nil)\n")
	if d := cmp.Diff([]string{"os.ReadFile", "filepath.WalkDir"}, uses(seeded, opening, nil)); d != "" {
		t.Error("a seeded fault:", d)
	}
}
