//go:build !linux

package sandbox

import "kerf/internal/work/sandbox/plan"

// DefaultLimits has none here: nothing would hold them.
func DefaultLimits() plan.Limits { return plan.Limits{} }
