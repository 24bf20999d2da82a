package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/cmd/kerf/internal/records/mails"
	"kerf/internal/host"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/row"
	"kerf/internal/work/changes/span"
)

const exportLong = `Writes the conversation of a session with the diffs of all changes, as kerf sessions export does. Without
an id it takes the newest session of this directory.

--patch-series writes what the session changed instead: for each turn a mail that git am applies, numbered
in their order, into a directory that is made where it is not there. Turns that were undone, and those
that changed nothing, are left out. The message is the request, with the session and the turn as trailers.`

func exportCommand(p *program.Program) *cobra.Command {
	cmd := sessionsExport(p)
	var dir string
	document := cmd.RunE
	cmd.Use, cmd.Short, cmd.Long = "export [ID]", "Write a session as a document, or as patches", exportLong
	cmd.Args = program.AtMost(1)
	cmd.Example = "  kerf export -o session.html 0199\n  kerf export --patch-series patches 0199 && git am patches/*.patch"
	cmd.Flags().StringVar(&dir, "patch-series", "", "write a patch for each turn into this `directory`")
	for _, other := range []string{"format", "output"} {
		cmd.MarkFlagsMutuallyExclusive("patch-series", other)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("patch-series") {
			return document(cmd, args)
		}
		if dir == "" {
			return program.Misuse("--patch-series: the name of the directory is empty")
		}
		return patchSeries(cmd.Context(), p, strings.Join(args, ""), dir)
	}
	return cmd
}

// patchSeries writes a mail for each turn of a session that changed something and stands.
func patchSeries(ctx context.Context, p *program.Program, id, dir string) error {
	h, err := p.Tolerant()
	if err != nil {
		return err
	}
	info, err := h.Sessions().Here(ctx, id)
	if err != nil {
		return err
	}
	b, session, err := openBook(p, string(info.ID))
	if err != nil {
		return err
	}
	defer b.ws.Close()
	var list []mails.Mail
	for _, t := range b.standing(session) {
		n, err := span.Net(b.ws.Changes(), span.Span{Unproven: true,
			Target: named.Target{Session: session, Turn: t.Turn, First: t.Seq}})
		if err != nil {
			return err
		}
		tellFiles(p, "unproven: the series has changes of these files of which nobody saw who made them", n.Unproven)
		if len(n.Lost) > 0 {
			return fmt.Errorf("the change of the request %q is not known whole: %s", visible.ClipRunes(t.Prompt, 60),
				visible.Plain(strings.Join(n.Lost, ", ")))
		}
		if len(n.Diff) > 0 {
			list = append(list, mails.Mail{Message: subject(t.Prompt), Trailers: b.trailers(t), When: t.Time,
				Diff: string(n.Diff), Version: host.Version})
		}
	}
	if len(list) == 0 {
		return errors.New("nothing to export: the session changed nothing that stands")
	}
	paths, err := mails.Write(dir, mails.Author(b.ws.Base(), p.Env), list)
	for _, path := range paths {
		fmt.Fprintln(p.Stdout, visible.Line(path))
	}
	if err != nil {
		return program.Misuse("--patch-series: %v", err)
	}
	return nil
}

// standing are the first entries of the turns of a session of which something was not undone,
// oldest first.
func (b *book) standing(session string) []row.Entry {
	var turns []row.Entry
	asked := b.h.Sessions().Prompts()
	for _, e := range slices.Backward(b.rows) {
		if e.Session != session || e.Undone || e.Cause != "tool" && e.Cause != "command" || len(e.Changes) == 0 ||
			slices.ContainsFunc(turns, func(t row.Entry) bool { return t.Turn == e.Turn }) {
			continue
		}
		e.Prompt = asked.Of(e.Session, e.Turn)
		turns = append(turns, e)
	}
	return turns
}
