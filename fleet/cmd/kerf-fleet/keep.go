package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kerf/fleet/capacity"
	"kerf/fleet/desk"
	"kerf/fleet/engine"
)

func (f *flags) gc() *cobra.Command {
	var age time.Duration
	var dry bool
	c := &cobra.Command{Use: "gc", Short: "Remove old tasks from the store", Args: args(0, 0, "no words"),
		Long: "Removes what the store has of tasks that ended long ago, and contents that nothing names. The engine keeps its own histories by the namespace's retention."}
	c.Flags().DurationVar(&age, "older", engine.Kept, "only what is older than this `time`")
	c.Flags().BoolVar(&dry, "dry-run", false, "only count")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if age < desk.SweepLeast {
			return usage("--older %s: use at least %s, so that nothing goes that is being written", age, desk.SweepLeast)
		}
		return f.with(c.Context(), func(d desk.Desk) error {
			s, err := d.Sweep(c.Context(), age, dry)
			if err != nil {
				return err
			}
			if f.json {
				return printJSON(c, s)
			}
			verb := "removed"
			if dry {
				verb = "would remove"
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s %d tasks, %d contents, %d bytes\n", verb, s.Tasks, s.Objects, s.Bytes)
			return err
		})
	}
	return c
}

func (f *flags) capacity() *cobra.Command {
	p := capacity.Measured()
	c := &cobra.Command{Use: "capacity", Short: "Work out what a fleet needs", Args: args(0, 0, "no words"),
		Long: `Works out, from what one task costs, what a fleet of a size needs of its engine, its store and its
network, and plays one day to find how long tasks wait. Flags change what a task costs; measure yours
with kerf-fleet result and the engine's own pages.`}
	c.Flags().IntVar(&p.Workers, "workers", p.Workers, "machines (`n`)")
	c.Flags().IntVar(&p.Slots, "slots", p.Slots, "tasks at a time on each (`n`)")
	c.Flags().IntVar(&p.Tasks, "tasks", p.Tasks, "tasks a day (`n`)")
	c.Flags().DurationVar(&p.Work, "work", p.Work, "how long a task works, in the middle (`time`)")
	c.Flags().IntVar(&p.Events, "events", p.Events, "events in the history of a task (`n`)")
	c.Flags().IntVar(&p.EventBytes, "event-bytes", p.EventBytes, "size of an event (`bytes`)")
	c.Flags().IntVar(&p.StoreBytes, "store-bytes", p.StoreBytes, "what a task leaves in the store (`bytes`)")
	c.Flags().IntVar(&p.CloneBytes, "clone-bytes", p.CloneBytes, "what a first clone moves (`bytes`)")
	c.Flags().IntVar(&p.Repositories, "repositories", p.Repositories, "repositories (`n`)")
	c.Flags().Float64Var(&p.Peak, "peak", p.Peak, "how much busier the busiest hour is than the day (`factor`)")
	c.Flags().Float64Var(&p.Deaths, "deaths", p.Deaths, "how often a worker dies in a day (`n`)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := p.Check(); err != nil {
			return usage("%v", err)
		}
		r := capacity.Plan(p)
		if f.json {
			return printJSON(c, r)
		}
		_, err := fmt.Fprint(c.OutOrStdout(), r)
		return err
	}
	return c
}
