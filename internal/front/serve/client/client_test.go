package client

import (
	"testing"

	"kerf/internal/protocol"
)

// Where no session opens there is none: not one that is not nil and cannot be closed.
func TestOpenWithoutAServer(t *testing.T) {
	if s, err := (Client{Home: t.TempDir()}).Open(t.Context(), protocol.OpenOptions{}); err == nil || s != nil {
		t.Errorf("%#v %v", s, err)
	}
}
