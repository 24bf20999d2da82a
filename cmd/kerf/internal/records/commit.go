package records

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records/rerun"
	"kerf/internal/host/checking"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/repo/commit"
)

const commitLong = `Makes a git commit of exactly what a turn changed: the last one, or the one that is named as kerf log
names it. What you changed or staged meanwhile is not in the commit, and stays as it is. Files that git
ignores are left out. Where HEAD has other content than the turn began with, the change is merged;
where that is impossible, the file is named, nothing is done, and the exit code is 1.

The message is the request, or -m, with the session, the turn and the model as trailers. The hooks
of the repository do not run; the checks with when = "commit" do, on the files as they are.`

func commitCommand(p *program.Program) *cobra.Command {
	var turn, message string
	var dry, unchecked bool
	cmd := &cobra.Command{Use: "commit [TURN]", Short: "Make a git commit of exactly what a turn changed",
		Long: commitLong, Example: "  kerf commit\n  kerf commit --turn 4 -m 'parser: keep comments'", Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if turn != "" {
				args = append(args, turn)
			}
			if len(args) > 1 {
				return program.Misuse("name one turn")
			}
			b, _, err := openBook(p, "")
			if err != nil {
				return err
			}
			defer b.ws.Close()
			if !dry && !unchecked && b.h.Trusted() && checking.Any(b.h.Config, "commit") {
				if err := (rerun.Options{When: "commit", Blocks: true}).Again(cmd.Context(), p, b.h); err != nil {
					return &program.Error{Code: 1, Err: err, Hint: "nothing was committed; --no-checks commits all the same"}
				}
			}
			if len(args) == 0 {
				b.tellNewer("commit")
			}
			return b.commit(cmd, args, message, dry)
		}}
	f := cmd.Flags()
	f.StringVar(&turn, "turn", "", "the turn, entry or call of this `id`, as kerf log shows it")
	f.StringVarP(&message, "message", "m", "", "the `text` of the message; the default is the request")
	f.BoolVar(&unchecked, "no-checks", false, "do not run the checks of the moment commit")
	f.BoolVar(&dry, "dry-run", false, "print what would be committed; commit nothing")
	return cmd
}

func (b *book) commit(cmd *cobra.Command, args []string, message string, dry bool) error {
	if len(args) == 1 {
		if _, ok, err := named.Find(b.rows, args[0]); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("commit %s: no entry, turn, call or session of kerf log", visible.Line(args[0]))
		}
	}
	n, about, err := b.turnNet(args)
	if err != nil {
		return err
	}
	if len(n.Set) == 0 {
		return errors.New("nothing to commit: the turn changed nothing that stands")
	}
	if message == "" {
		message = subject(about.Prompt)
	}
	res, err := commit.Make(cmd.Context(), n.Set, commit.Options{Dir: b.h.Config.Cwd, Env: b.p.Env, Dry: dry,
		Message: strings.TrimRight(message, "\n") + "\n\n" + b.trailers(about)})
	for _, name := range res.Ignored {
		fmt.Fprintf(b.p.Stderr, "left out, since git ignores it: %s\n", b.p.Named(name))
	}
	for _, name := range res.Nested {
		fmt.Fprintf(b.p.Stderr, "left out, since it lies in another repository: %s\n", b.p.Named(name))
	}
	if err != nil {
		return err
	}
	for _, name := range res.Staged {
		fmt.Fprintf(b.p.Stderr, "what is staged of it stays: %s\n", b.p.Named(name))
	}
	tellFiles(b.p, "unproven: the commit has changes of these files of which nobody saw who made them", n.Unproven)
	if dry {
		return b.p.Paged(func() error { return printDiff(b.p, res.Diff) })
	}
	line, _, _ := strings.Cut(message, "\n")
	stats := shown.Stats(res.Diff, columns(), b.p.Colored(), b.p.Quoting())
	_, err = fmt.Fprintf(b.p.Stdout, "[%s] %s\n%s", res.ID[:9], visible.Line(line), stats)
	return err
}

// subject is a request as the first line of a message.
func subject(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if prompt == "" {
		return "changes by Kerf"
	}
	return prompt
}

// trailers name where a commit comes from.
func (b *book) trailers(e row.Entry) string {
	var s strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&s, "%s: %s\n", name, visible.Line(value))
		}
	}
	add("Kerf-Session", e.Session)
	add("Kerf-Turn", e.Turn)
	if e.Session != "" {
		if info, err := b.h.FindSession(e.Session); err == nil {
			add("Kerf-Model", info.Model)
		}
	}
	return s.String()
}
