package sandbox

import "slices"

// Reach is what a plan lets a command reach, for people to read.
type Reach struct {
	Confined                    bool
	Writable, Protected, Hidden []string
	// Network is "none", "everything" or "allowed domains only".
	Network string
}

// Reach tells what the plan lets a command reach.
func (p Plan) Reach() Reach {
	if p.Mode == FullAccess {
		return Reach{Writable: []string{"everything"}, Network: "everything"}
	}
	r := Reach{Confined: p.Confined(), Writable: []string{}, Network: "none"}
	switch {
	case p.Network:
		r.Network = "everything"
	case p.Proxy != nil:
		r.Network = "allowed domains only"
	}
	for _, m := range p.Mounts {
		switch {
		case m.Kind == MountWrite || m.Kind == MountTmp:
			r.Writable = append(r.Writable, m.Path)
		case m.Kind == MountRead && m.Path != "/":
			r.Protected = append(r.Protected, m.Path)
		case m.Kind == MountHideDir || m.Kind == MountHideFile:
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
