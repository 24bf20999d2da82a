package policy

import (
	"testing"

	"kerf/internal/protocol"
	"kerf/internal/text/shell"
)

// TestFilesAllowedForTheSession: those files may be changed again, and no others beside them.
func TestFilesAllowedForTheSession(t *testing.T) {
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode(), Memory: &Memory{}}
	r.Memory.AllowPaths([]string{"/w/a"})
	r.Memory.AllowPaths([]string{"/w/b"})
	for _, c := range []struct {
		paths []string
		want  Verdict
	}{{[]string{"/w/a"}, Allow}, {[]string{"/w/a", "/w/b"}, Allow}, {[]string{"/w/a", "/w/c"}, Ask}, {[]string{"/w/c"}, Ask}, {[]string{"/w/A"}, Ask}} {
		if j := r.Change(c.paths, nil); j.Verdict != c.want {
			t.Errorf("%q: %v (%s), want %v", c.paths, j.Verdict, j.Reason, c.want)
		}
	}
	r.Memory = nil
	if j := r.Change([]string{"/w/a"}, nil); j.Verdict != Ask {
		t.Errorf("without a memory: %v", j.Verdict)
	}
}

// TestScriptsWithinScripts are read as deep as scripts are followed; what lies deeper is asked about.
func TestScriptsWithinScripts(t *testing.T) {
	list, err := ParseRules("r", []byte("git push -> forbid\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}.Mode(), List: list}
	line := "git push"
	for deep := 1; deep <= maxNested+2; deep++ {
		line = "sh -c " + shell.Quote(line)
		want := Refuse
		if deep > maxNested {
			want = Ask
		}
		if j := r.Command(Command{Line: line, Dir: "/w"}); j.Verdict != want {
			t.Errorf("%d deep: %v (%s: %s), want %v", deep, j.Verdict, j.By, j.Reason, want)
		}
	}
}

// TestScriptsOfAnEmptyFile: there are none, whatever the file was or becomes.
func TestScriptsOfAnEmptyFile(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          bool
	}{{"", "", false}, {"", "\n \n", false}, {`{"name":"x"}`, "", false}, {"", `{"name":"x"}`, false}, {" ", `{"scripts":{"a":"b"}}`, true},
		{`{"scripts":{"a":"b"}}`, "", true}, {`{"name":"x"}`, "{", true}, {"{", `{"name":"x"}`, false}, {"{", `{"scripts":{"a":"b"}}`, true}, {"[1]", "[2]", true}, {`"a"`, `"b"`, false}} {
		if got := ScriptsDiffer([]byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%q to %q: %v", c.before, c.after, got)
		}
	}
}

// TestACommandAllowedForTheSession: as it is written, where it was, in or out of the sandbox as it was, and as
// long as it would start the same.
func TestACommandAllowedForTheSession(t *testing.T) {
	r := Rules{Mode: protocol.Settings{Approval: protocol.PolicyUntrusted, Sandbox: protocol.SandboxWorkspace}.Mode(), Memory: &Memory{}}
	starts := "one"
	c := Command{Line: "make all", Dir: "/w", Bound: func() string { return starts }}
	r.Memory.AllowCommand(c, false)
	if j := r.Command(c); j.Verdict != Allow {
		t.Errorf("as it was: %v (%s)", j.Verdict, j.Reason)
	}
	other, elsewhere, out := c, c, c
	other.Line, elsewhere.Dir, out.Escalate = "make  all", "/w/sub", true
	for name, c := range map[string]Command{"another line": other, "elsewhere": elsewhere, "out of the sandbox": out} {
		if j := r.Command(c); j.Verdict != Ask {
			t.Errorf("%s: %v (%s)", name, j.Verdict, j.Reason)
		}
	}
	starts = "another program"
	if j := r.Command(c); j.Verdict != Ask {
		t.Errorf("it would start another program: %v (%s)", j.Verdict, j.Reason)
	}
	r.Memory.AllowCommand(c, false)
	for _, starts = range []string{"one", "another program"} {
		if j := r.Command(c); j.Verdict != Allow {
			t.Errorf("each of what was allowed: %s: %v (%s)", starts, j.Verdict, j.Reason)
		}
	}
}
