package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/boundary"
)

// TestWhatAPlanReachesIsTold: whatever protects a name, once each, in order.
func TestWhatAPlanReachesIsTold(t *testing.T) {
	mounts := []boundary.Mount{{Kind: boundary.MountRead, Path: "/"}, {Kind: boundary.MountTmp, Path: "/tmp"}, {Kind: boundary.MountWrite, Path: "/w"},
		{Kind: boundary.MountRead, Path: "/w/z"}, {Kind: boundary.MountRead, Path: "/w/.git"}, {Kind: boundary.MountHideDir, Path: "/k"},
		{Kind: boundary.MountHideFile, Path: "/w/.env"}}
	for name, c := range map[string]struct {
		plan boundary.Plan
		want Reach
	}{
		"everything": {boundary.Plan{Mode: boundary.FullAccess, Mounts: mounts}, Reach{Writable: []string{"everything"}, Network: "everything"}},
		"a workspace": {boundary.Plan{Mode: boundary.WorkspaceWrite, Cwd: "/w", Mounts: mounts, Masks: []boundary.Mask{{Path: "/w/.kerf"}, {Path: "/w/.git"}}},
			Reach{Writable: []string{"/tmp", "/w"}, Protected: []string{"/w/.git", "/w/.kerf", "/w/z"}, Hidden: []string{"/k", "/w/.env"}, Network: "none"}},
		"hosts":       {boundary.Plan{Mode: boundary.ReadOnly, Proxy: &boundary.Filter{}}, Reach{Writable: []string{}, Network: "allowed domains only"}},
		"the network": {boundary.Plan{Mode: boundary.ReadOnly, Network: true}, Reach{Writable: []string{}, Network: "everything"}},
	} {
		c.want.Confined = Confined(c.plan)
		if diff := cmp.Diff(c.want, ReachOf(c.plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if Confined(boundary.Plan{Mode: boundary.FullAccess}) {
		t.Error("full access has no launcher")
	}
}
