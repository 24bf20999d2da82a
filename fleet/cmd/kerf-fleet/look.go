package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kerf/fleet/blob"
	"kerf/fleet/desk"
	"kerf/fleet/task"
	"kerf/fleet/worker"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
	"kerf/internal/text/visible"
)

func printJSON(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (f *flags) list() *cobra.Command {
	var filter desk.Filter
	c := &cobra.Command{
		Use: "list", Short: "List tasks, the newest first", Args: args(0, 0, "no words"),
		Example: "  kerf-fleet list --phase asking\n  kerf-fleet list --map m-abc --json",
	}
	c.Flags().StringVar(&filter.Phase, "phase", "", "only tasks in this `phase`: "+strings.Join(desk.Phases(), ", "))
	c.Flags().StringVar(&filter.Repository, "repo", "", "only tasks of this `repository`")
	c.Flags().StringVar(&filter.Map, "map", "", "only tasks of this `map`")
	c.Flags().IntVarP(&filter.Limit, "limit", "n", 100, "at most `n`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if filter.Phase != "" && !slices.Contains(desk.Phases(), filter.Phase) {
			return usage("--phase %s: use one of %s", filter.Phase, strings.Join(desk.Phases(), ", "))
		}
		return f.with(c.Context(), func(d desk.Desk) error {
			var err error
			if filter.Repository, err = repository(filter.Repository); err != nil {
				return err
			}
			lines, err := d.List(c.Context(), filter)
			if err != nil {
				return err
			}
			if f.json {
				if lines == nil {
					lines = []desk.Line{}
				}
				return printJSON(c, lines)
			}
			return table(c.OutOrStdout(), lines)
		})
	}
	return c
}

func table(out io.Writer, lines []desk.Line) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(out, "no tasks")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tPHASE\tBEGAN\tTOOK\tREPOSITORY")
	for _, l := range lines {
		end := l.Ended
		if end.IsZero() {
			end = time.Now()
		}
		what := l.Repository
		if l.Map {
			what = "(map)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.ID, l.Phase, l.Began.Local().Format("01-02 15:04:05"),
			end.Sub(l.Began).Round(time.Second), visible.Plain(what))
	}
	return w.Flush()
}

func (f *flags) show() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Tell how a task or a map stands, and what it asks", Args: args(1, 1, "the name of a task"),
		RunE: func(c *cobra.Command, words []string) error {
			return f.with(c.Context(), func(d desk.Desk) error {
				many, err := d.IsMap(c.Context(), words[0])
				if err != nil {
					return err
				}
				if many {
					m, err := d.Counts(c.Context(), words[0])
					if err != nil {
						return err
					}
					return f.tellMap(c, m)
				}
				s, err := d.State(c.Context(), words[0])
				if err != nil {
					return err
				}
				if f.json {
					return printJSON(c, s)
				}
				if err = tellState(c.OutOrStdout(), s); err == nil && s.Phase == task.Waiting && !d.Asked(c.Context(), s.Task) {
					_, err = fmt.Fprintln(c.OutOrStdout(), "waits       "+missed(s.Task))
				}
				return err
			})
		},
	}
}

// missed says of a task that waits that nobody seems to take it.
func missed(t task.Task) string {
	who := "no worker"
	if len(t.Needs) > 0 {
		who += " with " + strings.Join(t.Needs, ", ")
	}
	return who + " has asked for a task in the last minutes: there is none, or all are at work"
}

func (f *flags) tellMap(c *cobra.Command, m task.Map) error {
	if f.json {
		return printJSON(c, m)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: %d of %d tasks begun\n", m.ID, m.Next, m.Total)
	for _, p := range []task.Phase{task.Done, task.Unchecked, task.Failed, task.Cancelled} {
		if n := m.Counts[p]; n > 0 {
			fmt.Fprintf(c.OutOrStdout(), "  %s: %d\n", p, n)
		}
	}
	if len(m.Bad) > 0 {
		fmt.Fprintf(c.OutOrStdout(), "  not done: %s\n", strings.Join(m.Bad, " "))
	}
	return nil
}

func tellState(out io.Writer, s task.State) error {
	fmt.Fprintf(out, "task        %s\nphase       %s\nrepository  %s\n", s.Task.ID, s.Phase, visible.Plain(s.Task.Repository))
	if s.Task.Revision != "" {
		fmt.Fprintf(out, "revision    %s\n", visible.Plain(s.Task.Revision))
	}
	fmt.Fprintf(out, "prompt      %s\n", visible.Plain(strings.SplitN(s.Task.Prompt, "\n", 2)[0]))
	if s.Place != nil {
		fmt.Fprintf(out, "worker      %s (place %d)\n", s.Place.Worker, s.Place.Number)
	}
	tellLost(out, s.Lost)
	for _, a := range s.Answered {
		fmt.Fprintf(out, "answered    %s: %s\n", a.Question, visible.Plain(a.String()))
	}
	for _, q := range s.Questions {
		fmt.Fprintf(out, "\nquestion %s, a no after %s\n", q.ID, q.Until.Local().Format("15:04:05"))
		if q.Reason != "" {
			fmt.Fprintf(out, "  %s\n", visible.Plain(q.Reason))
		}
		for _, line := range strings.Split(visible.String(q.Text), "\n") {
			fmt.Fprintf(out, "  | %s\n", line)
		}
		if q.Says != "" {
			fmt.Fprintf(out, "  the model says: %s\n", visible.Plain(q.Says))
		}
		words := ""
		if q.Kind == string(protocol.AskUser) {
			words = ` --words "..."`
		}
		fmt.Fprintf(out, "  answer: kerf-fleet approve %s %s%s, or --no\n", s.Task.ID, q.ID, words)
	}
	if s.Result != nil {
		return tell(out, *s.Result)
	}
	return nil
}

// tellLost tells of lost workers; what was the same several times on end has one line.
func tellLost(out io.Writer, lost []string) {
	for i := 0; i < len(lost); {
		n := 1
		for i+n < len(lost) && lost[i+n] == lost[i] {
			n++
		}
		fmt.Fprintf(out, "lost        %s", visible.Plain(lost[i]))
		if n > 1 {
			fmt.Fprintf(out, " (%d times)", n)
		}
		fmt.Fprintln(out)
		i += n
	}
}

func (f *flags) tellResult(c *cobra.Command, r task.Result) error {
	if f.json {
		return printJSON(c, r)
	}
	return tell(c.OutOrStdout(), r)
}

func tell(out io.Writer, r task.Result) error {
	fmt.Fprintf(out, "outcome     %s\n", r.Outcome)
	if r.Problem != "" {
		fmt.Fprintf(out, "problem     %s\n", visible.Plain(r.Problem))
	}
	if r.Bundle != "" {
		fmt.Fprintf(out, "files       %d changed, from %.12s\n", r.Files, r.Base)
	}
	for _, k := range r.Checks {
		fmt.Fprintf(out, "check       %s: exit code %d, %s\n", visible.Plain(k.Command), k.Exit, k.Took)
	}
	if r.Message != "" {
		fmt.Fprintf(out, "message     %s\n", visible.String(r.Message))
	}
	return nil
}

func (f *flags) result() *cobra.Command {
	var patch, whole bool
	c := &cobra.Command{
		Use: "result TASK", Short: "Tell the result of a task, and wait for it", Args: args(1, 1, "the name of a task"),
		Long: `Waits for the end of a task and tells its result. The exit code is 0 only if the task is done; of a map, if all its
tasks are.
--patch prints the git patch instead, --bundle the whole bundle: base, versions, causes and checks.`,
	}
	c.Flags().BoolVar(&patch, "patch", false, "print the git patch")
	c.Flags().BoolVar(&whole, "bundle", false, "print the bundle as JSON")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			if !patch && !whole {
				return f.waited(c, d, words[0])
			}
			r, err := d.Ended(c.Context(), words[0])
			if err != nil {
				return err
			}
			if r.Bundle == "" {
				return fmt.Errorf("task %s has no bundle: %s %s", r.Task, r.Outcome, r.Problem)
			}
			b, err := d.Bundle(c.Context(), r.Bundle)
			if err != nil {
				return err
			}
			if whole {
				return printJSON(c, b)
			}
			data, err := d.Patch(c.Context(), b)
			if err == nil {
				_, err = c.OutOrStdout().Write(data)
			}
			return err
		})
	}
	return c
}

func (f *flags) logs() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "logs TASK", Short: "Print what a task's session did", Args: args(1, 1, "the name of a task"),
		Long: "Prints the events of a task's session; --json prints them as kerf serve tells them. With -f it goes on until the task is over.",
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the task is over")
	c.RunE = func(c *cobra.Command, words []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			if _, err := d.State(c.Context(), words[0]); err != nil {
				return err
			}
			return follows(c.Context(), d, words[0], follow, func(line []byte) error {
				if f.json {
					_, err := c.OutOrStdout().Write(append(line, '\n'))
					return err
				}
				return tellEvent(c.OutOrStdout(), line)
			})
		})
	}
	return c
}

// looking is how often new events are looked for.
const looking = 500 * time.Millisecond

// follows yields the events of a task.
func follows(ctx context.Context, d desk.Desk, id string, on bool, yield func([]byte) error) error {
	after := ""
	for {
		over := !on
		if on {
			s, err := d.State(ctx, id)
			if err != nil {
				return err
			}
			over = s.Phase.Over() // before the parts are read, so that none is missed
		}
		err := d.Store.List(ctx, worker.EventsPrefix(id), after, func(o blob.Object) error {
			data, err := d.Store.Kept(ctx, o.Name)
			if err != nil {
				return err
			}
			after = o.Name
			for line := range strings.Lines(string(data)) {
				if err := yield([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || over {
			return err
		}
		select {
		case <-time.After(looking):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tellEvent writes what a person wants to know of an event.
func tellEvent(out io.Writer, line []byte) error {
	var e protocol.Event
	if err := wire.Unmarshal(line, &e); err != nil {
		return nil // of a newer program
	}
	text := ""
	switch m := e.Msg.(type) {
	case protocol.ItemCompleted:
		text = tellItem(m.Item)
	case protocol.ApprovalRequested:
		text = "asks: " + m.Approval.Reason
	case protocol.TurnFailed:
		text = "failed: " + m.Error.Message
	case protocol.TurnCompleted:
		text = "the turn is over"
	case protocol.SessionStarted:
		text = "session " + string(m.Session)
		if m.Resumed {
			text += ", resumed"
		}
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s  %s\n", e.Time.Local().Format("15:04:05"), visible.String(text))
	return err
}

func tellItem(i protocol.Item) string {
	switch b := i.Body.(type) {
	case protocol.AgentMessage:
		return b.Text
	case protocol.Command:
		code := ""
		if b.ExitCode != nil && *b.ExitCode != 0 {
			code = fmt.Sprintf(" (exit code %d)", *b.ExitCode)
		}
		return "$ " + b.Command + code
	case protocol.FileChange:
		var names []string
		for _, c := range b.Changes {
			names = append(names, string(c.Kind)+" "+c.Path)
		}
		return strings.Join(names, ", ")
	}
	return ""
}
