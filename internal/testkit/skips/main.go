// Command skips runs go test with the arguments that it is given, prints what go test
// prints, and then each skipped test with its reason.
//
//	go run ./internal/testkit/skips [-new fail] [-again N] [-keep FILE] [-from FILE] [-- arguments of go test]
//
// What failed stands at the end once more. With -again N, or KERF_TESTS_AGAIN=N, up to N tests that
// failed run a second time, each alone; see settle.
//
// What root skipped because root may do everything runs again as an ordinary user.
//
// A reason that known.txt does not have, or that this machine gives no ground for, is
// marked "new": a backend that works here and was not used, for one. With -new fail, or
// KERF_NEW_SKIPS=fail in the environment, one of them fails the run; a sandbox that does not
// work here is then no ground either, unless KERF_WITHOUT names it: userns, bwrap, landlock.
//
// In CI on Linux (CI is set, and not "false") -new is "fail", and a program that is missing is no
// ground either, unless KERF_WITHOUT names it: what judges the others' results may not be left out
// unseen.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	var o options
	fresh := os.Getenv("KERF_NEW_SKIPS")
	if fresh == "" && inCI() {
		fresh = "fail"
	}
	flag.StringVar(&o.fresh, "new", fresh, `"fail" fails the run for a skip that is not known`)
	flag.StringVar(&o.keep, "keep", "", "also write what go test -json says into this file")
	flag.StringVar(&o.from, "from", "", "read this file, as -keep writes it, and run nothing")
	flag.IntVar(&o.again, "again", number(os.Getenv("KERF_TESTS_AGAIN")), "run up to so many failed tests once more, each alone")
	flag.Parse()
	code, err := o.run(os.Stdout, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// number returns what text holds, 0 where it is no number.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

type options struct {
	fresh, keep, from string
	again             int
}

// run returns the exit code.
func (o options) run(w io.Writer, args []string) (int, error) {
	known, err := readKnown(knownText)
	if err != nil {
		return 0, err
	}
	r := newReader(w)
	code, other := 0, 0
	if o.from != "" {
		f, err := os.Open(o.from)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if err := r.read(f); err != nil {
			return 0, err
		}
	} else if code, err = o.test(r, args); err != nil {
		return 0, err
	}
	if o.from == "" && os.Getuid() == 0 && runtime.GOOS == "linux" {
		if err := asUser(w, r.forUsers(known)); err != nil {
			fmt.Fprintln(w, err)
			other = 1
		}
	}
	if fresh := r.tell(known, o.machine(known)); fresh > 0 && o.fresh == "fail" {
		other = 1
	}
	return max(r.settle(code, o.again), other), nil
}

// machine is what answers for this machine. Where a new skip fails the run, every sandbox is
// expected to work: that one does not is a fault, not a ground, unless KERF_WITHOUT names it. So is
// in CI that a program is missing, but for those that a rule takes where they are.
func (o options) machine(rules []rule) machine {
	m := machine{}
	if o.fresh != "fail" {
		return m
	}
	without := strings.Fields(os.Getenv("KERF_WITHOUT"))
	for _, name := range []string{"userns", "bwrap", "landlock"} {
		if !slices.Contains(without, name) {
			m["no"+name] = false
		}
	}
	if !inCI() {
		return m
	}
	for _, r := range rules {
		for _, g := range r.grounds {
			if program, ok := strings.CutPrefix(g, "without:"); ok && !slices.Contains(without, program) {
				m[g] = false
			}
		}
	}
	return m
}

// inCI reports whether programs that tests use are there, as .ci/tools sees to it.
func inCI() bool {
	ci := os.Getenv("CI")
	return runtime.GOOS == "linux" && ci != "" && ci != "false"
}

// test runs go test.
func (o options) test(r *reader, args []string) (int, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var in io.Reader = out
	if o.keep != "" {
		f, err := os.Create(o.keep)
		if err != nil {
			return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		defer f.Close()
		in = io.TeeReader(out, f)
	}
	if err := r.read(in); err != nil {
		return 0, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of what did not build
}

// skip is a test that was skipped.
type skip struct{ pkg, test, reason string }

// reader prints what go test prints without -v, and collects the skipped tests.
type reader struct {
	w     io.Writer
	held  map[string]map[string][]string // lines of tests that have not ended, by package
	skips []skip

	failures []failure
	broken   []string                          // packages that failed as a whole
	alone    func(w io.Writer, f failure) bool // runs a failed test again
}

func newReader(w io.Writer) *reader {
	return &reader{w: w, held: map[string]map[string][]string{}, alone: testAlone}
}

func (r *reader) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(r.w, line) // go itself, of what does not build
			} else {
				r.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *reader) take(e event) {
	held := r.held[e.Package]
	if held == nil {
		held = map[string][]string{}
		r.held[e.Package] = held
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "output":
		held[e.Test] = append(held[e.Test], e.Output)
	case "skip":
		if e.Test != "" {
			r.skips = append(r.skips, skip{e.Package, e.Test, reason(held[e.Test])})
		}
		fallthrough
	case "pass":
		if e.Test == "" {
			r.result(held[""])
			delete(r.held, e.Package)
			return
		}
		delete(held, e.Test)
	case "fail":
		if e.Test == "" { // tests that never ended, as after a panic, say why
			_, lines := held[""]
			r.failsWhole(e.Package, len(held)-map[bool]int{true: 1}[lines])
			for _, test := range slices.Sorted(maps.Keys(held)) {
				fmt.Fprint(r.w, strings.Join(held[test], ""))
			}
			delete(r.held, e.Package)
			return
		}
		said := strings.Join(held[e.Test], "")
		r.fails(e.Package, e.Test, said)
		fmt.Fprint(r.w, said)
		delete(held, e.Test)
	}
}

// result prints the line of a package.
func (r *reader) result(lines []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "ok ") || strings.HasPrefix(l, "? ") || strings.Contains(l, "warning") {
			fmt.Fprint(r.w, l)
		}
	}
}

// inStory is the line of a story that skips it, which is the last of what the story ran.
var inStory = regexp.MustCompile(` > (?:\[[^\]]*\] )*skip '([^']*)'$`)

// reason is what a test said last before it was skipped, less the place in the code. A story tells
// all that it ran.
func reason(lines []string) string {
	said := ""
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "=== ") || strings.HasPrefix(l, "--- ") {
			continue
		}
		if place, rest, ok := strings.Cut(l, ".go:"); ok && !strings.Contains(place, " ") {
			if _, text, ok := strings.Cut(rest, ": "); ok {
				said = text
				continue
			}
		}
		said += " " + l
	}
	if m := inStory.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return strings.TrimSpace(said)
}
