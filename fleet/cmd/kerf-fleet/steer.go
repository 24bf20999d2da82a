package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kerf/fleet/bundle"
	"kerf/fleet/desk"
	"kerf/fleet/task"
	"kerf/internal/text/visible"
)

func (f *flags) approve() *cobra.Command {
	var no bool
	var words string
	c := &cobra.Command{
		Use: "approve TASK QUESTION", Short: "Answer a question of a task", Args: args(2, 2, "a task and the name of its question"),
		Long: `Answers yes to a question that kerf-fleet show lists; --no refuses. Exactly what was shown under this name is
allowed, once.`,
		Example: "  kerf-fleet approve t-abc k3jx7q2m\n  kerf-fleet approve t-abc k3jx7q2m --no --words \"use the mirror\"",
	}
	c.Flags().BoolVar(&no, "no", false, "refuse")
	c.Flags().StringVar(&words, "words", "", "`text` that the model is told with a no, or the answer to its question")
	c.RunE = func(c *cobra.Command, names []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			a := task.Answer{Question: names[1], Yes: !no, Words: words, By: os.Getenv("USER")}
			if err := d.Answer(c.Context(), names[0], a); err != nil {
				return err
			}
			return f.said(c, names[0], "answered")
		})
	}
	return c
}

// said tells that something was done.
func (f *flags) said(c *cobra.Command, id, what string) error {
	if f.json {
		return printJSON(c, map[string]string{"task": id, "did": what})
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", id, what)
	return err
}

func (f *flags) steer() *cobra.Command {
	return &cobra.Command{
		Use: "steer TASK TEXT", Short: "Tell a running session something", Args: args(2, -1, "a task and a text"),
		RunE: func(c *cobra.Command, words []string) error {
			return f.with(c.Context(), func(d desk.Desk) error {
				if err := d.Steer(c.Context(), words[0], strings.Join(words[1:], " ")); err != nil {
					return err
				}
				return f.said(c, words[0], "told")
			})
		},
	}
}

func (f *flags) cancel() *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use: "cancel TASK ...", Short: "End tasks, or a map with its tasks", Args: args(1, -1, "names of tasks"),
		Long: "Ends tasks: running commands end, nothing is left on the worker. What was done until then is in the record.",
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait until they have ended")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			var all []error // a name that is wrong keeps no other task at work
			for _, id := range words {
				err := f.cancelled(c, d, id, wait)
				if err == nil {
					err = f.said(c, id, "cancelled")
				}
				all = append(all, err)
			}
			return errors.Join(all...)
		})
	}
	return c
}

// cancelled cancels a task or a map. One that came to another end before is an error.
func (f *flags) cancelled(c *cobra.Command, d desk.Desk, id string, wait bool) error {
	if err := d.Cancel(c.Context(), id); err != nil || !wait {
		return err
	}
	r, err := d.Wait(c.Context(), id)
	if err == nil && r.Outcome != task.Cancelled {
		err = fmt.Errorf("%s is over already: %s", id, r.Outcome)
	}
	return err
}

func (f *flags) retry() *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use: "retry TASK", Short: "Begin an ended task again, under a new name", Args: args(1, 1, "the name of a task"),
		Long: "Begins a task again that is over: the same prompt on the same revision, from the beginning. Its name is TASK-2, -3 and so on.",
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the end; the exit code is 0 only if the task is done")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			s, err := d.State(c.Context(), words[0])
			if err != nil {
				return err
			}
			if !s.Phase.Over() {
				return fmt.Errorf("task %s is %s; only what is over can be begun again", words[0], s.Phase)
			}
			t := s.Task
			if err = d.Again(c.Context(), &t); err != nil {
				return err
			}
			if wait {
				return f.waited(c, d, t.ID)
			}
			return f.said(c, t.ID, "begun")
		})
	}
	return c
}

func (f *flags) apply() *cobra.Command {
	a := desk.Applying{}
	c := &cobra.Command{
		Use: "apply TASK ...", Short: "Merge results into this checkout, or commit them to a branch",
		Long: `Merges the results of tasks in their order: all of them or none. The report is that of kerf apply; kerf undo
takes the changes back. With --branch each task becomes a commit of its own, and no file of the
checkout changes; --open-pr pushes the branch and opens a request with gh or glab.`,
		Example: "  kerf-fleet apply t-abc t-def\n  kerf-fleet apply --branch fleet t-abc",
		Args:    args(1, -1, "names of tasks"),
	}
	var unchecked, pr bool
	c.Flags().StringVarP(&a.Dir, "cd", "C", ".", "the `directory` of the checkout")
	c.Flags().StringVar(&a.Branch, "branch", "", "commit to this `branch` instead")
	c.Flags().StringVar(&a.Kerf, "kerf", "kerf", "the `program` that merges")
	c.Flags().BoolVar(&a.DryRun, "dry-run", false, "print the diff; change nothing")
	c.Flags().BoolVar(&unchecked, "unchecked", false, "also results whose checks failed, or that ended early")
	c.Flags().BoolVar(&pr, "open-pr", false, "push the branch and open a request, with gh or glab")
	c.RunE = func(c *cobra.Command, words []string) error {
		if pr && a.Branch == "" {
			return usage("--open-pr needs --branch")
		}
		return f.with(c.Context(), func(d desk.Desk) error {
			all, err := results(c, d, words, unchecked)
			if err != nil {
				return err
			}
			done, err := d.Apply(c.Context(), a, all)
			if err != nil {
				return err
			}
			if pr && !a.DryRun {
				if err = openRequest(c, a, done); err != nil {
					return err
				}
			}
			return f.tellApplied(c, a, done)
		})
	}
	return c
}

func results(c *cobra.Command, d desk.Desk, ids []string, unchecked bool) (all []bundle.Bundle, err error) {
	for _, id := range ids {
		r, err := d.Ended(c.Context(), id)
		if err != nil {
			return nil, err
		}
		if r.Outcome != task.Done && !unchecked {
			return nil, fmt.Errorf("task %s is not done but %s; --unchecked takes it all the same", id, r.Outcome)
		}
		if r.Bundle == "" {
			return nil, fmt.Errorf("task %s has no result: %s", id, r.Problem)
		}
		b, err := d.Bundle(c.Context(), r.Bundle)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

func (f *flags) tellApplied(c *cobra.Command, a desk.Applying, done desk.Applied) error {
	out := c.OutOrStdout()
	switch {
	case f.json:
		return printJSON(c, done)
	case a.DryRun:
		_, err := fmt.Fprint(out, visible.String(done.Diff))
		return err
	case done.Commit != "":
		_, err := fmt.Fprintf(out, "%s: %d tasks, now at %.12s\n", a.Branch, len(done.Tasks), done.Commit)
		return err
	}
	_, err := fmt.Fprintf(out, "merged %s; kerf undo takes it back\n", strings.Join(done.Tasks, ", "))
	return err
}
