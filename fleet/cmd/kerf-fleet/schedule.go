package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/fleet/desk"
)

func (f *flags) schedule() *cobra.Command {
	c := &cobra.Command{Use: "schedule", Short: "Begin a task again and again", Args: only,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(f.plan(), f.schedules())
	for name, short := range map[string]string{"pause": "Stop beginning its tasks", "resume": "Begin them again",
		"trigger": "Begin one now", "delete": "Remove it; its tasks stay"} {
		c.AddCommand(&cobra.Command{Use: name + " NAME", Short: short, Args: args(1, 1, "the name of a schedule"),
			RunE: func(c *cobra.Command, words []string) error {
				return f.with(c.Context(), func(d desk.Desk) error {
					if err := d.ChangeSchedule(c.Context(), words[0], name); err != nil {
						return err
					}
					return f.said(c, words[0], strings.TrimSuffix(name, "e")+"ed")
				})
			}})
	}
	return c
}

func (f *flags) plan() *cobra.Command {
	a := &asked{}
	s := desk.Schedule{}
	c := &cobra.Command{Use: "create NAME PROMPT", Short: "Make a schedule", Args: args(2, -1, "a name and a prompt"),
		Example: "  kerf-fleet schedule create nightly --cron \"0 3 * * *\" --repo https://example.org/x.git \"update the dependencies\""}
	a.add(c.Flags())
	c.Flags().StringVar(&s.Cron, "cron", "", "when, as five `fields`: minute, hour, day, month, weekday")
	c.Flags().DurationVar(&s.Every, "every", 0, "how often, as a `time`: 90m, 24h")
	c.Flags().StringVar(&s.Zone, "zone", "", "time `zone` of --cron, as Europe/Berlin (default UTC)")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			s.Name = words[0]
			if err := a.finish(c, d, words[1:]); err != nil {
				return err
			}
			check := a.task
			check.ID = s.Name
			if err := check.Check(); err != nil {
				return usage("%v", err)
			}
			err := d.Plan(c.Context(), s, a.task)
			if errors.Is(err, desk.ErrPlan) {
				return usage("%v", err)
			}
			if err != nil {
				return err
			}
			return f.said(c, s.Name, "created")
		})
	}
	return c
}

func (f *flags) schedules() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the schedules", Args: args(0, 0, "no words"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.with(c.Context(), func(d desk.Desk) error {
				all, err := d.Schedules(c.Context())
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(c, append([]desk.Planned{}, all...))
				}
				if len(all) == 0 {
					_, err = fmt.Fprintln(c.OutOrStdout(), "no schedules")
					return err
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "SCHEDULE\tNEXT\tLAST TASK")
				for _, p := range all {
					next, last := "-", "-"
					if p.Paused {
						next = "paused"
					} else if len(p.Next) > 0 {
						next = p.Next[0].Local().Format(time.DateTime)
					}
					if n := len(p.Recent); n > 0 {
						last = p.Recent[n-1]
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, next, last)
				}
				return w.Flush()
			})
		}}
}
