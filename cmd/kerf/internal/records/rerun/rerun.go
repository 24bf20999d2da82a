// Package rerun runs a project's checks on the files as they are, and tells what they say.
package rerun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/host/checking"
	"kerf/internal/text/visible"
)

// Options say which checks run again.
type Options struct {
	When   string
	Before string // a file: what does not count, by check
	Blocks bool   // only checks that block count for the exit code
	// Run is a command that runs as a check instead, and is shown while it runs; for so long at
	// most. Attempt says that it decides about one of several attempts.
	Run     string
	Timeout time.Duration
	Attempt bool
}

// Misused says which options do not go together.
func (o *Options) Misused(checks bool) error {
	switch {
	case !checks && o.When != "":
		return program.Misuse("--when is about checks: add --checks")
	case !checks && o.Run != "":
		return program.Misuse("--run is about checks: add --checks")
	case o.Run != "" && strings.TrimSpace(o.Run) == "":
		return program.Misuse("--run: which command?")
	case o.Run != "" && o.When != "":
		return program.Misuse("--run runs a command that is not configured: leave --when out")
	}
	return nil
}

// Again runs the checks, and tells what is on record of them for the same files.
func (o Options) Again(ctx context.Context, p *program.Program, h *host.Host) error {
	m, ok := checking.At(o.When)
	if !ok {
		return program.Misuse("--when %s: use edit, turn, keep or commit", o.When)
	}
	if o.Before != "" {
		text, err := os.ReadFile(o.Before)
		if err == nil {
			err = json.Unmarshal(text, &m.Before)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.Before, err)
		}
	}
	if o.Run != "" {
		m = checking.Own(o.Run, o.Attempt)
		m.Timeout, m.Show = o.Timeout, func(text string) { fmt.Fprint(p.Stdout, text) }
	}
	reports, err := host.Check(ctx, h, m)
	if err != nil {
		return err
	}
	var failed []string
	out := p.Stdout
	if o.Run != "" {
		out = p.Stderr // beside what it printed
	}
	for _, r := range reports {
		text := r.Text()
		if r.OnRecord != "" {
			text += "\n(on record for the same files: " + r.OnRecord + ")"
		}
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintln(out, visible.Plain(line))
		}
		known := o.Before != "" && r.Outcome == "before"
		if r.Outcome != "ok" && !known && (!o.Blocks || r.Blocks()) {
			failed = append(failed, r.Check.Name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("checks do not pass: %s", visible.Plain(strings.Join(failed, ", ")))
	}
	return nil
}
