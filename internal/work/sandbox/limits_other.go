//go:build !linux

package sandbox

import "kerf/internal/work/boundary"

// DefaultLimits has none here: nothing would hold them.
func DefaultLimits() boundary.Limits { return boundary.Limits{} }
