package host

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"kerf/internal/protocol"
	"kerf/internal/work/apply"
)

// tell prints a report: as JSON, or a line for each file. Of a dry run the diff is
// the result, so the lines go to standard error.
func (o ApplyOptions) tell(r apply.Report) error {
	if o.JSON {
		enc := json.NewEncoder(o.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	w := o.Out
	if r.DryRun && o.Err != nil {
		w = o.Err
	}
	for _, f := range r.Files {
		if err := outcomeLine(w, f); err != nil {
			return err
		}
	}
	return nil
}

func outcomeLine(w io.Writer, f apply.FileOutcome) error {
	line := fmt.Sprintf("%-8s %s", f.Outcome, visible(f.Path))
	switch {
	case f.From != "":
		line += fmt.Sprintf(" (%s from %s)", f.Operation, visible(f.From))
	case f.Operation != "":
		line += " (" + f.Operation + ")"
	}
	if f.Message != "" {
		line += ": " + strings.ReplaceAll(strings.TrimPrefix(f.Message, f.Path+": "), "\n", "\n         ")
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// sessionBlobs finds the contents that a session's diff was made from.
func (h *Host) sessionBlobs(o ApplyOptions) (func(id string) ([]byte, bool), error) {
	none := func(string) ([]byte, bool) { return nil, false }
	if o.Patch != nil {
		return none, nil
	}
	info, err := h.find(o.Session, o.Session == "", true)
	if err != nil {
		return nil, err
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: info.Cwd, Sandbox: protocol.SandboxReadOnly})
	if err != nil {
		return none, nil // its directory is gone; the repository here may know
	}
	defer ws.Close()
	return apply.Blobs(ws.Ledger, ws.Store, string(info.ID))
}
