package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kerf/fleet/desk"
	"kerf/fleet/task"
)

// said runs a command in this process, without an engine.
func said(t *testing.T, in string, args ...string) (code int, out, problem string) {
	t.Helper()
	t.Setenv("KERF_FLEET_DIR", t.TempDir())
	var o, p bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &o, &p)
	return code, o.String(), p.String()
}

// What needs no engine says so before it looks for one, and where there is none the next step is named.
func TestCommandLines(t *testing.T) {
	pages := httptest.NewServer(http.NotFoundHandler())
	defer pages.Close()
	web := pages.Listener.Addr().String()
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{0, "Usage:", []string{"--help"}},
		{0, "kerf-fleet dev", []string{}},
		{0, "history shards", []string{"capacity"}},
		{0, `"Shards": 512`, []string{"capacity", "--json"}},
		{2, "all numbers must be positive", []string{"capacity", "--tasks", "0"}},
		{2, "start one with kerf-fleet dev, or give --address and --store", []string{"list"}},
		{2, `there is no command "nope"`, []string{"nope"}},
		{2, "give --kerf", []string{"worker", "--kerf", "no-kerf", "--address", "127.0.0.1:1", "--store", t.TempDir()}},
		{2, "cannot run sessions of tasks (exit status 1: ", []string{"worker", "--kerf", "false", "--address", "127.0.0.1:1", "--store", t.TempDir()}},
		{2, "did you mean kerf-fleet submit?", []string{"submti"}},
		{2, "unknown flag: --nope; see kerf-fleet list --help", []string{"list", "--nope"}},
		{2, "unknown flag: --nope; see kerf-fleet --help", []string{"--nope"}},
		{2, `there is no command "nope"; see kerf-fleet schedule --help`, []string{"schedule", "nope"}},
		{2, "did you mean kerf-fleet schedule pause?", []string{"schedule", "puase", "x"}},
		{2, "see kerf-fleet schedule pause --help", []string{"schedule", "pause"}},
		{1, "--address temporal: give it as host:port", []string{"list", "--address", "temporal", "--store", t.TempDir()}},
		{1, "give it as host:port", []string{"list", "--address", "http://127.0.0.1:7233", "--store", t.TempDir()}},
		{1, "give it as host:port", []string{"list", "--address", "127.0.0.1:x", "--store", t.TempDir()}},
		{1, "no engine at " + web + ": what answers there is no Temporal service", []string{"list", "--address", web, "--store", t.TempDir()}},
		{2, "takes a prompt", []string{"submit"}},
		{2, "the name of its question", []string{"approve", "x"}},
		{2, "use at least 1h0m0s", []string{"gc", "--older", "59m"}},
		{2, "needs --branch", []string{"apply", "--open-pr", "x"}},
		{2, "setup needs --address", []string{"setup"}},
		{1, "no engine at 127.0.0.1:1", []string{"list", "--address", "127.0.0.1:1", "--store", t.TempDir()}},
		{2, "want 32 bytes in hex", []string{"list", "--address", "127.0.0.1:1", "--store", t.TempDir(), "--secret-file", "plain_test.go"}},
	} {
		code, out, problem := said(t, "", c.args...)
		if code != c.code || !strings.Contains(out+problem, c.say) || code == 0 && problem != "" || code != 0 && out != "" {
			t.Errorf("%v: %d\n%s%s", c.args, code, out, problem)
		}
	}
}

// Rows are read as they are, and what is no row is told with its line.
func TestRowsAreRead(t *testing.T) {
	c := command()
	c.SetIn(strings.NewReader("{\"repository\": \"/r\", \"values\": {\"A\": \"b\"}}\n\n{\"revision\": \"v1\"}\n"))
	rows, err := readRows(c, "-")
	if err != nil || len(rows) != 2 || rows[0].Values["A"] != "b" || rows[1].Revision != "v1" {
		t.Errorf("%+v %v", rows, err)
	}
	c.SetIn(strings.NewReader("{}\n{\"repo\": 1}\n"))
	if _, err = readRows(c, "-"); err == nil || !strings.Contains(err.Error(), "-:2:") {
		t.Errorf("a row with another member: %v", err)
	}
}

// Texts of others cannot act on the terminal.
func TestWhatIsShownIsVisible(t *testing.T) {
	bad := "x\x1b[31m\u202ey"
	var out bytes.Buffer
	err := tellState(&out, task.State{Task: task.Task{ID: "t", Repository: bad, Revision: bad, Prompt: bad}, Phase: task.Asking,
		Place: &task.Place{Worker: "w"}, Lost: []string{bad, bad}, Answered: []task.Answer{{Question: "p", By: bad}}, Questions: []task.Question{{ID: "q", Text: bad, Reason: bad, Says: bad}},
		Result: &task.Result{Problem: bad, Message: bad, Bundle: "b", Checks: []task.CheckResult{{Command: bad}}}})
	if err == nil {
		err = table(&out, []desk.Line{{ID: "t", Phase: task.Done, Repository: bad}})
	}
	if err != nil || strings.ContainsAny(out.String(), "\x1b\u202e") || !strings.Contains(out.String(), "kerf-fleet approve t q, or --no") ||
		!strings.Contains(out.String(), "y (2 times)\n") || !strings.Contains(out.String(), "answered    p: no, by x") {
		t.Errorf("%v %q", err, out.String())
	}
}
