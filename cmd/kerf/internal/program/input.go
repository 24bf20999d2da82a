package program

import (
	"fmt"
	"io"
	"strings"

	"kerf/internal/protocol"
)

// maxInput bounds a prompt read from standard input.
const maxInput = 16 << 20

// ReadInput reads a prompt to the end, without the line breaks behind it.
func ReadInput(r io.Reader) (string, error) {
	b, err := ReadAtMost(r, maxInput)
	if err != nil {
		return "", Misuse("%v", err)
	}
	return strings.ToValidUTF8(strings.TrimRight(string(b), "\r\n"), "\uFFFD"), nil
}

// ReadAtMost reads standard input to the end, and fails if there are more bytes than most.
func ReadAtMost(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("standard input: it has more than %d bytes, which is too long", most)
	}
	return b, nil
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
