package sandbox

import (
	"context"
	"fmt"
	"os"
)

const seatbelt = "/usr/bin/sandbox-exec"

// Confined reports whether the wrapped command is led by a launcher.
// sandbox-exec becomes the command.
func (p Plan) Confined() bool { return false }

// Wrap returns the command that runs argv under the plan; see the Linux version
// for the contract. There are no extra files here.
func Wrap(ctx context.Context, p Plan, argv, env []string) (wrapped []string, extra []*os.File, cleanup func(), err error) {
	nothing := func() {}
	if p.Mode == FullAccess {
		return argv, nil, nothing, nil
	}
	if err := Probe(ctx); err != nil {
		return nil, nil, nothing, err
	}
	profile, params := p.Seatbelt()
	wrapped = []string{seatbelt, "-p", profile}
	for _, param := range params {
		wrapped = append(wrapped, "-D", param.Name+"="+param.Value)
	}
	wrapped = append(wrapped, "--", "/usr/bin/env", "KERF_SANDBOX=seatbelt")
	if tmp := p.temporary(); tmp != "" {
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			return nil, nil, nothing, fmt.Errorf("sandbox: temporary directory: %w", err)
		}
		wrapped = append(wrapped, "TMPDIR="+tmp)
	}
	return append(wrapped, argv...), nil, nothing, nil
}

// Probe reports whether commands can be confined here.
func Probe(ctx context.Context, avoid ...string) error {
	if _, err := os.Stat(seatbelt); err != nil {
		return &UnavailableError{Reason: seatbelt + " is missing", Hint: "run with --sandbox " + FullAccess}
	}
	return nil
}
