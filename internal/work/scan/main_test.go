package scan

import (
	"os"
	"testing"

	files "kerf/internal/testkit/memory"
)

func TestMain(m *testing.M) { os.Exit(files.Run(m)) }
