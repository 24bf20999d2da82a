package tree

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// The parts around the digits of a temporary name.
const (
	temporaryPrefix = ".kerf-"
	temporarySuffix = ".tmp"
)

// TemporaryName returns a name for a file that is about to be renamed. It cannot be
// guessed, so that nobody can wait for it.
func TemporaryName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return temporaryPrefix + hex.EncodeToString(b[:]) + temporarySuffix
}

// IsTemporary reports whether name is like those of TemporaryName: a file with it is no
// change of anything.
func IsTemporary(name string) bool {
	name, ok := strings.CutPrefix(name, temporaryPrefix)
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, temporarySuffix)
	return ok && len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}
