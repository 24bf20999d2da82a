// Package checking makes the configured checks ready to run.
package checking

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/checked"
	"kerf/internal/agent/executor/outputlog"
	"kerf/internal/agent/session"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
	"kerf/internal/work/check"
	"kerf/internal/work/check/treehash"
)

// most bounds how many files a state is made of.
const most = 500_000

// Around puts the configured checks around an executor that was made with o. In a project
// that is not trusted no check runs: its files would say what happens. Told says so.
func Around(exec *executor.Executor, o executor.Options, roots []string, c *config.Config,
	trusted bool) (x session.Executor, told []string) {
	if o.Work == nil || o.Lender != nil { // the turn of a sub-agent's parent has them
		return exec, nil
	}
	list := List(c)
	switch {
	case len(list) == 0:
		return checked.NewGoals(exec, options(o, roots, nil)), nil
	case !trusted:
		return checked.NewGoals(exec, options(o, roots, nil)),
			[]string{fmt.Sprintf("checks that do not run, as the project is not trusted: %d", len(list))}
	}
	return New(exec, o, roots, list), nil
}

// Again runs the configured checks of a moment on the files as they are.
func Again(ctx context.Context, exec *executor.Executor, o executor.Options, c *config.Config, trusted bool,
	set protocol.Settings, m check.Moment) ([]check.Report, error) {
	list := List(c)
	switch {
	case m.Only != "": // the user's own command
	case len(list) == 0:
		return nil, errors.New("no checks are configured; see kerf help checks")
	case !trusted:
		return nil, errors.New("the project is not trusted, so its checks do not run; see kerf trust")
	}
	if m.Show != nil {
		live := redact.NewWriter(o.Redact, m.Show)
		defer live.Close()
		m.Show = live.Write
	}
	return New(exec, o, []string{o.Cwd}, list).Again(ctx, set, m), nil
}

// At is the moment of a name; ok is false when there is none.
func At(name string) (m check.Moment, ok bool) {
	switch when := check.When(name); when {
	case "", check.Edit, check.Turn, check.Keep, check.Commit:
		return check.Moment{When: when}, true
	}
	return check.Moment{}, false
}

// Own is the moment of a command of the user's own, which nothing configures; it may decide about
// one of several attempts.
func Own(command string, attempt bool) check.Moment {
	m := check.Moment{Only: strings.TrimSpace(command)}
	if attempt {
		m.When = check.Attempt
	}
	return m
}

// Pasts are what the checks of some reports said, as a moment takes it.
func Pasts(list []check.Report) map[string]check.Past { return check.Pasts(list) }

// Any reports whether there is a check for a moment.
func Any(c *config.Config, when string) bool {
	return slices.ContainsFunc(List(c), func(k check.Check) bool { return k.Wants(check.When(when)) })
}

// New puts checks around an executor that was made with o.
func New(exec *executor.Executor, o executor.Options, roots []string, list []check.Check) *checked.Executor {
	return checked.New(exec, options(o, roots, list))
}

func options(o executor.Options, roots []string, list []check.Check) checked.Options {
	dir := o.Cwd
	if real, err := filepath.EvalSymlinks(dir); err == nil { // as changes name their paths
		dir = real
	}
	return checked.Options{Checks: list, Dir: dir, Roots: roots, List: Lister(o), Ledger: o.Work.Ledger, Origin: o.Origin,
		Outputs: &outputlog.Store{Keep: o.Keep, Images: o.Images, Redact: o.Redact}}
}

// Lister lists the files whose state a verdict is about: all that git does not ignore.
func Lister(o executor.Options) treehash.Lister {
	return func(ctx context.Context, root string) ([]string, bool, error) {
		return o.Search.Glob(ctx, root, "**", most)
	}
}

// List are the configured checks.
func List(c *config.Config) []check.Check {
	list := make([]check.Check, len(c.Checks))
	for i, k := range c.Checks {
		list[i] = check.Check{Name: k.Name, Command: k.Command, Timeout: k.Timeout, Gate: check.Gate(k.Gate), Writes: k.Writes}
		for _, w := range k.When {
			list[i].When = append(list[i].When, check.When(w))
		}
		for _, glob := range k.Paths {
			list[i].Paths = append(list[i].Paths, filepath.ToSlash(glob))
		}
	}
	return list
}
