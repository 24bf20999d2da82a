package files

import (
	"slices"

	"kerf/internal/agent/policy"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// IsControl reports whether a change is one of a file that agents, editors or build
// machines obey.
func (f *Files) IsControl(c delta.Change) bool {
	name := f.Relative(c.Path)
	if policy.IsControlFile(name) {
		return true
	}
	return policy.HoldsScripts(name) && policy.ScriptsDiffer(f.bytes(c.Pre), f.bytes(c.Post))
}

// bytes are those of an image, or none when they are not at hand.
func (f *Files) bytes(img *delta.Image) []byte {
	if img = f.Load(img); img == nil || !img.Loaded {
		return nil
	}
	return img.Data
}

// PathChanges lists the paths of a set as front ends show them, with a mark on
// control files.
func (f *Files) PathChanges(set delta.Set) []protocol.PathChange {
	list := pathChanges(set)
	for i, c := range set {
		list[i].ControlFile = f.IsControl(c)
	}
	return list
}

// ControlFiles lists the files of a set that agents, editors or machines obey.
func (f *Files) ControlFiles(set delta.Set) []string {
	var names []string
	for _, c := range set {
		if name := f.Relative(c.Path); f.IsControl(c) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// PathChanges lists the paths of a set as front ends show them.
func pathChanges(set delta.Set) []protocol.PathChange {
	list := make([]protocol.PathChange, 0, len(set))
	for _, c := range set {
		pc := protocol.PathChange{Path: c.Path, Kind: protocol.Update, Moved: c.From}
		switch {
		case c.Pre == nil:
			pc.Kind = protocol.Add
		case c.Post == nil:
			pc.Kind = protocol.Delete
		}
		list = append(list, pc)
	}
	return list
}
