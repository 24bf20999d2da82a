// Command mutate changes the code of a package in small ways, one at a time, and tells
// which of the changes its tests notice.
//
//	go run ./internal/testkit/mutate [flags] ./internal/work/txn ...
//
// Each change is compiled through go's -overlay, so no file of the checkout is touched.
// Of all places whose lines the tests reach, -n are drawn with -seed; the same seed and
// the same code give the same draw. A change that does not compile does not count. One
// that makes the tests run out of time counts as noticed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.draws, "n", 60, "how many places of each package are tried; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "what the draw begins with")
	flag.IntVar(&o.least, "least", 0, "the share of noticed changes, in percent, below which it fails")
	flag.StringVar(&o.with, "with", "", "further packages whose tests count, separated by commas")
	flag.StringVar(&o.run, "run", "", "only these tests, as for go test")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "mutate: name at least one package, such as ./internal/work/txn")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	low := false
	for _, room := range flag.Args() {
		s, err := o.room(ctx, room, os.Stdout)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: %s: %v\n", room, err)
			stop()
			os.Exit(1)
		}
		fmt.Println(s)
		low = low || s.share() < o.least
	}
	if low {
		fmt.Fprintf(os.Stderr, "mutate: below %d %%\n", o.least)
		stop()
		os.Exit(1)
	}
}

type options struct {
	draws     int
	seed      uint64
	least     int
	with, run string
}

// sum is what came of one package.
type sum struct {
	room                      string
	places, covered           int // that could be changed; of these, in lines that tests reach
	noticed, survived, broken int
}

func (s sum) share() int { return 100 * s.noticed / max(s.noticed+s.survived, 1) }

func (s sum) String() string {
	return fmt.Sprintf("%s: %d of %d noticed (%d %%); %d places, %d in lines that tests reach; %d did not compile",
		s.room, s.noticed, s.noticed+s.survived, s.share(), s.places, s.covered, s.broken)
}

// room tries the changes of one package and writes those that nobody noticed.
func (o options) room(ctx context.Context, room string, out io.Writer) (sum, error) {
	s := sum{room: room}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	files, err := sources(ctx, room)
	if err != nil {
		return s, err
	}
	began := time.Now()
	reached, err := o.reached(ctx, room, dir)
	if err != nil {
		return s, err
	}
	limit := 3*time.Since(began) + 20*time.Second
	var all []place
	for _, f := range files {
		list, err := places(f)
		if err != nil {
			return s, err
		}
		s.places += len(list)
		for _, p := range list {
			if reached.has(f, p.line) {
				all = append(all, p)
			}
		}
	}
	s.covered = len(all)
	r := rand.New(rand.NewPCG(o.seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all {
		if o.draws > 0 && s.noticed+s.survived >= o.draws {
			break
		}
		verdict, err := o.try(ctx, room, dir, p, limit)
		switch {
		case err != nil:
			return s, err
		case verdict == broken:
			s.broken++
		case verdict == noticed:
			s.noticed++
		default:
			s.survived++
			fmt.Fprintf(out, "survived  %s:%d  %s -> %s\n", short(p.file), p.line, oneLine(p.old), oneLine(p.new))
		}
	}
	return s, nil
}

// sources are the files of a package on this system, without its tests.
func sources(ctx context.Context, room string) ([]string, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles", room).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	for i, f := range p.GoFiles {
		p.GoFiles[i] = filepath.Join(p.Dir, f)
	}
	return p.GoFiles, nil
}

// tests are the arguments that name what is run.
func (o options) tests(room string) []string {
	args := []string{room}
	if o.with != "" {
		args = append(args, strings.Split(o.with, ",")...)
	}
	if o.run != "" {
		args = append(args, "-run", o.run)
	}
	return args
}

// reached runs the tests once, unchanged, and tells which lines they reach.
func (o options) reached(ctx context.Context, room, dir string) (lines, error) {
	profile := filepath.Join(dir, "cover")
	args := append([]string{"test", "-count=1", "-vet=off", "-coverprofile", profile, "-coverpkg", room}, o.tests(room)...)
	if text, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests fail without a change: %w\n%s", err, tail(text))
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return parseProfile(string(text))
}

type verdict int

const (
	survived verdict = iota
	noticed
	broken
)

// try runs the tests with one change.
func (o options) try(ctx context.Context, room, dir string, p place, limit time.Duration) (verdict, error) {
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, p.apply(), 0o600); err != nil {
		return 0, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {p.file: changed}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return 0, err
	}
	within, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	args := append([]string{"test", "-count=1", "-vet=off", "-failfast", "-overlay", overlay, "-timeout", limit.String()},
		o.tests(room)...)
	text, err = exec.CommandContext(within, "go", args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return survived, nil
	case strings.Contains(string(text), "[build failed]") || strings.Contains(string(text), "[setup failed]"):
		return broken, nil
	case errors.As(err, &exit), within.Err() != nil:
		return noticed, nil
	}
	return 0, err
}

func tail(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func oneLine(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return strings.Join(strings.Fields(s), " ")
}

func short(path string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil {
			return rel
		}
	}
	return path
}

// lines are the lines that tests reach, by the name of the file in its package.
type lines map[string][][2]int

// has compares the last parts of the path: a profile names files by import path.
func (l lines) has(file string, line int) bool {
	for name, spans := range l {
		if filepath.Base(name) == filepath.Base(file) {
			return slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] <= line && line <= s[1] })
		}
	}
	return false
}

// parseProfile reads the lines `file:line.col,line.col statements count` of a profile.
func parseProfile(text string) (lines, error) {
	l := lines{}
	for row := range strings.Lines(text) {
		i := strings.LastIndexByte(row, ':')
		if i < 0 || strings.HasPrefix(row, "mode:") {
			continue
		}
		var from, fromCol, to, toCol, statements, count int
		if _, err := fmt.Sscanf(row[i+1:], "%d.%d,%d.%d %d %d", &from, &fromCol, &to, &toCol, &statements, &count); err != nil {
			return nil, fmt.Errorf("profile line %q: %w", strings.TrimSpace(row), err)
		}
		if count > 0 {
			l[row[:i]] = append(l[row[:i]], [2]int{from, to})
		}
	}
	return l, nil
}
