package telling

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/sessions/provenance"
	"kerf/internal/work/repo/commit"
	"kerf/internal/work/workspace"
)

const traceLong = `Says which lines of a commit an agent wrote, for other tools: as an Agent Trace 0.1.0 record, or
as an in-toto statement about the commit with that record in it.

A line is "ai" only if a tool of Kerf wrote it for the model of a session, and "mixed" if you edited
what the tool proposed. What a command wrote, or what nobody saw being made, is "unknown". Of all other
lines nothing is said: nothing is ever called "human", which Kerf cannot know.

Nothing leaves this machine: the record is printed, written to a file, or kept as a git note under
refs/notes/agent-trace, which git push does not take along unless you name it.`

func traceCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "trace", Short: "Tell other tools which lines an agent wrote", Args: program.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(traceExport(p))
	return cmd
}

// trace is one call of `kerf trace export`.
type trace struct {
	revision, output string
	statement, note  bool
}

func traceExport(p *program.Program) *cobra.Command {
	var t trace
	cmd := &cobra.Command{Use: "export [--] [PATH ...]", Short: "Write who wrote which lines of a commit", Long: traceLong,
		Example: "  kerf trace export\n  kerf trace export --revision HEAD~3 -o trace.json src\n" +
			"  kerf trace export --in-toto\n  kerf trace export --note && git notes --ref agent-trace show",
		RunE: func(cmd *cobra.Command, paths []string) error {
			return t.run(cmd.Context(), p, paths)
		}}
	f := cmd.Flags()
	f.StringVar(&t.revision, "revision", "HEAD", "the `commit` whose lines are told")
	f.BoolVar(&t.statement, "in-toto", false, "write an in-toto statement with the record in it")
	f.StringVarP(&t.output, "output", "o", "", "write to this `file` in place of printing")
	f.BoolVar(&t.note, "note", false, "keep it as a git note of the commit, in place of the one before")
	cmd.MarkFlagsMutuallyExclusive("output", "note")
	return cmd
}

func (t trace) run(ctx context.Context, p *program.Program, paths []string) error {
	h, err := p.Tolerant()
	if err != nil {
		return err
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: workspace.Find(h.Config.Home, h.Config.Cwd)})
	if err != nil {
		return err
	}
	defer ws.Close()
	for i := range paths {
		paths[i] = workspace.Real(h.Config.Cwd, paths[i])
	}
	dir := workspace.Real(h.Config.Cwd, ".")
	record, sums, err := provenance.OfCommit(ctx, provenance.Options{Changes: ws.Changes(), Dir: dir, Revision: t.revision,
		Paths: paths, Model: h.Sessions().Prompts().Model, Kerf: host.Version})
	if err != nil {
		return fmt.Errorf("trace export: %w", err)
	}
	var out any = record
	if t.statement {
		out = record.Statement(sums)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if t.note {
		return commit.Note(ctx, dir, p.Env, "agent-trace", record.VCS.Revision, text)
	}
	return p.Deliver(t.output, text)
}
