package exec

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/text/visible"
)

// Checker says whether a final message follows a JSON schema.
type Checker struct{ resolved *jsonschema.Resolved }

// NewChecker reads a schema of draft 2020-12 or draft 7 that refers to no other file.
func NewChecker(schema json.RawMessage) (*Checker, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Checker{r}, nil
}

// Check returns why message does not follow the schema, or nil.
func (c *Checker) Check(message string) error {
	var value any
	if err := json.Unmarshal([]byte(message), &value); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return c.resolved.Validate(value)
}

// unfollowed is why the final message is not what --output-schema asked for, or "".
func (r *runner) unfollowed(message string) string {
	if len(r.o.Schema) == 0 {
		return ""
	}
	c, err := NewChecker(r.o.Schema)
	if err == nil {
		err = c.Check(message)
	}
	if err == nil {
		return ""
	}
	return "the final message does not follow --output-schema: " + visible.ClipRunes(err.Error(), 500)
}
