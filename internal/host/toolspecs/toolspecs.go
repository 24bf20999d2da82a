// Package toolspecs is the schemas of the tools, for people and programs.
package toolspecs

import (
	"encoding/json"
	"fmt"

	"kerf/internal/agent/tools"
)

// Names are the names of the tools, as they are listed.
func Names() (list []string) {
	for _, t := range tools.All() {
		list = append(list, t.Spec().Name)
	}
	return list
}

// JSON are the schemas that `kerf tool --list` prints.
func JSON() ([]byte, error) {
	type spec struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Aliases     []string        `json:"aliases,omitempty"`
	}
	var list []spec
	for _, t := range tools.All() {
		s := t.Spec()
		list = append(list, spec{s.Name, s.Description, s.Schema, s.Aliases})
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("tool schemas: %w", err)
	}
	return b, nil
}
