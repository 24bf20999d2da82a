package patch_test

import (
	"testing"

	"kerf/internal/text/patch"
)

const hasMerge = false

func checkStream(t *testing.T, text []byte, p *patch.Patch) {}
