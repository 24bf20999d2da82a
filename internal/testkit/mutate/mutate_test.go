package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	text := `package a

const outside = 1 + 2

func f(a, b int) error {
	if !ok(a) && a < 3 {
		call()
	}
	defer call()
	a++
	b = a
	x.field, b = a, 0
	x.list[a] -= b
	return err
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := places(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, p.old+" -> "+p.new)
		if changed := string(p.apply()); changed == text || len(changed) != len(text)-len(p.old)+len(p.new) {
			t.Errorf("%+v gives\n%s", p.old, changed)
		}
	}
	want := []string{
		"!ok(a) && a < 3 -> (!ok(a) && a < 3) && false", "!ok(a) && a < 3 -> (!ok(a) && a < 3) || true",
		"&& -> ||", "! -> ", "< -> <=", "3 -> 4", "call() -> ", "defer call() -> ", "++ -> --",
		"x.field, b = a, 0 -> ", "0 -> 1", "x.list[a] -= b -> ", "err -> nil",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestACaseIsReachedWithItsSwitch: a test that does not enter a case meets its condition.
func TestACaseIsReachedWithItsSwitch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	text := `package a

func f(a int) bool {
	switch {
	case a > 1:
		return a > 2
	}
	return false
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := places(file)
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]int
	for _, p := range list {
		got = append(got, [3]int{p.line, p.column, p.reach})
	}
	if d := cmp.Diff([][3]int{{5, 9, 4}, {5, 11, 4}, {6, 12, 6}, {6, 14, 6}}, got); d != "" {
		t.Errorf("line, column, and the line that tests are chosen by (-want +got):\n%s", d)
	}
}

func TestProfile(t *testing.T) {
	l, err := parseProfile("mode: set\nkerf/a/x.go:3.10,5.2 2 1\nkerf/a/x.go:7.1,8.2 1 0\n")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[int]bool{2: false, 3: true, 5: true, 7: false} {
		if got := l.has("/src/a/x.go", line); got != want {
			t.Errorf("line %d is reached: %v", line, got)
		}
	}
	if _, err := parseProfile("mode: set\na:b\n"); err == nil || !strings.Contains(err.Error(), "a:b") {
		t.Errorf("a broken profile: %v", err)
	}
}

func TestTable(t *testing.T) {
	got := table([]sum{{room: "./internal/a", places: 50, covered: 40, noticed: 9, survived: 1, broken: 3}})
	if row := "| internal/a | 50 | 10 | 10 | 9 | 1 | 90 % |\n"; !strings.HasSuffix(got, row) {
		t.Errorf("not %q:\n%s", row, got)
	}
}

// TestProcessesOfATestCount: what only a process reaches that a test starts is reached, and a
// change of it is noticed.
func TestProcessesOfATestCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/a\n\ngo 1.24\n",
		"a.go":   "package a\n\nfunc beside() int {\n\treturn 41 + 1\n}\n",
		"a_test.go": `package a

import (
	"os"
	"os/exec"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("ROLE") != "" {
		os.Exit(beside())
	}
	os.Exit(m.Run())
}

func TestBeside(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ROLE=beside")
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 42 {
		t.Error(cmd.ProcessState)
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	s, err := options{}.room(t.Context(), ".", os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if want := (sum{room: ".", places: 3, covered: 3, noticed: 3}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}
