package scenario

import (
	"os"
	"path/filepath"
	"testing"
)

// The shipped scenarios are scenarios.
func TestShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../doc/examples/scenarios/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Check(f)
		_ = f.Close()
		if err != nil || len(report.Warnings) > 0 {
			t.Errorf("%s: %v %q", name, err, report.Warnings)
		}
	}
}
