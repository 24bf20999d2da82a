package sandbox

import (
	"context"
	"fmt"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/render"
	"os"
)

const seatbelt = "/usr/bin/sandbox-exec"

// Confined reports whether the wrapped command is led by a launcher.
func Confined(p boundary.Plan) bool { return false }

// Wrap makes argv ready to run under the plan; see the Linux version for the
// contract. sandbox-exec becomes the command.
func Wrap(ctx context.Context, p boundary.Plan, argv []string) (*Box, error) {
	return wrap(ctx, p, argv, nil)
}

// Begin starts nothing before the plan is known.
func Begin(ctx context.Context, p boundary.Policy) *Ahead { return nil }

func wrap(ctx context.Context, p boundary.Plan, argv []string, _ *Ahead) (*Box, error) {
	if p.Mode == boundary.FullAccess {
		return bare(argv), nil
	}
	if p.Proxy != nil {
		return nil, &render.UnavailableError{Reason: "the network cannot be filtered by domain on macOS yet",
			Hint: "allow or deny it as a whole"}
	}
	if err := Probe(ctx); err != nil {
		return nil, err
	}
	profile, params := render.Seatbelt(p)
	wrapped := []string{seatbelt, "-p", profile}
	for _, param := range params {
		wrapped = append(wrapped, "-D", param.Name+"="+param.Value)
	}
	wrapped = append(wrapped, "--", "/usr/bin/env", "KERF_SANDBOX=seatbelt")
	if tmp := p.TempDir(); tmp != "" {
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			return nil, fmt.Errorf("sandbox: temporary directory: %w", err)
		}
		wrapped = append(wrapped, "TMPDIR="+tmp)
	}
	return &Box{Argv: append(wrapped, argv...), plan: p}, nil
}

// Probe reports whether commands can be confined here.
func Probe(ctx context.Context, avoid ...string) error {
	if _, err := os.Stat(seatbelt); err != nil {
		return &render.UnavailableError{Reason: seatbelt + " is missing", Hint: "run with --sandbox " + boundary.FullAccess}
	}
	return nil
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
	return []Backend{{"seatbelt", Probe(ctx, avoid...)}}
}
