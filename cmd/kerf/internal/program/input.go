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
	if why := (protocol.Settings{Sandbox: set.Sandbox}).Fault(); why != "" {
		return Misuse("%s", strings.Replace(why, "sandbox mode", "--sandbox", 1))
	}
	if why := set.Fault(); why != "" {
		return Misuse("%s", strings.Replace(why, "approval policy", "--ask-for-approval", 1))
	}
	return nil
}
