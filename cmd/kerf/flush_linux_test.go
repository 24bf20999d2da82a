package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kerf/internal/testkit/modeltest"
)

// flush is a call that the tracer saw: a flush when it ended, a rename when it began.
type flush struct{ call, what string }

var (
	tracedLine  = regexp.MustCompile(`^(\d+) +(fsync|renameat2?|rename)\((.*)$`)
	resumedLine = regexp.MustCompile(`^(\d+) +<\.\.\. (fsync) resumed>.*= 0$`)
	flushedFile = regexp.MustCompile(`^\d+<([^>]*)>`)
)

// flushesOf reads what strace -f -y wrote, in the order in which things were certain.
func flushesOf(text string) []flush {
	var list []flush
	open := map[string]string{} // the file that a thread is flushing
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := resumedLine.FindStringSubmatch(line); m != nil {
			list = append(list, flush{"fsync", open[m[1]]})
			continue
		}
		m := tracedLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[2] != "fsync":
			list = append(list, flush{"rename", m[3]})
		default:
			file := flushedFile.FindStringSubmatch(m[3])
			if file == nil {
				continue
			}
			if strings.Contains(m[3], "<unfinished") {
				open[m[1]] = file[1]
			} else if strings.HasSuffix(m[3], "= 0") {
				list = append(list, flush{"fsync", file[1]})
			}
		}
	}
	return list
}

// TestChangesAreFlushedInTheirOrder watches the program from outside: what an edit needs to
// survive a loss of power is on the disk before the step that relies on it. It fails when the
// flush of the journal, of the ledger, of a staged file, of a new object of the store or its
// name, of the tree's directories, or of the session's directory is taken out of the code.
func TestChangesAreFlushedInTheirOrder(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not there")
	}
	patch := "*** Begin Patch\n*** Update File: old.txt\n@@\n-one\n+two\n*** Add File: new/made.txt\n+made\n*** End Patch\n"
	b := newBench(t, modeltest.Answer(modeltest.Call("apply_patch", map[string]any{"input": patch})),
		modeltest.Answer(modeltest.Message("done")))
	if err := os.WriteFile(filepath.Join(b.dir, "old.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	run := b.command("go")
	cmd := exec.Command(strace, append([]string{"-f", "-y", "-s", "4096", "-e", "trace=fsync,rename,renameat,renameat2",
		"-o", trace}, run.Args...)...)
	cmd.Env = run.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	list := flushesOf(string(text))
	defer func() {
		if t.Failed() {
			for i, f := range list {
				t.Logf("%d %s %s", i, f.call, f.what)
			}
		}
	}()
	find := func(what string, after int, call, pattern string) int {
		t.Helper()
		re := regexp.MustCompile(pattern)
		for i := after + 1; i < len(list); i++ {
			if list[i].call == call && re.MatchString(list[i].what) {
				return i
			}
		}
		t.Errorf("%s: no %s of %s after step %d", what, call, pattern, after)
		return len(list)
	}
	before := func(what string, i, j int) {
		t.Helper()
		if i >= j {
			t.Errorf("%s: step %d comes after step %d", what, i, j)
		}
	}
	dir, home := regexp.QuoteMeta(b.dir), regexp.QuoteMeta(b.home)
	first := min(find("old.txt is replaced", -1, "rename", `"old\.txt"`), find("made.txt is put", -1, "rename", `"made\.txt"`))
	last := max(find("old.txt is replaced", -1, "rename", `"old\.txt"`), find("made.txt is put", -1, "rename", `"made\.txt"`))

	staged := -1
	for n := range 2 {
		staged = find(fmt.Sprintf("the new content of file %d", n), staged, "fsync", `^`+dir+`/.*\.kerf-.*\.tmp$`)
	}
	before("the new contents, before the first file is changed", staged, first)
	object := find("what old.txt held", -1, "fsync", `^`+home+`/workspaces/.*/store/.+/.+`)
	before("what old.txt held, before it is replaced", object, first)
	before("the names of what is kept", find("store", object, "fsync", `^`+home+`/workspaces/[^/]+/store/[^/]+$`), first)
	before("the journal says what will be done", find("journal", staged, "fsync", `/journal\.jsonl$`), first)

	for _, d := range []string{dir, dir + "/new"} {
		find("the names in the tree", last, "fsync", `^`+d+`$`)
	}
	entered := find("the entry of the change", last, "fsync", `/ledger\.jsonl$`)
	told := find("the record of the session", entered, "fsync", `/rollout\.jsonl$`)
	find("the directory of the session", -1, "fsync", `/sessions/[^/]+$`)
	before("the record of the session, before the program ends", told, len(list))
}
