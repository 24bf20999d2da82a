package records

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/print"
	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/text/diff/shown"
	"kerf/internal/text/visible"
	"kerf/internal/work/changes/author"
	"kerf/internal/work/workspace"
)

func blameCommand(p *program.Program) *cobra.Command {
	var asJSON, long bool
	var lines string
	cmd := &cobra.Command{Use: "blame FILE", Short: "Show for each line of a file which turn wrote it",
		Args: program.Between(1, 1),
		Long: `Shows for each line the entry of kerf log that wrote it, the time, the tool and the beginning of
the request; with --long also session, turn and call. "not Kerf" means that something other than
Kerf wrote the line. "unproven" means that the line came while the command named ran, and nobody
saw who wrote it. "unknown" means that this part of the history is no longer kept. Kerf never claims
a line that others changed. Where several directories that the file is in have histories of their
own, all are asked: "#4 of ../lib" is entry 4 of kerf -C ../lib log.`,
		Example: "  kerf blame main.go\n  kerf blame -L 10,+5 main.go",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.Tolerant()
			if err != nil {
				return err
			}
			list, err := readBlame(h, args[0])
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("blame %s: no such file", visible.Line(args[0]))
			case err != nil:
				return fmt.Errorf("blame %s: %w", args[0], err)
			}
			if list, err = author.Between(list, lines); err != nil {
				return program.Misuse("--lines %v", err)
			}
			if asJSON {
				return print.Array(p.Stdout, list)
			}
			return p.Paged(func() error { return blameText(p, list, long) })
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with one object per line of the file")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "also show session, turn, call and client, and the whole request")
	cmd.Flags().StringVarP(&lines, "lines", "L", "", "only these lines: `START,END`, or START,+COUNT")
	return cmd
}

// readBlame tells of each line of a file where it comes from.
func readBlame(h *host.Host, file string) ([]author.Line, error) {
	root := workspace.Find(h.Config.Home, h.Config.Cwd)
	ws, err := h.OpenWorkspace(host.WorkspaceOptions{Root: root})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	f, err := author.Open(workspace.Real(h.Config.Cwd, file))
	if err != nil {
		return nil, err
	}
	list, err := workspace.Blame(h.Config.Home, root, ws.Changes(), f, nil)
	asked := h.Sessions().Prompts()
	for i := range list {
		list[i].Prompt = asked.Of(list[i].Session, list[i].Turn)
	}
	return list, err
}

func blameText(p *program.Program, list []author.Line, long bool) error {
	width := 0
	for _, l := range list {
		width = max(width, len([]rune(blamed(p, l, long))))
	}
	digits := 1
	if n := len(list); n > 0 {
		digits = len(fmt.Sprint(list[n-1].Line))
	}
	for _, l := range list {
		who := blamed(p, l, long)
		text := strings.TrimRight(l.Text, "\r\n")
		if program.IsTerminal(p.Stdout) {
			text = shown.Safe(text)
		}
		pad, color := strings.Repeat(" ", width-len([]rune(who))), yellow
		if l.Origin == "other" || l.Origin == "unknown" {
			color = dim
		}
		if _, err := fmt.Fprintf(p.Stdout, "%s%s %*d) %s\n", paint(p, color, who), pad, digits, l.Line, text); err != nil {
			return err
		}
	}
	return nil
}

// mostAsked is how much of a request stands before a line, in characters.
const mostAsked = 24

// blamed is what stands before a line.
func blamed(p *program.Program, l author.Line, long bool) string {
	switch l.Origin {
	case "other":
		return "not Kerf"
	case "unknown":
		return "unknown"
	}
	parts := []string{}
	if l.Origin == "unproven" {
		parts = append(parts, l.Origin)
	}
	number := fmt.Sprintf("#%d", l.Seq)
	if l.Root != "" {
		number += " of " + nearName(p, l.Root)
	}
	parts = append(parts, number, l.Time.Local().Format(time.DateTime))
	more := []string{l.Session[:min(8, len(l.Session))], l.Turn, l.Call, l.Tool, l.Client}
	if !long {
		more = []string{l.Tool}
		if l.Tool == "" {
			more = []string{l.Client} // kerf guard, for one
		}
		l.Prompt = visible.ClipRunes(l.Prompt, mostAsked)
	}
	for _, s := range more {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if l.Tool == "" {
		parts = append(parts, l.Cause)
	}
	if l.Prompt != "" {
		parts = append(parts, fmt.Sprintf("%q", l.Prompt))
	}
	return visible.Plain(strings.Join(parts, " "))
}
