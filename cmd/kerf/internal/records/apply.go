package records

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/apply"
	"kerf/internal/work/changes"
)

// maxPatch bounds a diff read from standard input.
const maxPatch = 256 << 20

// ApplyOptions say what `kerf apply` applies, and how.
type ApplyOptions struct {
	apply.Options
	Session string // id, prefix or title; empty: the newest of any directory
	Out     io.Writer
	Err     io.Writer // for the outcomes of a dry run, whose result is the diff

	Patch   io.Reader // a diff to apply instead, or nil
	json    bool
	Program *program.Program // on whose terminal the work is told; nil: it is not told
}

func applyCommand(p *program.Program) *cobra.Command {
	o := ApplyOptions{Options: apply.Options{Tool: "apply"}, Out: p.Stdout, Err: p.Stderr, Program: p}
	cmd := &cobra.Command{Use: "apply [SESSION | -]",
		Short: "Apply the changes of a session, or a diff, to this directory", Args: program.AtMost(1),
		Long: "Applies all changes of a session to this directory. Without an id it takes the newest session\n" +
			"of any directory. With \"-\" it applies the git or unified diff on standard input.\nIt changes every file or none.",
		Example: "  kerf apply --dry-run\n  git diff | kerf apply -C ../other -",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if len(args) == 1 && args[0] == "-" {
				o.Patch = p.Stdin
			} else if len(args) == 1 {
				o.Session = args[0]
			}
			err = o.Apply(cmd.Context(), h)
			if st, gone := os.Stat(o.Session); errors.Is(err, protocol.ErrNoSession) && gone == nil && !st.IsDir() {
				return &program.Error{Code: 1, Err: err, Hint: "to apply a file: kerf apply - < " + program.Quoted(o.Session)}
			}
			return err
		}}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the diff and check that it fits; change nothing")
	cmd.Flags().BoolVarP(&o.Reverse, "reverse", "R", false, "take the changes back instead")
	cmd.Flags().BoolVar(&o.ThreeWay, "3way", false, "merge where the text around a change is different here")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result for each file as one JSON object")
	return cmd
}

// Apply applies the changes of a session, or a diff, to the working directory: all
// files or none.
func (o *ApplyOptions) Apply(ctx context.Context, h *host.Host) error {
	root := h.Config.Cwd
	text, err := o.text(h)
	if err != nil {
		return err
	}
	if o.Patch == nil {
		root = apply.Root(root)
	}
	if o.DryRun && !o.json {
		if _, err := o.Out.Write(text); err != nil {
			return err
		}
	}
	if len(text) == 0 && o.Patch == nil {
		switch {
		case o.json:
			return o.tell(apply.Report{DryRun: o.DryRun, Applied: !o.DryRun, Files: []apply.FileOutcome{}})
		case !o.DryRun:
			fmt.Fprintln(o.Out, "nothing to apply: the session changed no file")
		}
		return nil
	}
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: root, Sandbox: protocol.SandboxWorkspace})
	if err != nil {
		return err
	}
	defer ws.Close()
	var working *program.Working
	if o.Program != nil {
		working = o.Program.Working("applying changes")
	}
	r, err := apply.Patch(ctx, ws.Tree, ws.Txn, text, o.Options)
	working.Stop()
	warn(o.Err, r.Warnings)
	if told := o.tell(apply.NewReport(root, r, o.DryRun, err)); told != nil {
		return errors.Join(err, told)
	}
	return err
}

// text is the diff. Of a session it also finds what a merge needs.
func (o *ApplyOptions) text(h *host.Host) ([]byte, error) {
	if o.Patch != nil {
		return program.ReadAtMost(o.Patch, maxPatch)
	}
	var text []byte
	err := h.ReadSession(o.Session, func(r changes.Reader, id string) (err error) {
		if o.ThreeWay {
			if o.Blobs, err = apply.SessionBlobs(r, id); err != nil {
				return err
			}
		}
		text, err = r.Session(id)
		return err
	})
	if errors.Is(err, protocol.ErrNoSession) && o.Session == "" {
		err = fmt.Errorf("%w; kerf apply - applies the diff on standard input", err)
	}
	return text, err
}

// tell prints a report: as JSON, or a line for each file. Of a dry run the diff is
// the result, so the lines go to standard error.
func (o *ApplyOptions) tell(r apply.Report) error {
	if o.json {
		return print.Line(o.Out, r)
	}
	w := bufio.NewWriter(o.Out)
	if r.DryRun {
		w.Reset(o.Err)
	}
	for _, f := range r.Files {
		if err := o.outcomeLine(w, f); err != nil {
			return err
		}
	}
	return w.Flush()
}

// named writes a path as the user's git does, or with all its letters where there is no
// command line.
func (o *ApplyOptions) named(path string) string {
	if o.Program == nil {
		return shown.Name(path, shown.Letters)
	}
	return o.Program.Named(path)
}

func (o *ApplyOptions) outcomeLine(w io.Writer, f apply.FileOutcome) error {
	line := fmt.Sprintf("%-8s %s", f.Outcome, o.named(f.Path))
	switch {
	case f.From != "":
		line += fmt.Sprintf(" (%s from %s)", f.Operation, o.named(f.From))
	case f.Operation != "":
		line += " (" + f.Operation + ")"
	}
	if f.Message != "" {
		line += ": " + strings.ReplaceAll(strings.TrimPrefix(f.Message, f.Path+": "), "\n", "\n         ")
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

func applyPatchCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{Use: "apply-patch [PATCH]",
		Short: "Apply a *** Begin Patch text, from the argument or standard input", Args: program.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Host(nil)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return applyPatch(cmd.Context(), p, h, []byte(args[0]))
			}
			text, err := io.ReadAll(p.Stdin)
			if err != nil {
				return program.Misuse("standard input: %v", err)
			}
			return applyPatch(cmd.Context(), p, h, text)
		}}
}

// applyPatch applies a patch in the *** Begin Patch format below the working
// directory: all of it or nothing.
func applyPatch(ctx context.Context, p *program.Program, h *host.Host, text []byte) error {
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Sandbox: protocol.SandboxWorkspace})
	if err != nil {
		return err
	}
	defer ws.Close()
	r, err := apply.Patch(ctx, ws.Tree, ws.Txn, text, apply.Options{Tool: "apply_patch"})
	warn(p.Stderr, r.Warnings)
	for _, f := range r.Failed {
		return f.Err
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "Success. Updated the following files:")
	for _, c := range r.Changed {
		fmt.Fprintf(p.Stdout, "%s %s\n", letters[c.Op()], p.Named(changes.Relative(h.Config.Cwd, c.Path)))
	}
	return nil
}

// warn tells what the user should know beside the result.
func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w, "kerf: warning: "+visible.Plain(text))
	}
}
