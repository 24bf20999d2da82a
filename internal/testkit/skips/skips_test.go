package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const said = `{"Action":"run","Package":"kerf/a","Test":"TestOne"}
{"Action":"output","Package":"kerf/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"kerf/a","Test":"TestOne","Output":"    one_test.go:5: no frob here: really\n"}
{"Action":"output","Package":"kerf/a","Test":"TestOne","Output":"--- SKIP: TestOne (0.00s)\n"}
{"Action":"skip","Package":"kerf/a","Test":"TestOne"}
{"Action":"output","Package":"kerf/a","Test":"TestTwo","Output":"    two_test.go:9: wrong\n"}
{"Action":"output","Package":"kerf/a","Test":"TestTwo","Output":"--- FAIL: TestTwo (0.00s)\n"}
{"Action":"fail","Package":"kerf/a","Test":"TestTwo"}
{"Action":"output","Package":"kerf/a","Test":"TestThree","Output":"chatter\n"}
{"Action":"pass","Package":"kerf/a","Test":"TestThree"}
{"Action":"output","Package":"kerf/a","Output":"FAIL\tkerf/a\t0.1s\n"}
{"Action":"fail","Package":"kerf/a"}
{"Action":"output","Package":"kerf/b","Output":"ok  \tkerf/b\t0.1s\n"}
{"Action":"pass","Package":"kerf/b"}
`

// TestSkipsAreTold: failures and results are printed as go test prints them, skips with their
// reasons, and one is new unless a line has it and the machine has the grounds.
func TestSkipsAreTold(t *testing.T) {
	t.Setenv("FROB", "here")
	for line, fresh := range map[string]int{
		"": 1, "no frob\talways": 0, "no frob\tunset:FROB": 1, "no frob\tunset:NOFROB": 0, "frobs\talways": 1,
		"no frob\twithout:go": 1, "no frob\twithout:no-such-program not:none": 0,
	} {
		rules, err := readKnown(line)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		r := newReader(&b)
		if err := r.read(strings.NewReader(said)); err != nil {
			t.Fatal(err)
		}
		if got := r.tell(rules, machine{}); got != fresh {
			t.Errorf("%q: %d are new, want %d", line, got, fresh)
		}
		out := b.String()
		for _, want := range []string{"two_test.go:9: wrong", "--- FAIL: TestTwo", "FAIL\tkerf/a", "ok  \tkerf/b",
			"no frob here: really\n    a.TestOne\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q: the output lacks %q:\n%s", line, want, out)
			}
		}
		if strings.Contains(out, "chatter") || strings.Contains(out, "NEW") != (fresh > 0) {
			t.Errorf("%q:\n%s", line, out)
		}
	}
}

// TestAStorySaysWhyItIsSkipped: a story logs all that it ran after the reason.
func TestAStorySaysWhyItIsSkipped(t *testing.T) {
	for said, want := range map[string]string{
		"    testscript.go:1: no frob\n        testscript.go:2: WORK=$WORK\n        a=b\n        # Frobs. (0.000s)\n" +
			"        > [!has:frob] [unix] skip 'no frob'\n": "no frob",
		"    a_test.go:9: no frob\n":                                "no frob",
		"    a_test.go:9: it said: skip 'this'\n        and that\n": "it said: skip 'this' and that",
	} {
		if got := reason(strings.SplitAfter(said, "\n")); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// TestKnownIsRead: the list can be read, and a line that cannot is an error.
func TestKnownIsRead(t *testing.T) {
	if _, err := readKnown(knownText); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"no tab", "(\talways", "x\tsometimes"} {
		if _, err := readKnown(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestASandboxIsExpected: where a new skip fails the run, that a sandbox does not work is a
// ground only if somebody said so.
func TestASandboxIsExpected(t *testing.T) {
	rules := []rule{{regexp.MustCompile("no frob"), []string{"nouserns"}}}
	for _, c := range []struct {
		mode, without string
		there         bool // what the machine would say
		fresh         int
	}{
		{"", "", true, 0}, {"", "", false, 1}, {"fail", "", true, 1}, {"fail", "bwrap landlock", true, 1},
		{"fail", "landlock userns", true, 0},
	} {
		t.Setenv("KERF_WITHOUT", c.without)
		m := options{fresh: c.mode}.machine(rules)
		if _, decided := m["nouserns"]; !decided {
			m["nouserns"] = c.there
		}
		r := newReader(io.Discard)
		if err := r.read(strings.NewReader(said)); err != nil {
			t.Fatal(err)
		}
		if got := r.tell(rules, m); got != c.fresh {
			t.Errorf("%+v: %d are new", c, got)
		}
	}
}

// TestAProgramIsExpectedInCI: there a missing one is a ground only if somebody said so, or if the rule
// takes it where it is.
func TestAProgramIsExpectedInCI(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs linux")
	}
	for _, c := range []struct {
		ground, ci, mode, without string
		fresh                     int
	}{
		{"without:no-such-program", "", "fail", "", 0}, {"without:no-such-program", "false", "fail", "", 0},
		{"without:no-such-program", "true", "", "", 0}, {"without:no-such-program", "true", "fail", "", 1},
		{"without:no-such-program", "true", "fail", "other no-such-program", 0}, {"maybe:no-such-program", "true", "fail", "", 0},
		{"maybe:go", "true", "fail", "", 1}, {"without:go", "true", "fail", "go", 1},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("KERF_WITHOUT", c.without)
		rules, err := readKnown("no frob\t" + c.ground)
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(io.Discard)
		if err := r.read(strings.NewReader(said)); err != nil {
			t.Fatal(err)
		}
		if got := r.tell(rules, options{fresh: c.mode}.machine(rules)); got != c.fresh {
			t.Errorf("%+v: %d are new", c, got)
		}
	}
}

// TestWhatCIHasToHaveIsInstalled: .ci/tools sees to each program that no rule may miss.
func TestWhatCIHasToHaveIsInstalled(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", ".ci", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`without:(\S+)`).FindAllStringSubmatch(knownText, -1) {
		if !strings.HasPrefix(m[1], "PROGRAM") && !strings.Contains(string(text), " "+m[1]+":") {
			t.Errorf(".ci/tools does not install %s", m[1])
		}
	}
}

// TestWhatRootSkipsIsForUsers: what has the ground "root" is taken out, and nothing else.
func TestWhatRootSkipsIsForUsers(t *testing.T) {
	for _, c := range []struct {
		rules string
		users int
	}{{"no frob\troot", 1}, {"no frob\tuser always", 0}, {"other\troot", 0}} {
		rules, err := readKnown(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(io.Discard)
		if err := r.read(strings.NewReader(said)); err != nil {
			t.Fatal(err)
		}
		if got := r.forUsers(rules); len(got) != c.users || len(r.skips) != 1-c.users {
			t.Errorf("%q: %v for users, %v left", c.rules, got, r.skips)
		}
	}
	if got := exactly("TestA/b.c"); got != `^TestA$/^b\.c$` {
		t.Error(got)
	}
}

// TestAFailureIsToldAtTheEnd: each test that failed by itself is named last; few of them run again, and
// only what fails alone, too, or by random data, or broke its package off, fails the run.
func TestAFailureIsToldAtTheEnd(t *testing.T) {
	fail := func(test, said string) string {
		return `{"Action":"output","Package":"kerf/a","Test":"` + test + `","Output":"    a_test.go:1: ` + said + `\n"}
{"Action":"fail","Package":"kerf/a","Test":"` + test + `"}
`
	}
	whole := `{"Action":"fail","Package":"kerf/a"}
`
	two := fail("TestA/b", "wrong") + fail("TestA", "") + fail("TestC", "late") + whole
	for name, c := range map[string]struct {
		said   string
		most   int
		passes map[string]bool
		code   int
		want   string
		ran    int
	}{
		"not asked for": {two, 0, nil, 1, "  kerf/a.TestA/b\n  kerf/a.TestC\n", 0},
		"both pass":     {two, 2, map[string]bool{"TestA/b": true, "TestC": true}, 0, "FLAKY: kerf/a.TestA/b failed once", 2},
		"one fails":     {two, 2, map[string]bool{"TestC": true}, 1, "kerf/a.TestA/b: alone, too", 2},
		"too many":      {two, 1, map[string]bool{"TestA/b": true, "TestC": true}, 1, "  kerf/a.TestC\n", 0},
		"random data":   {fail("TestL", "law broken, seed 7") + whole, 3, map[string]bool{"TestL": true}, 1, "by random data", 0},
		"broke off": {`{"Action":"run","Package":"kerf/a","Test":"TestD"}
{"Action":"output","Package":"kerf/a","Test":"TestD","Output":"=== RUN   TestD\n"}
` + fail("TestC", "late") + whole, 3, map[string]bool{"TestC": true}, 1, "the package broke off", 0},
		"nothing failed": {whole, 3, nil, 1, "the package broke off", 0}, // as where a package does not build
	} {
		var b strings.Builder
		r := newReader(&b)
		ran := 0
		r.alone = func(_ io.Writer, f failure) bool { ran++; return c.passes[f.test] }
		if err := r.read(strings.NewReader(c.said)); err != nil {
			t.Fatal(err)
		}
		if code := r.settle(1, c.most); code != c.code || ran != c.ran || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: code %d, %d ran again:\n%s", name, code, ran, b.String())
		}
	}
}

// TestATestAloneHasToPass: one that a pattern no longer finds did not pass.
func TestATestAloneHasToPass(t *testing.T) {
	if !testAlone(io.Discard, failure{pkg: ".", test: "TestKnownIsRead"}) {
		t.Error("a test that passes did not")
	}
	if testAlone(io.Discard, failure{pkg: ".", test: "TestThatIsNotThere"}) {
		t.Error("a test that is not there passed")
	}
}

// TestABackendThatWorksIsUsed: what tests say where a sandbox cannot be used is known only where that one does
// not work; whether its program is installed is no ground.
func TestABackendThatWorksIsUsed(t *testing.T) {
	rules, err := readKnown(knownText)
	if err != nil {
		t.Fatal(err)
	}
	for reason, ground := range map[string]string{
		"sandbox unavailable: bwrap is not on PATH outside the workspace; install the package bubblewrap":                                  "nobwrap",
		"sandbox unavailable: does not work here: bwrap: No permissions to create new namespace, likely because the kernel does not allow": "nobwrap",
		"sandbox unavailable: run /usr/bin/bwrap: start /usr/bin/bwrap: exec format error":                                                 "nobwrap",
		"no bubblewrap": "nobwrap",
		"sandbox unavailable: does not work here: namespaces cannot be made: operation not permitted; allow unprivileged user namespaces":    "nouserns",
		"sandbox unavailable: kerf: does not work here: namespaces cannot be made: operation not permitted; bwrap: does not work here: x":    "nouserns",
		"no sandbox works here: sandbox unavailable: kerf: does not work here: namespaces cannot be made: operation not permitted; bwrap: x": "nouserns",
		"no mounts of our own: fork/exec /tmp/agree.test: operation not permitted":                                                           "nouserns",
		"sandbox unavailable: does not work here: Landlock is not available in version 6 or later: operation not supported":                  "nolandlock",
		"this kernel has no Landlock": "nolandlock",
	} {
		for _, broken := range []string{"", "nobwrap", "nouserns", "nolandlock"} {
			m := machine{"nobwrap": false, "nouserns": false, "nolandlock": false, "without:bwrap": true}
			if broken != "" {
				m[broken] = true
			}
			if got := m.known(rules, reason); got != (broken == ground) {
				t.Errorf("%q, where %q: known is %v", reason, broken, got)
			}
		}
	}
}
