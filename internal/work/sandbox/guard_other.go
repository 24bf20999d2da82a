//go:build !linux

package sandbox

import "kerf/internal/work/boundary"

// guard has nothing to watch where no placeholders are.
type guard struct{}

func (*guard) arm(func())     {}
func (*guard) broken() string { return "" }
func (*guard) end() []string  { return nil }

func (*guard) filled(boundary.Mask) bool { return false }

func setAside(boundary.Plan, []string) []boundary.Finding { return nil }

func aside(string) (string, bool) { return "", false }
