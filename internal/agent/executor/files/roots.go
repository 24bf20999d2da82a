package files

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// InRoots keeps file tools inside the roots when the session was opened with
// full access and has less now: the tree still reaches everything.
func (f *Files) InRoots(a tool.Action, set protocol.Settings) error {
	change, ok := a.(tool.Change)
	if !ok || set.Sandbox == protocol.SandboxFull || len(f.o.Roots) == 0 {
		return nil
	}
	for _, path := range change.Set.Paths() {
		inside := slices.ContainsFunc(f.o.Roots, func(root string) bool {
			rel, err := filepath.Rel(root, f.Real(path))
			return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
		})
		if !inside {
			return tool.Refuse(tool.OutsideWorkspace, "%s is outside the workspace (%s). Use a path inside it, or ask the "+
				"user to add the directory with --add-dir",
				path, strings.Join(f.o.Roots, ", "))
		}
	}
	return nil
}
