package sandbox

import (
	"kerf/internal/work/boundary"
	"slices"
)

// Reach is what a plan lets a command reach, for people to read.
type Reach struct {
	Confined                    bool
	Writable, Protected, Hidden []string
	// Network is "none", "everything" or "allowed domains only".
	Network string
}

// ReachOf tells what the plan lets a command reach.
func ReachOf(p boundary.Plan) Reach {
	if p.Mode == boundary.FullAccess {
		return Reach{Writable: []string{"everything"}, Network: "everything"}
	}
	r := Reach{Confined: Confined(p), Writable: []string{}, Network: "none"}
	switch {
	case p.Network:
		r.Network = "everything"
	case p.Proxy != nil:
		r.Network = "allowed domains only"
	}
	for _, m := range p.Mounts {
		switch {
		case m.Kind == boundary.MountWrite || m.Kind == boundary.MountTmp:
			r.Writable = append(r.Writable, m.Path)
		case m.Kind == boundary.MountRead && m.Path != "/":
			r.Protected = append(r.Protected, m.Path)
		case m.Kind == boundary.MountHideDir || m.Kind == boundary.MountHideFile:
			r.Hidden = append(r.Hidden, m.Path)
		}
	}
	for _, m := range p.Masks {
		r.Protected = append(r.Protected, m.Path)
	}
	slices.Sort(r.Protected)
	r.Protected = slices.Compact(r.Protected)
	return r
}
