package trying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/diff/shown"
	"kerf/internal/work/tries"
)

func triesCompareCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "compare TRY TRY", Short: "Print how the results of two tries differ",
		Long: "Prints the diff that leads from what the first try would make of the directory to what the second one\n" +
			"would make of it.",
		Example: "  kerf tries compare 3 5", Args: program.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			text, err := Compare(cmd.Context(), h, args[0], args[1])
			if err != nil {
				return err
			}
			return p.Paged(func() error { return p.ShowDiff(text, false, false) })
		}}
}

// Compare is the diff between the results of two tries of one directory.
func Compare(ctx context.Context, h *host.Host, one, other string) (string, error) {
	var plans [2]*tries.Plan
	base := ""
	for i, number := range []string{one, other} {
		t, err := tries.Get(h.Config.Home, number)
		if err != nil {
			return "", program.Misuse("%s: %v", number, err)
		}
		if base != "" && base != t.Meta.Roots[0] {
			return "", program.Misuse("try %s and try %s are of different directories", one, other)
		}
		base = t.Meta.Roots[0]
		plan, ws, err := planOf(ctx, h, t, tries.Options{})
		if err != nil {
			return "", err
		}
		defer ws.Close()
		if plans[i] = plan; i == 1 {
			return tries.Between(plans[0], plan, ws, base)
		}
	}
	return "", nil
}

// Waiting is a try of a directory, as the terminal UI lists it.
type Waiting struct {
	ID             int
	Request        string
	Files          int
	Added, Removed int
	Diff           string
}

// List are the tries of the working directory that wait, with what they changed.
func List(ctx context.Context, h *host.Host) ([]Waiting, error) {
	here, err := tries.Here(h.Config.Home, h.Config.Cwd)
	if err != nil {
		return nil, err
	}
	var list []Waiting
	for _, t := range here {
		if t.Running() {
			continue
		}
		plan, ws, err := planOf(ctx, h, t, tries.Options{})
		if err != nil {
			return nil, err
		}
		text := plan.Diff(t.Meta.Roots[0])
		s := shown.Tally(text)
		list = append(list, Waiting{t.ID, t.Meta.Request, len(shown.Files(text)), s.Added, s.Removed, text})
		if err := ws.Close(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// End keeps a try that waits, or throws it away, and returns what became of it in words.
func End(ctx context.Context, p *program.Program, h *host.Host, id int, keep bool) (string, error) {
	t, err := tries.Get(h.Config.Home, strconv.Itoa(id))
	if err != nil {
		return "", err
	}
	if err := t.Lock(); err != nil {
		return "", err
	}
	defer t.Unlock()
	if !keep {
		return fmt.Sprintf("try %d is gone", id), t.Remove()
	}
	var out bytes.Buffer
	there := p.In(p.Dir)
	there.Stdout, there.Stderr = &out, &out
	verdicts, err := checked(ctx, there, h, t)
	if err != nil {
		return "", err
	}
	kept, err := keepAll(ctx, there, h, t, verdicts)
	if err == nil && !kept {
		err = errors.New(out.String() + "nothing was written: files are in conflict; " +
			fmt.Sprintf("kerf keep %d with --merge, --theirs, --ours or --skip settles it", id))
	}
	return out.String(), err
}
