//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kerf/fleet/task"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// One task from beginning to end: its events, its bundle with causes, its merge, and what
// is left of it on the worker.
func TestATaskEndsWithItsBundle(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	s := f.scenario("s", "echo new > new; chmod +x new; echo e > \"$(printf 'caf\\351')\"; rm d/b; ln -s a.txt link; printf '\\000\\377' > bin; mkdir -p out; echo no > out/x",
		"sed -i s/^7$/seven/ a.txt; printf 'z\\r\\n' >> crlf")
	if out := f.must("submit", "--repo", repo, "--id", "a", "--scenario", s, "--check", "grep -q seven a.txt", "--wait", "do it"); !strings.Contains(out, "outcome     done") {
		t.Fatal(out)
	}
	b := f.bundle("a")
	var names []string
	for _, c := range b.Changes {
		names = append(names, string(c.Path))
		if c.Cause != "command" || c.Certainty != "proven" {
			t.Errorf("%s: %s, %s", c.Path, c.Cause, c.Certainty)
		}
	}
	if got := strings.Join(names, " "); got != "a.txt bin caf\xe9 crlf d/b link new" {
		t.Errorf("changed: %s", got)
	}
	if len(b.Checks) != 1 || b.Checks[0].Exit != 0 || b.Checks[0].Tree != b.Tree {
		t.Errorf("checks: %+v", b.Checks)
	}
	if out := f.must("logs", "a"); !strings.Contains(out, "$ sed -i") || !strings.Contains(out, "That is all.") {
		t.Errorf("logs: %s", out)
	}
	path, _ := kerf()
	f.must("apply", "--kerf", path, "-C", repo, "a")
	if got := f.git(repo, "-c", "core.autocrlf=false", "write-tree"); got == "" {
		t.Error("no tree")
	}
	for path, want := range map[string]string{"new": "new\n", "bin": "\x00\xff", "crlf": "x\r\ny\r\nz\r\n", "caf\xe9": "e\n"} {
		if got := read(t, repo, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got, _ := os.Readlink(filepath.Join(repo, "link")); got != "a.txt" {
		t.Errorf("link: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(repo, "d", "b")); err == nil {
		t.Error("d/b is still there")
	}
	left, _ := os.ReadDir(filepath.Join(f.dir, "one", "tasks"))
	f.until("the worker to clean up", 10*time.Second, func() bool {
		left, _ = os.ReadDir(filepath.Join(f.dir, "one", "tasks"))
		return len(left) == 0
	})
	f.history("a", "task")
	if out := f.must("top"); !strings.Contains(out, "kerf fleet   done 1\n") || !strings.Contains(out, repo) {
		t.Errorf("top: %s", out)
	}
	// What Temporal's own pages show.
	if summary, phase := f.shown("a"); summary != repo+": do it" || phase != "done" {
		t.Errorf("the engine's pages show %q, %q", summary, phase)
	}
	// Sent twice it runs once.
	if out, err := f.run("submit", "--repo", repo, "--id", "a", "again"); err == nil || !strings.Contains(err.Error(), "is a task already") {
		t.Errorf("the same name again: %s %v", out, err)
	}
}

// A worker that dies in the middle is replaced; each command runs once to its end, and the
// result is that of a run without a fault.
func TestAKilledWorkerIsReplaced(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	open := filepath.Join(f.dir, "go")
	steps := []string{"echo 1 >> log", "echo 2 >> log", "echo 3 >> log; while ! test -e " + open + "; do sleep 0.1; done",
		"echo 4 >> log", "echo 5 >> log"}
	// What is killed in the middle runs again; its first part is not in the files of the next.
	s := f.scenario("s", steps...)
	f.must("submit", "--repo", repo, "--id", "k", "--scenario", s, "do it")
	// The file is there once the third command runs.
	f.until("the third command", 30*time.Second, func() bool {
		m, _ := filepath.Glob(filepath.Join(f.dir, "one", "tasks", "k", "tree", "log"))
		return len(m) == 1 && strings.Count(read(t, m[0]), "\n") == 3
	})
	before := f.state("k")
	f.kill("one")
	f.work("two")
	f.until("the second worker", 60*time.Second, func() bool {
		p := f.state("k").Place
		return p != nil && p.Worker == "two"
	})
	after := f.state("k")
	if after.Place.Rounds != 2 || after.Place.Number <= before.Place.Number || len(after.Lost) == 0 {
		t.Errorf("resumed: %+v, lost %q", after.Place, after.Lost)
	}
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := f.result("k")
	b := f.bundle("k")
	patch := f.must("result", "--patch", "k")
	if r.Outcome != task.Done || len(b.Changes) != 1 || !strings.HasSuffix(patch, "@@ -0,0 +1,5 @@\n+1\n+2\n+3\n+4\n+5\n") {
		t.Errorf("%+v\n%s", r, patch)
	}
	if c := b.Changes[0]; c.Cause != "command" || c.Certainty != "proven" {
		t.Errorf("cause of what another worker did: %+v", c)
	}
	f.history("k", "killed")
}

// A question waits for an answer, by a signal; without one the answer is no.
func TestAQuestionIsAnswered(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	type m = map[string]any
	data, _ := json.Marshal(m{"version": 1, "rounds": []m{
		{"items": []m{{"call": "exec_command", "args": m{"cmd": "touch asked", "sandbox_permissions": "require_escalated", "justification": "it must"}}}},
		{"items": []m{{"message": "Over."}}}}})
	s := filepath.Join(f.dir, "q.json")
	if err := os.WriteFile(s, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for id, limit := range map[string]string{"yes": "1h", "no": "1h", "late": "2s"} {
		f.must("submit", "--repo", repo, "--id", id, "--scenario", s, "--answer-limit", limit, "ask")
	}
	for _, id := range []string{"yes", "no"} {
		f.until("the question of "+id, 30*time.Second, func() bool { return len(f.state(id).Questions) == 1 })
		q := f.state(id).Questions[0]
		if !strings.Contains(q.Text, "WITHOUT the sandbox") || !strings.HasSuffix(q.Text, "\ntouch asked") || q.Says != "it must" {
			t.Errorf("question: %+v", q)
		}
		if out := f.must("list", "--phase", "asking"); id == "yes" && !strings.Contains(out, "yes") {
			t.Errorf("list: %s", out)
		}
	}
	if _, err := f.run("approve", "yes", "other"); err == nil {
		t.Error("a question that does not exist was answered")
	}
	f.must("approve", "yes", f.state("yes").Questions[0].ID)
	f.must("approve", "no", f.state("no").Questions[0].ID, "--no", "--words", "never")
	for id, files := range map[string]int{"yes": 1, "no": 0, "late": 0} {
		if r := f.result(id); r.Outcome != task.Done || r.Files != files {
			t.Errorf("%s: %+v", id, r)
		}
		f.history(id, "question-"+id)
	}
}

// A task that is cancelled leaves nothing running and no files.
func TestCancelWhileACommandRuns(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	name := filepath.Base(f.dir) + "-sleeper"
	// One that goes into the background and into a session of its own, and one that does not.
	f.must("submit", "--repo", repo, "--id", "c", "--scenario", f.scenario("s", "echo x > x; setsid bash -c 'exec -a "+name+
		"-away sleep 300' & exec -a "+name+" sleep 300"), "wait")
	f.until("the commands", 30*time.Second, func() bool {
		return len(f.processes(name+"-away")) > 0 && len(f.processes(name+" 300")) > 0
	})
	if len(f.processes("kerf -c default_permissions")) == 0 {
		t.Error("the table of processes does not show kerf serve; what is left could not be seen")
	}
	f.must("cancel", "--wait", "c")
	if left := f.processes("/one/tasks/c"); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	if exec.Command("pgrep", "-f", "^"+name).Run() == nil {
		t.Error("the command still runs")
	}
	if r := f.result("c"); r.Outcome != task.Cancelled {
		t.Errorf("%+v", r)
	}
	f.until("the worker to clean up", 10*time.Second, func() bool {
		left, _ := os.ReadDir(filepath.Join(f.dir, "one", "tasks"))
		return len(left) == 0
	})
	f.history("c", "cancel")
	if s := f.state("c"); s.Phase != task.Cancelled {
		t.Errorf("phase: %s", s.Phase)
	}
}

// Two tasks that change the same lines do not both fit; others are merged in their order.
func TestTasksAreMergedInOrder(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	for id, command := range map[string]string{"m1": "sed -i s/^5$/five/ a.txt", "m2": "sed -i s/^15$/fifteen/ a.txt", "m3": "sed -i s/^5$/FIVE/ a.txt"} {
		f.must("submit", "--repo", repo, "--id", id, "--scenario", f.scenario(id, command), "edit "+id)
	}
	for _, id := range []string{"m1", "m2", "m3"} {
		if r := f.result(id); r.Outcome != task.Done {
			t.Fatalf("%+v", r)
		}
	}
	if err := os.WriteFile(filepath.Join(repo, "own"), []byte("the user's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, _ := kerf()
	before := read(t, repo, "a.txt")
	_, err := f.run("apply", "--kerf", path, "-C", repo, "m1", "m2", "m3")
	if err == nil || !strings.Contains(err.Error(), "task m3 does not fit; nothing was changed") || !strings.Contains(err.Error(), "a.txt") {
		t.Errorf("conflict: %v", err)
	}
	if read(t, repo, "a.txt") != before {
		t.Error("a.txt was changed by a merge that failed")
	}
	if _, err = f.run("apply", "--kerf", path, "-C", repo, "--branch", "fleet", "m1"); err == nil || !strings.Contains(err.Error(), "git branch fleet makes it") {
		t.Errorf("a branch that is not there: %v", err)
	}
	f.git(repo, "branch", "fleet")
	f.must("apply", "--kerf", path, "-C", repo, "--branch", "fleet", "m1", "m2")
	if got := f.git(repo, "log", "--format=%s", "fleet"); got != "edit m2\nedit m1\none\n" {
		t.Errorf("branch: %q", got)
	}
	if got := f.git(repo, "log", "-1", "--format=%(trailers:key=Kerf-Task,valueonly)", "fleet"); strings.TrimSpace(got) != "m2" {
		t.Errorf("trailer: %q", got)
	}
	f.must("apply", "--kerf", path, "-C", repo, "m1", "m2")
	if got := read(t, repo, "a.txt"); got != f.git(repo, "show", "fleet:a.txt") || !strings.Contains(got, "five") || !strings.Contains(got, "fifteen") {
		t.Errorf("checkout and branch differ: %q", got)
	}
	if read(t, repo, "own") != "the user's\n" {
		t.Error("the user's file was changed")
	}
}

// A map makes a task of each row; a schedule makes one each time; checks that fail are
// told to the model; a task that is over can be begun again.
func TestMapScheduleAndRetry(t *testing.T) {
	f := newFleet(t, "one", "two")
	repos := f.repository("r1") + "," + f.repository("r2") + "," + f.repository("r3")
	s := f.scenario("s", "echo x > x")
	f.must("map", "--id", "all", "--repos", repos, "--scenario", s, "--parallel", "2", "do it")
	if out := f.must("result", "all"); !strings.Contains(out, "done: 3") {
		t.Errorf("result of a map: %s", out)
	}
	for _, args := range [][]string{{"logs", "all"}, {"steer", "all", "x"}, {"approve", "all", "q"}, {"retry", "all"}, {"apply", "all"},
		{"result", "--patch", "all"}} {
		if out, err := f.run(args...); err == nil || !strings.Contains(err.Error(), "all is a map; name one of its tasks: kerf-fleet list --map all") {
			t.Errorf("%v: %s %v", args, out, err)
		}
	}
	if out := f.must("list", "--map", "all", "--json"); strings.Count(out, `"phase": "done"`) != 3 {
		t.Errorf("list: %s", out)
	}
	f.history("all", "map")
	repo := strings.Split(repos, ",")[0]
	f.must("map", "--id", "paths", "--repo", repo, "--paths", "d,a.txt", "--scenario", s, "look at {PATH}")
	f.until("the map of paths", 60*time.Second, func() bool { return strings.Contains(f.must("show", "paths"), "done: 2") })
	if got := f.state("paths-00001").Task.Prompt; got != "look at a.txt" {
		t.Errorf("prompt of a path: %q", got)
	}
	f.must("schedule", "create", "nightly", "--cron", "0 3 * * *", "--repo", repo, "--scenario", s, "do it")
	for verb, did := range map[string]string{"pause": "paused", "resume": "resumed", "trigger": "triggered"} {
		if out := f.must("schedule", verb, "nightly"); out != "nightly: "+did+"\n" {
			t.Errorf("schedule %s: %s", verb, out)
		}
	}
	var id string
	f.until("the scheduled task", 60*time.Second, func() bool {
		for _, word := range strings.Fields(f.must("list")) {
			if strings.HasPrefix(word, "nightly-") {
				id = word
			}
		}
		return id != ""
	})
	if r := f.result(id); r.Outcome != task.Done || r.Files != 1 {
		t.Errorf("scheduled: %+v", r)
	}
	// The first attempt fails the check, the second passes.
	two := f.scenario("two", "echo bad > y")
	data := read(t, two)
	data = strings.Replace(data, `{"items":[{"message":"That is all."}]}`,
		`{"items":[{"message":"First."}]},{"items":[{"args":{"cmd":"echo good > y"},"call":"exec_command"}]},{"items":[{"message":"Second."}]}`, 1)
	if err := os.WriteFile(two, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	f.must("submit", "--repo", repo, "--id", "try", "--scenario", two, "--check", "grep -q good y", "--attempts", "2", "--wait", "do it")
	_, err := f.run("submit", "--repo", repo, "--id", "fail", "--scenario", two, "--check", "grep -q good y", "--wait", "do it")
	f.history("try", "attempts")
	if r := f.result("fail"); err == nil || r.Outcome != task.Unchecked || r.Checks[0].Exit != 1 {
		t.Errorf("a failed check: %v %+v", err, r)
	}
	if out := f.must("retry", "try", "--wait"); !strings.Contains(out, "outcome     done") {
		t.Errorf("retry: %s", out)
	}
}

// What cannot be done is told in one line with the right exit code.
func TestMistakesAreTold(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	empty := filepath.Join(f.dir, "empty")
	f.git(f.dir, "init", "-q", empty)
	f.must("submit", "--repo", repo, "--id", "over", "--scenario", f.scenario("o", "true"), "--wait", "x")
	f.must("submit", "--repo", repo, "--id", "held", "--scenario", f.scenario("h", "sleep 300"), "x")
	f.must("schedule", "create", "there", "--cron", "0 3 * * *", "--repo", repo, "x")
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{2, `there is no command "nope"`, []string{"nope"}},
		{2, "takes a prompt", []string{"submit"}},
		{2, "a task needs a repository", []string{"submit", "x"}},
		{2, "priority 9", []string{"submit", "--repo", repo, "--priority", "9", "x"}},
		{2, "workers run nothing without a sandbox", []string{"submit", "--repo", repo, "-s", "danger-full-access", "x"}},
		{1, "no such task: none", []string{"show", "none"}},
		{1, "no such task: none", []string{"cancel", "none"}},
		{1, "no such task: none", []string{"logs", "none"}},
		{1, "has no revision", []string{"submit", "--repo", repo, "--rev", "gone", "--wait", "x"}},
		{1, "has no commit on a branch of its own; give --rev", []string{"submit", "--repo", empty, "--wait", "x"}},
		{2, "--phase bogus: use one of waiting, running", []string{"list", "--phase", "bogus"}},
		{2, "takes either --cron or --every", []string{"schedule", "create", "s", "--repo", repo, "x"}},
		{2, "5-7 fields", []string{"schedule", "create", "s", "--cron", "often", "--repo", repo, "x"}},
		{2, "unknown time zone", []string{"schedule", "create", "s", "--cron", "0 3 * * *", "--zone", "No/Where", "--repo", repo, "x"}},
		{2, "a task needs a repository", []string{"schedule", "create", "s", "--cron", "0 3 * * *", "x"}},
		{1, "there is a schedule already", []string{"schedule", "create", "there", "--cron", "0 3 * * *", "--repo", repo, "x"}},
		{1, "no such schedule: none", []string{"schedule", "pause", "none"}},
		{1, "over is over already: done", []string{"cancel", "over"}},
		{1, "over is over already: done", []string{"cancel", "--wait", "over"}},
		{1, "no such task: none", []string{"cancel", "none", "held", "over"}},
		{2, "either --repos, --paths or --rows", []string{"map", "x"}},
		{2, "the name of its question", []string{"approve", "x"}},
	} {
		out, err := f.run(c.args...)
		var exit *exec.ExitError
		if err == nil {
			t.Errorf("%v: no error: %s", c.args, out)
			continue
		}
		if !errorsAs(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	// The names that were wrong kept nobody from cancelling the one that was right; and again is no mistake.
	f.must("cancel", "--wait", "held")
	if out := f.must("cancel", "held"); out != "held: cancelled\n" {
		t.Errorf("cancelled twice: %q", out)
	}
}

// Of two answers that are given at once one counts, and the other is told so; the page of kerf web may answer, too.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	f := newDev(t)
	if other() {
		pages := f.command("pages")
		if err := pages.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pages.Process.Kill(); _ = pages.Wait() })
	}
	repo, s := f.repository("r"), f.scenario("s")
	asks := `{"version":1,"rounds":[{"items":[{"call":"exec_command","args":{"cmd":"touch asked","sandbox_permissions":"require_escalated",` +
		`"justification":"it must"}}]},{"items":[{"message":"Over."}]}]}`
	if err := os.WriteFile(s, []byte(asks), 0o600); err != nil {
		t.Fatal(err)
	}
	question := func(id string) string {
		f.must("submit", "--repo", repo, "--id", id, "--scenario", s, "ask")
		f.until("the question of "+id, 30*time.Second, func() bool { return len(f.state(id).Questions) == 1 })
		return f.state(id).Questions[0].ID
	}
	q := question("both")
	var tries sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		tries.Go(func() { _, errs[i] = f.run(append([]string{"approve", "both", q}, []string{"--no"}[:i%2]...)...) })
	}
	tries.Wait()
	counted := 0
	for i, err := range errs {
		if err == nil {
			counted++
			if r := f.result("both"); (r.Files == 1) != (i%2 == 0) {
				t.Errorf("answer %d was taken, and %d files changed", i, r.Files)
			}
		} else if !strings.Contains(err.Error(), "question "+q+" of task both is answered already: ") {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if counted != 1 {
		t.Errorf("%d of %d answers were told that they count", counted, len(errs))
	}
	if out := f.must("show", "both"); !strings.Contains(out, "answered    "+q+": ") {
		t.Errorf("show: %s", out)
	}
	q = question("paged")
	socket := filepath.Join(f.dir, "dev", "tasks.sock")
	f.until("the socket", 30*time.Second, func() bool { _, err := os.Stat(socket); return err == nil })
	post := func(body string) string {
		out, err := exec.Command("curl", "-s", "-w", " %{http_code}", "--unix-socket", socket, "-d", body, "http://kerf-fleet/answer").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for body, want := range map[string]string{`{"task":"paged","question":"nope","yes":true}`: "has no open question nope", `nonsense`: "400",
		`{"task":"none","question":"x"}`: "no such task"} {
		if got := post(body); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := post(`{"task":"paged","question":"` + q + `","yes":true}`); got != " 204" {
		t.Errorf("answered by a page: %s", got)
	}
	if r := f.result("paged"); r.Files != 1 {
		t.Errorf("a yes by a page: %+v", r)
	}
}

// Where no worker is at work, what is known without one is told at once.
func TestWithoutAWorker(t *testing.T) {
	f := newFleet(t)
	f.must("submit", "--repo", f.repository("r"), "--id", "w", "--scenario", f.scenario("s"), "x")
	for _, args := range [][]string{{"show", "w"}, {"logs", "w"}, {"approve", "w", "q"}, {"steer", "w", "x"}} {
		if out, err := f.run(args...); err == nil || !strings.Contains(err.Error(), "w is waiting; no worker answers to tell more: is kerf-fleet worker") {
			t.Errorf("%v: %s %v", args, out, err)
		}
	}
	f.must("cancel", "w")
}

// A task that no worker can take up says what it waits for.
func TestATaskWaitsForItsTags(t *testing.T) {
	f := newFleet(t, "one")
	repo, s := f.repository("r"), f.scenario("s", "true")
	f.must("submit", "--repo", repo, "--id", "g", "--needs", "gpu", "--scenario", s, "x")
	f.until("it to wait", time.Minute, func() bool {
		out := f.must("show", "g")
		return strings.Contains(out, "phase       waiting") && strings.Contains(out, "no worker with gpu has asked for a task")
	})
	// Nobody listens there; another worker may reach it.
	f.must("submit", "--repo", "https://127.0.0.1:1/x.git", "--id", "n", "x")
	f.until("the worker to be named", time.Minute, func() bool { return strings.Contains(f.must("show", "n"), "lost        one: git fetch") })
	f.must("cancel", "--wait", "n")
	f.work("two", "--tags", "gpu")
	if r := f.result("g"); r.Outcome != task.Done {
		t.Errorf("%+v", r)
	}
	if out := f.must("show", "g"); strings.Contains(out, "waits ") || !strings.Contains(out, "worker      two") {
		t.Errorf("show: %s", out)
	}
}

// A worker whose kerf is gone, or does not work, leaves tasks to those that can do them.
func TestAWorkerThatCannotWorkLeavesTasks(t *testing.T) {
	f := newFleet(t)
	gone := filepath.Join(f.dir, "kerf-gone")
	if err := os.WriteFile(gone, []byte("#!/bin/sh\ncase \"$*\" in *--help) exit 0; esac\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f.work("bad", "--kerf", gone)
	repo, s := f.repository("r"), f.scenario("s", "echo x > x")
	f.must("submit", "--repo", repo, "--id", "t0", "--scenario", s, "x")
	f.until("the bad worker to fail", time.Minute, func() bool { return len(f.state("t0").Lost) > 0 })
	if lost := f.state("t0").Lost[0]; !strings.Contains(lost, "bad: kerf serve ended") {
		t.Errorf("lost: %q", lost)
	}
	f.work("good")
	for i := range 12 {
		f.must("submit", "--repo", repo, "--id", fmt.Sprint("t", i+1), "--scenario", s, "x")
	}
	places := 0
	for i := range 13 {
		r := f.result(fmt.Sprint("t", i))
		if r.Outcome != task.Done || r.Files != 1 {
			t.Errorf("%+v", r)
		}
		places += r.Places
	}
	// It has four slots, and each pause is twice as long as the one before: without them it takes tasks as fast as it fails.
	rounds := 1
	for rest, pause := time.Since(began), 5*time.Second; rest > 0; rest, pause = rest-pause, min(2*pause, time.Minute) {
		rounds++
	}
	if places > 13+4*rounds {
		t.Errorf("13 tasks were at %d places, after %d pauses", places, rounds)
	}
	log := read(t, f.dir, "bad.log")
	if !strings.Contains(log, "takes no task for a while") {
		t.Errorf("its log: %s", log)
	}
}

// What kerf web asks for: the tasks, with what they ask, over a socket of this user alone.
func TestPagesTellTheTasks(t *testing.T) {
	f := newFleet(t, "one")
	repo := f.repository("r")
	f.must("submit", "--repo", repo, "--id", "p", "--scenario", f.scenario("s", "true"), "--wait", "look")
	if other() {
		cmd := f.command("pages")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	}
	socket := filepath.Join(f.dir, "dev", "tasks.sock")
	f.until("the socket", 20*time.Second, func() bool { _, err := os.Stat(socket); return err == nil })
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info.Mode(), err)
	}
	f.until("the task", 20*time.Second, func() bool {
		out, err := exec.Command("curl", "-s", "--unix-socket", socket, "http://kerf-fleet/tasks").Output()
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ ID, Phase, Repository string }
		if err = json.Unmarshal(out, &list); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, l := range list {
			if l.ID == "p" && l.Phase == "done" && l.Repository == repo {
				return true
			}
		}
		return false
	})
}
