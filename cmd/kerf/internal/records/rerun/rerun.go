// Package rerun runs a project's checks on the files as they are, and tells what they say.
package rerun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

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
	reports, err := host.Check(ctx, h, m)
	if err != nil {
		return err
	}
	var failed []string
	for _, r := range reports {
		text := r.Text()
		if r.OnRecord != "" {
			text += "\n(on record for the same files: " + r.OnRecord + ")"
		}
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintln(p.Stdout, visible.Plain(line))
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
