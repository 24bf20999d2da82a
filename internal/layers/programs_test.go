package layers

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// byName is the start of a program by a bare name, which is the first of PATH: in a working tree
// that is on PATH it may be the repository's own.
var byName = regexp.MustCompile(`exec\.(?:Command\(|CommandContext\([^,"]+, )"([^"/]+)"`)

// named are the files that do so, with the programs and the reason.
var named = map[string]string{
	"cmd/kerf/internal/guide/man.go":       "man: the pager of kerf man, on the user's terminal",
	"cmd/kerf/internal/habits/schedule.go": "crontab: kerf schedule, which the user typed",
	"cmd/kerf/internal/program/pager.go":   "sh: the pager that the user's own settings name",
	"cmd/kerf/internal/start/demo.go":      "git go: in a directory that the demo made",
}

// TestProgramsAreFoundOutsideTheTree: other code finds programs by proc.Program, which passes over
// those in a working tree.
func TestProgramsAreFoundOutsideTheTree(t *testing.T) {
	got := map[string]string{}
	for _, f := range sources(t) {
		if strings.Contains(f.path, "/"+testkit+"/") {
			continue
		}
		programs := map[string]bool{}
		for _, m := range byName.FindAllSubmatch(f.text, -1) {
			programs[string(m[1])] = true
		}
		if len(programs) > 0 {
			got[f.path] = strings.Join(slices.Sorted(maps.Keys(programs)), " ")
		}
	}
	want := map[string]string{}
	for path, why := range named {
		if programs, _, ok := strings.Cut(why, ":"); ok {
			want[path] = strings.Join(slices.Sorted(slices.Values(strings.Fields(programs))), " ")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("programs that are started by a bare name, as the table allows and in the code:\n%s", d)
	}
}
