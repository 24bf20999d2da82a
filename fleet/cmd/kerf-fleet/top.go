package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kerf/fleet/desk"
	"kerf/fleet/task"
)

func (f *flags) top() *cobra.Command {
	var every time.Duration
	c := &cobra.Command{Use: "top", Short: "Watch the fleet in the terminal", Args: args(0, 0, "no words"),
		Long: "Shows counts and tasks, the newest first, and draws them again and again. q or Ctrl-C ends it. Without a terminal it prints them once; with --json, too, and with what tasks ask."}
	c.Flags().DurationVar(&every, "every", 2*time.Second, "how often (`time`)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return f.with(c.Context(), func(d desk.Desk) error {
			if f.json {
				lines, err := d.Watch(c.Context())
				if err != nil {
					return err
				}
				return printJSON(c, append([]desk.Line{}, lines...))
			}
			screen, ok := c.OutOrStdout().(*os.File)
			if !ok || !term.IsTerminal(int(screen.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
				return draw(c, d, c.OutOrStdout(), 0)
			}
			return watch(c, d, screen, every)
		})
	}
	return c
}

// watch draws on the other screen of the terminal and leaves the first as it was.
func watch(c *cobra.Command, d desk.Desk, screen *os.File, every time.Duration) error {
	old, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(os.Stdin.Fd()), old)
	fmt.Fprint(screen, "\x1b[?1049h\x1b[?25l")
	defer fmt.Fprint(screen, "\x1b[?25h\x1b[?1049l")
	keys := make(chan byte)
	go func() {
		b := make([]byte, 1)
		for {
			if _, err := os.Stdin.Read(b); err != nil {
				return
			}
			keys <- b[0]
		}
	}()
	for {
		_, height, _ := term.GetSize(int(screen.Fd()))
		var b bytes.Buffer
		if err := draw(c, d, &b, height); err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
		text := bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\x1b[K\r\n"))
		fmt.Fprintf(screen, "\x1b[H%s\x1b[J", bytes.TrimSuffix(text, []byte("\r\n")))
		select {
		case k := <-keys:
			if k == 'q' || k == 3 {
				return nil
			}
		case <-time.After(every):
		case <-c.Context().Done():
			return nil
		}
	}
}

func draw(c *cobra.Command, d desk.Desk, out io.Writer, height int) error {
	lines, err := d.List(c.Context(), desk.Filter{Limit: 1000})
	if err != nil {
		return err
	}
	counts := map[task.Phase]int{}
	for _, l := range lines {
		if !l.Map {
			counts[l.Phase]++
		}
	}
	fmt.Fprint(out, "kerf fleet ")
	for _, p := range []task.Phase{task.Waiting, task.Preparing, task.Running, task.Asking, task.Checking, task.Publishing,
		task.Done, task.Unchecked, task.Failed, task.Cancelled} {
		if counts[p] > 0 {
			fmt.Fprintf(out, "  %s %d", p, counts[p])
		}
	}
	fmt.Fprint(out, "\n\n")
	if most := height - 4; height > 0 && len(lines) > most {
		lines = lines[:max(most, 0)]
	}
	return table(out, lines)
}
