package track

import (
	"os"
	"testing"

	"kerf/internal/testkit/memory"
)

func TestMain(m *testing.M) { os.Exit(memory.Run(m)) }
