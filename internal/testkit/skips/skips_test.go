package main

import (
	"io"
	"regexp"
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
		m := options{fresh: c.mode}.machine()
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
