package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Given is what a program was given by another one, which may be a later one.
type Given[T any] struct {
	Of T
	// Later says what a later program wrote that this one does not know, and so would not do.
	Later error
}

// MarshalJSON is that of what was given.
func (g Given[T]) MarshalJSON() ([]byte, error) { return json.Marshal(g.Of) }

// UnmarshalJSON fills in what this program knows, and Later.
func (g *Given[T]) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &g.Of); err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(T)); err != nil {
		g.Later = fmt.Errorf("a later kerf-fleet asks for what this one does not have (%s); a worker of that release does it",
			strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
