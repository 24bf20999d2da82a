//go:build noengine

// Package engine is left out of this program: it was built for workers alone.
package engine

import (
	"context"
	"errors"
)

// Here says that this program lacks the engine.
const Here = false

// Engine is a running one.
type Engine struct{ Address string }

// Start says that there is no engine.
func Start(string, int) (*Engine, error) {
	return nil, errors.New("this kerf-fleet was built without the engine (-tags noengine); use one that has it, or a Temporal service")
}

// Stop does nothing.
func (e *Engine) Stop(context.Context) error { return nil }
