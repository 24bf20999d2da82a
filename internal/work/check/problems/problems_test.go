package problems

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse reads what the programs really printed: testdata has their outputs, but for the
// name of the directory.
func TestParse(t *testing.T) {
	types := []string{"b.ts:2:14: TS2322: Type 'number' is not assignable to type 'string'.",
		"b.ts:2:33: TS2345: Argument of type 'string' is not assignable to parameter of type 'number'."}
	goTests := []string{"pan/p_test.go:7: TestPanics: panic: assignment to entry in nil map", "sub/a_test.go:7: TestAdd: Add = -1",
		"sub/a_test.go:9: TestAdd: a log line", "sub/a_test.go:14: TestTable/one_case: bad: one case",
		"sub/a_test.go:14: TestTable/two: bad: two"}
	pyTests := []string{"test_m.py:4: TestK::test_one: AssertionError: assert {'a': 1} == {'a': 2}",
		"test_m.py:7: test_p[a b]: AssertionError: words - here", "test_m.py:7: test_p[c::d]: AssertionError: words - here",
		"test_m.py:9: test_f: ValueError: bad fixture"}
	oneLine := slices.Clone(pyTests)
	oneLine[2], oneLine[3] = strings.Replace(oneLine[2], ":7", "", 1), strings.Replace(oneLine[3], ":9", "", 1)
	want := map[string][]string{
		"go.testv.txt": goTests, "go.json.txt": goTests, "go.panic.txt": goTests,
		"pytest.names.txt": pyTests, "pytest.short.txt": pyTests, "pytest.line.txt": oneLine,
		"cargo.sub.txt": {"src/lib.rs:1:21: error[E0308]: mismatched types"},
		"cargo.quiet.txt": {"crates/one/src/lib.rs:5:17: tests::adds panicked: assertion `left == right` failed",
			"crates/one/src/lib.rs:7:49: tests::unwraps panicked: called `Option::unwrap()` on a `None` value", "tests::quiet failed"},
		"jest.txt": {"sum.test.js:4:23: sums › adds 1 + 2: expect(received).toBe(expected) // Object.is equality, " +
			"expected: 3, received: -1", "sum.test.js:6:31: sums › throws: TypeError: Cannot read properties of null (reading 'x')"},
		"vitest.txt": {"v.test.ts:3:38: outer > adds: AssertionError: expected -1 to be 3 // Object.is equality",
			"v.test.ts:5:28: boom: Error: boom here"},
		"make.txt": {"sub/a.c:2:25: too many arguments to function ‘f’",
			"sub/a.c:2:35: ‘y’ undeclared (first use in this function)"},
		"ld.txt":    {"ld.c: undefined reference to `undefd'", "ld.c: undefined reference to `undefd2'"},
		"javac.txt": {"A.java:2: incompatible types: String cannot be converted to int", "A.java:3: cannot find symbol"},
		"mypy.txt": {`m.py:2: Incompatible return value type (got "int", expected "str")  [return-value]`,
			`m.py:3: Argument 1 to "f" has incompatible type "str"; expected "int"  [arg-type]`},
		"cargo.test.txt": {"src/lib.rs:5:16: tests::two panicked: assertion `left == right` failed: f is wrong"},
		"cargo.txt": {"src/lib.rs:1:21: error[E0308]: mismatched types",
			"src/lib.rs:2:25: error[E0425]: cannot find function `undefined` in this scope"},
		"eslint.txt": {"a.js:1:7: 'a' is assigned a value but never used  no-unused-vars",
			"a.js:2:5: 'b' is not defined  no-undef", "a.js:2:15: 'c' is not defined  no-undef"},
		"gcc.txt": {"a.c:2:29: ‘y’ undeclared (first use in this function)",
			"a.c:3:37: ‘retur’ undeclared (first use in this function)",
			"a.c:3:42: expected ‘;’ before numeric constant"},
		"go.test.txt": {"a.go:3:23: undefined: undefinedThing",
			"a.go:5:16: cannot use 3 (untyped int constant) as string value in variable declaration",
			"sub/b_test.go:7: TestG: G() = 1, want 2", "sub/b_test.go:9: TestG/part: no part",
			"example.com/m/sub: TestQuiet failed"},
		"go.vet.txt": {"a.go:5:16: cannot use 3 (untyped int constant) as string value in variable declaration"},
		"pytest.fail.txt": {"test_a.py:4: test_two: assert 1 == 2",
			"test_a.py:7: TestK::test_raise: ValueError: bad value"},
		"pytest.syntax.txt": {"test_b.py:1: SyntaxError: invalid syntax"},
		"pyright.txt": {`q.py:2:14: Argument of type "Literal[1]" cannot be assigned to parameter "a" of type "str" in ` +
			`function "add"`},
		"python.txt": {"test_b.py:1: SyntaxError: invalid syntax"},
		"tsc.txt":    types,
		"tscp.txt":   types,
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d outputs, want %d (%v)", len(files), len(want), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		dir := "/project/py"
		switch base := filepath.Base(f); {
		case strings.Contains(f, "eslint"):
			dir = "/project/js"
		case base == "make.txt":
			dir = "/project/c"
		case base == "cargo.sub.txt":
			dir = "/project/rs/crates/two"
		case strings.HasPrefix(base, "go."):
			dir = "/project/go"
		}
		there := []string{"sub/b_test.go", "sub/a_test.go", "pan/p_test.go", "sub/a.c", "src/lib.rs", "test_m.py"}
		p := Parser{Dir: dir, Exists: func(rel string) bool { return slices.Contains(there, rel) }}
		var got []string
		for _, x := range p.Parse(string(data)) {
			got = append(got, x.String())
		}
		if d := cmp.Diff(want[filepath.Base(f)], got); d != "" {
			t.Errorf("%s (-want +got):\n%s", f, d)
		}
	}
}

// TestForms reads single lines.
func TestForms(t *testing.T) {
	there := []string{"packages/one/src/a.ts", "sub/a.c", "a.go"}
	p := Parser{Dir: "/project", Exists: func(rel string) bool { return slices.Contains(there, rel) }}
	for s, want := range map[string]string{
		"packages/one build: src/a.ts(2,1): error TS2322: no":                                             "packages/one/src/a.ts:2:1: TS2322: no",
		"make[1] : x\nninja: Entering directory `sub'\na.c:1:2: error: no":                                "sub/a.c:1:2: no",
		"make[2]: Verzeichnis „x“\nmake[1]: Verzeichnis '/project/sub' wird betreten\na.c:1:2: error: no": "sub/a.c:1:2: no",
		"[ERROR] /project/A.java:[3,14] cannot find symbol\r":                                             "A.java:3:14: cannot find symbol",
		"F401 [*] `os` imported but unused\n --> a.py:1:8\n  |":                                           "a.py:1:8: F401 `os` imported but unused",
		"a.py:1:8: F401 [*] `os` imported but unused":                                                     "a.py:1:8: F401 [*] `os` imported but unused",
		"a.go:3:2: Error return value is not checked (errcheck)\r\n":                                      "a.go:3:2: Error return value is not checked (errcheck)",
		"C:\\x\\a.go:3:4: no":           "C:\\x\\a.go:3:4: no",
		"\x1b[31m./a.go:3:4: no\x1b[0m": "a.go:3:4: no",
		"/usr/bin/ld: a.o: in function `f':\n/usr/bin/ld: a.c:3: undefined reference to `g'": "a.c:3: undefined reference to `g'",
		"  ● Console\n    at x (a.js:1:2)":                                                   "",
	} {
		got := ""
		for _, x := range p.Parse(s) {
			got += x.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestParseLeavesTheRest reads lines that are about no place in a file.
func TestParseLeavesTheRest(t *testing.T) {
	for _, s := range []string{"", "ok", "2026-01-02 10:11:12: started", "http://localhost:8080: listening",
		"Listening on 127.0.0.1:80: ready", "real 0:01: x", "a.c:3: note: declared here", "-o:3: x", "make: *** [all] Error 1",
		"goroutine 7 [running]:", "\t/usr/local/go/src/testing/testing.go:1934 +0x1c0", "time=12:30: hello"} {
		if got := (Parser{}).Parse(s); len(got) > 0 {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestNews(t *testing.T) {
	p := func(file string, line int, msg string) Problem { return Problem{File: file, Line: line, Message: msg} }
	test := Problem{File: "a_test.go", Line: 9, Message: "T: got 1", Test: "m.T"}
	again := test
	again.Message, again.Line = "T: got 2", 12
	for name, c := range map[string]struct{ before, after, want []Problem }{
		"none before":                    {nil, []Problem{p("a", 1, "x")}, []Problem{p("a", 1, "x")}},
		"moved":                          {[]Problem{p("a", 1, "x")}, []Problem{p("a", 7, "x")}, nil},
		"another line in words":          {[]Problem{p("a", 1, "x at b:3")}, []Problem{p("a", 7, "x at b:4")}, nil},
		"one more":                       {[]Problem{p("a", 5, "x")}, []Problem{p("a", 2, "x"), p("a", 5, "x")}, []Problem{p("a", 2, "x")}},
		"another file":                   {[]Problem{p("a", 1, "x")}, []Problem{p("b", 1, "x")}, []Problem{p("b", 1, "x")}},
		"mended and broken":              {[]Problem{p("a", 1, "no x1")}, []Problem{p("a", 1, "no x2")}, []Problem{p("a", 1, "no x2")}},
		"fewer":                          {[]Problem{p("a", 1, "x"), p("a", 2, "x")}, []Problem{p("a", 2, "x")}, nil},
		"the same test":                  {[]Problem{test}, []Problem{again, again}, nil},
		"a warning that became an error": {[]Problem{{File: "a", Message: "x", Warning: true}}, []Problem{p("a", 0, "x")}, nil},
	} {
		if d := cmp.Diff(c.want, News(c.before, c.after)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// FuzzParse holds that every output is read in time that grows with its length, that what
// was found has a message, and that nothing is new beside itself.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, s string) {
		list := Parser{Dir: "/project"}.Parse(s)
		if slices.ContainsFunc(list, func(p Problem) bool { return p.Message == "" }) {
			t.Errorf("a problem without words: %q", s)
		}
		if n := News(list, list); len(n) > 0 {
			t.Errorf("new beside itself: %v", n)
		}
	})
}
