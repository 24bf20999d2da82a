package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// testCase is one test, how long it takes, and the lines of the room that it reaches.
type testCase struct {
	pkg, dir, name string
	takes          time.Duration
	reaches        lines
}

type testCases []testCase

// tests runs every test that counts once, alone and unchanged.
func (o options) tests(ctx context.Context, room, dir string) (testCases, error) {
	packages := []string{room}
	if o.with != "" {
		packages = append(packages, strings.Split(o.with, ",")...)
	}
	var all testCases
	for _, pkg := range packages {
		where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		in, binary := strings.TrimSpace(string(where)), filepath.Join(dir, fmt.Sprintf("covered%d.test", len(all)))
		text, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover", "-coverpkg", room, "-o", binary, pkg).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("the tests do not compile: %w\n%s", err, tail(text))
		}
		if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
			continue // a package without tests
		}
		names, err := o.names(ctx, in, binary)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			c, err := measure(ctx, dir, binary, testCase{pkg: pkg, dir: in, name: name})
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b testCase) int { return int(a.takes - b.takes) })
	return all, nil
}

func (o options) names(ctx context.Context, in, binary string) ([]string, error) {
	pattern := o.run
	if pattern == "" {
		pattern = "."
	}
	list := exec.CommandContext(ctx, binary, "-test.list", pattern)
	list.Dir = in
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list of tests: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool {
		return strings.HasPrefix(name, "Benchmark")
	}), nil
}

// measure runs one test. Processes of the test program that it starts leave what they reach in
// a directory of their own, unless they are killed.
func measure(ctx context.Context, dir, binary string, c testCase) (testCase, error) {
	profile, reached := filepath.Join(dir, "profile"), filepath.Join(dir, "reached")
	if err := errors.Join(os.RemoveAll(reached), os.Mkdir(reached, 0o700)); err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^"+c.name+"$", "-test.coverprofile", profile)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+reached)
	began := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return c, fmt.Errorf("%s fails without a change: %w\n%s", c.name, err, tail(text))
	}
	c.takes = time.Since(began)
	text, err := os.ReadFile(profile)
	if err != nil {
		return c, err
	}
	if of, _ := filepath.Glob(filepath.Join(reached, "covcounters.*")); len(of) > 0 {
		if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+reached, "-o="+profile).CombinedOutput(); err != nil {
			return c, fmt.Errorf("%s: what its processes reach: %w\n%s", c.name, err, tail(out))
		}
		more, err := os.ReadFile(profile)
		if err != nil {
			return c, err
		}
		text = append(text, more...)
	}
	c.reaches, err = parseProfile(string(text))
	return c, err
}

// of are the tests that reach the line of a place.
func (all testCases) of(p place) testCases {
	return slices.DeleteFunc(slices.Clone(all), func(c testCase) bool { return !c.reaches.has(p.file, p.reach) })
}

// batch is what runs in one process, with the time it may take.
func (all testCases) batch() (first, rest testCases, limit time.Duration) {
	const quick = 2 * time.Second
	n := 0
	for took := time.Duration(0); n < len(all) && all[n].pkg == all[0].pkg && (n == 0 || took+all[n].takes < quick); n++ {
		took += all[n].takes
	}
	for _, c := range all[:n] {
		limit += 3 * c.takes
	}
	return all[:n], all[n:], limit + 20*time.Second
}

type verdict int

const (
	survived verdict = iota
	noticed
	broken
)

// try runs the tests with one change.
func try(ctx context.Context, dir string, p place, tests testCases) (verdict, error) {
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
	compiled := map[string]string{}
	for len(tests) > 0 {
		now, rest, limit := tests.batch()
		tests = rest
		pkg := now[0].pkg
		if compiled[pkg] == "" {
			compiled[pkg] = filepath.Join(dir, fmt.Sprintf("changed%d.test", len(compiled)))
			out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", compiled[pkg], pkg).CombinedOutput()
			switch {
			case ctx.Err() != nil:
				return 0, ctx.Err()
			case err != nil && len(out) == 0:
				return 0, err
			case err != nil:
				return broken, nil
			}
		}
		if seen, err := now.run(ctx, compiled[pkg], limit); seen || err != nil {
			return noticed, err
		}
	}
	return survived, nil
}

// run tells whether one of the tests fails.
func (all testCases) run(ctx context.Context, binary string, limit time.Duration) (bool, error) {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	within, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(within, binary, "-test.failfast", "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.WaitDelay = all[0].dir, 5*time.Second
	_, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err == nil:
		return false, nil
	case errors.As(err, &exit), within.Err() != nil:
		return true, nil
	}
	return false, err
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
