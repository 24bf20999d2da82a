//go:build !linux && !darwin

package sandbox

import (
	"context"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/render"
)

// Confined reports whether the wrapped command is led by a launcher.
func Confined(p boundary.Plan) bool { return false }

// Wrap lets only full access through: nothing else can be enforced here.
func Wrap(ctx context.Context, p boundary.Plan, argv []string) (*Box, error) {
	return wrap(ctx, p, argv, nil)
}

// Begin starts nothing before the plan is known.
func Begin(ctx context.Context, p boundary.Policy) *Ahead { return nil }

func wrap(ctx context.Context, p boundary.Plan, argv []string, _ *Ahead) (*Box, error) {
	if err := render.Windows(p); err != nil {
		return nil, err
	}
	return bare(argv), nil
}

// Probe reports that commands cannot be confined here.
func Probe(ctx context.Context, avoid ...string) error {
	return render.Windows(boundary.Plan{Mode: boundary.WorkspaceWrite})
}

// Warning is what users should know about the sandbox of this machine.
func Warning(ctx context.Context, locks string, avoid ...string) string {
	if err := Probe(ctx, avoid...); err != nil {
		return err.Error()
	}
	return ""
}

// Backend is what a probe found.
type Backend struct {
	Name string
	Err  error // nil when it works
}

// Backends tries every backend.
func Backends(ctx context.Context, avoid ...string) []Backend {
	return []Backend{{"restricted token", Probe(ctx, avoid...)}}
}
