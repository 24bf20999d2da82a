package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/fleet/desk"
	"kerf/fleet/task"
)

// asked is a task on the command line.
type asked struct {
	task     task.Task
	scenario string
	wait     bool
}

func (a *asked) add(p *pflag.FlagSet) {
	t := &a.task
	p.StringVar(&t.ID, "id", "", "the task's `name`; sent twice it runs once (default: made up)")
	p.StringVar(&t.Repository, "repo", "", "the repository: a `URL`, or a path on the workers")
	p.StringVar(&t.Revision, "rev", "", "`revision` to begin with (default: the repository's own branch)")
	p.StringVarP(&t.Settings.Model, "model", "m", "", "the `model` to ask")
	p.StringVar(&t.Settings.Effort, "effort", "", "how long the model thinks, as of kerf: low, medium, high (`word`)")
	p.StringVarP(&t.Settings.Sandbox, "sandbox", "s", "", "read-only or workspace-write (`mode`, default workspace-write)")
	p.StringVarP(&t.Settings.Approval, "ask-for-approval", "a", "", "untrusted, on-request or never (`policy`, default on-request)")
	p.StringArrayVar(&t.Checks, "check", nil, "`command` that must succeed on the final files; may be repeated")
	p.IntVar(&t.Attempts, "attempts", 0, "how often the model may work until the checks pass (`n`, default 1)")
	p.IntVar(&t.Priority, "priority", 0, "1 (first) to 5 (`n`, default 3)")
	p.StringSliceVar(&t.Needs, "needs", nil, "`tags` that a worker must have, as in os=linux,gpu")
	p.DurationVar(&t.Limits.Time, "time-limit", 0, "end a run after this `time` (default 1h)")
	p.DurationVar(&t.Limits.Answer, "answer-limit", 0, "count a question as refused after this `time` (default 1h)")
	p.IntVar(&t.Limits.Tokens, "token-limit", 0, "end the session after `n` tokens (default no bound)")
	p.StringVar(&a.scenario, "scenario", "", "`file` that a scripted model plays instead of a real one")
}

// finish fills in what the command line leaves out.
func (a *asked) finish(c *cobra.Command, d desk.Desk, prompt []string) (err error) {
	if a.task.ID == "" {
		a.task.ID = "t-" + strings.ToLower(rand.Text()[:10])
	}
	if a.task.Prompt = strings.Join(prompt, " "); a.task.Prompt == "-" {
		data, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
		if err != nil {
			return err
		}
		a.task.Prompt = string(data)
	}
	if a.task.Repository, err = repository(a.task.Repository); err != nil {
		return err
	}
	if a.scenario != "" {
		data, err := os.ReadFile(a.scenario)
		if err != nil {
			return usage("%v", err)
		}
		if !json.Valid(data) {
			return usage("%s is no JSON; see kerf script check", a.scenario)
		}
		if a.task.Scenario, err = d.Store.Put(c.Context(), data); err != nil {
			return err
		}
	}
	return nil
}

// repository is one as workers know it: a path is absolute, a URL as it is.
func repository(r string) (string, error) {
	if r == "" || strings.Contains(r, ":") {
		return r, nil
	}
	return filepath.Abs(r)
}

func (f *flags) submit() *cobra.Command {
	a := &asked{}
	c := &cobra.Command{
		Use:   "submit --repo REPOSITORY PROMPT | -",
		Short: "Give a task to the fleet",
		Long:  "Gives a task to the fleet and prints its name. With - the prompt is read from standard input.",
		Example: `  kerf-fleet submit --repo https://example.org/x.git --check "make test" "fix the flaky test"
  kerf-fleet submit --repo . --scenario run.json --wait "play it"`,
		Args: args(1, -1, "a prompt, or -"),
	}
	a.add(c.Flags())
	c.Flags().BoolVar(&a.wait, "wait", false, "wait for the end; the exit code is 0 only if the task is done")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			if err := a.finish(c, d, words); err != nil {
				return err
			}
			check := a.task
			if err := check.Check(); err != nil {
				return usage("%v", err)
			}
			if err := d.Submit(c.Context(), a.task); err != nil {
				return err
			}
			if a.wait {
				return f.waited(c, d, a.task.ID)
			}
			if f.json {
				return printJSON(c, map[string]string{"task": a.task.ID})
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), a.task.ID)
			return err
		})
	}
	return c
}

// waited waits for a task, or a map, and tells its end.
func (f *flags) waited(c *cobra.Command, d desk.Desk, id string) error {
	if many, err := d.IsMap(c.Context(), id); err == nil && many {
		return f.waitedMap(c, d, id)
	}
	r, err := d.Wait(c.Context(), id)
	if err != nil {
		return err
	}
	if err = f.tellResult(c, r); err == nil && r.Outcome != task.Done {
		err = errTold
	}
	return err
}

func (f *flags) waitedMap(c *cobra.Command, d desk.Desk, id string) error {
	m, err := d.WaitMap(c.Context(), id)
	if err != nil {
		return err
	}
	if err = f.tellMap(c, m); err == nil && m.Counts[task.Done] != m.Total {
		err = errTold
	}
	return err
}

func (f *flags) mapping() *cobra.Command {
	a := &asked{}
	var over overs
	var parallel, part int
	c := &cobra.Command{
		Use:   "map (--repos LIST | --paths LIST | --rows FILE) PROMPT",
		Short: "Give one prompt to many repositories, paths or rows",
		Long: `Makes one task for each repository, for each path, or for each row of a file. A row is a line of JSON:

  {"repository": "https://example.org/x.git", "revision": "main", "values": {"NAME": "word"}}

In the prompt {NAME} stands for the value of the row, and {PATH} for the path. The tasks are named MAP-00000,
MAP-00001 and so on.`,
		Example: `  kerf-fleet map --repos a.git,b.git --parallel 10 "update the copyright year"
  kerf-fleet map --repo . --paths cmd/a,cmd/b "add tests to {PATH}"
  kerf-fleet map --rows rows.jsonl --repo . "translate {FILE} into {LANGUAGE}"`,
		Args: args(1, -1, "a prompt"),
	}
	a.add(c.Flags())
	c.Flags().StringSliceVar(&over.repos, "repos", nil, "`repositories`, one task each")
	c.Flags().StringSliceVar(&over.paths, "paths", nil, "`paths` in the repository of --repo, one task each")
	c.Flags().StringVar(&over.rows, "rows", "", "`file` of rows; - is standard input")
	c.Flags().IntVar(&parallel, "parallel", 20, "how many tasks at a time (`n`)")
	c.Flags().IntVar(&part, "part", task.PartMost, "go on as a new run of the engine after `n` tasks, when those that run are over")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			all, err := over.read(c)
			if err == nil {
				err = a.finish(c, d, words)
			}
			if err != nil {
				return err
			}
			if parallel < 1 || parallel > 1000 {
				return usage("--parallel %d: use 1 to 1000", parallel)
			}
			if part < 1 || part > task.PartMost {
				return usage("--part %d: use 1 to %d", part, task.PartMost)
			}
			if !c.Flags().Changed("id") {
				a.task.ID = "m" + a.task.ID[1:]
			}
			m := task.Map{ID: a.task.ID, Task: a.task, Parallel: parallel, Part: part}
			if err = d.SubmitMap(c.Context(), m, all); err != nil {
				return err
			}
			if f.json {
				return printJSON(c, map[string]any{"map": m.ID, "tasks": len(all)})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d tasks\n", m.ID, len(all))
			return err
		})
	}
	return c
}

// rowsMost bounds a map.
const rowsMost = 100_000

// overs is what a map has one task for each of.
type overs struct {
	repos, paths []string
	rows         string // a file, or -
}

func (o overs) read(c *cobra.Command) (rows []task.Row, err error) {
	kinds := 0
	for _, given := range []bool{len(o.repos) > 0, len(o.paths) > 0, o.rows != ""} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, usage("map takes either --repos, --paths or --rows")
	}
	for _, r := range o.repos {
		if r, err = repository(r); err != nil {
			return nil, err
		}
		rows = append(rows, task.Row{Repository: r})
	}
	for _, p := range o.paths {
		rows = append(rows, task.Row{Values: map[string]string{"PATH": p}})
	}
	if o.rows == "" {
		return rows, nil
	}
	return readRows(c, o.rows)
}

// readRows reads the rows of a file.
func readRows(c *cobra.Command, file string) (rows []task.Row, err error) {
	in := c.InOrStdin()
	if file != "-" {
		open, err := os.Open(file)
		if err != nil {
			return nil, usage("%v", err)
		}
		defer open.Close()
		in = open
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r task.Row
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			return nil, usage("%s:%d: %v", file, n, err)
		}
		if rows = append(rows, r); len(rows) > rowsMost {
			return nil, usage("%s has more than %d rows", file, rowsMost)
		}
	}
	return rows, lines.Err()
}
