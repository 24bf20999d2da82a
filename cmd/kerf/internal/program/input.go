package program

import (
	"io"
	"strings"

	"kerf/internal/protocol"
)

// maxInput bounds a prompt read from standard input.
const maxInput = 16 << 20

// ReadInput reads a prompt to the end, without the line breaks behind it.
func ReadInput(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return "", Misuse("standard input: %v", err)
	}
	if len(b) > maxInput {
		return "", Misuse("standard input: a prompt may have at most %d bytes", maxInput)
	}
	return strings.ToValidUTF8(strings.TrimRight(string(b), "\r\n"), "\uFFFD"), nil
}

// CheckSettings refuses sandbox modes and approval policies that there are not.
func CheckSettings(set protocol.Settings) error {
	switch set.Sandbox {
	case "", protocol.SandboxReadOnly, protocol.SandboxWorkspace, protocol.SandboxFull:
	default:
		return Misuse("--sandbox %q: use read-only, workspace-write or danger-full-access", set.Sandbox)
	}
	switch set.Approval {
	case "", protocol.PolicyUntrusted, protocol.PolicyOnRequest, protocol.PolicyOnFailure, protocol.PolicyNever,
		protocol.PolicyAutoEdit, protocol.PolicyPlan:
	default:
		return Misuse("--ask-for-approval %q: use untrusted, on-request, on-failure, never, auto-edit or plan", set.Approval)
	}
	return nil
}
