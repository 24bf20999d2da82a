package render

import (
	"errors"
	"testing"

	"kerf/internal/work/boundary"
)

func TestWindowsRefusesWhatItCannotEnforce(t *testing.T) {
	if err := Windows(boundary.Plan{Mode: boundary.FullAccess}); err != nil {
		t.Fatal(err)
	}
	var unavailable *UnavailableError
	if err := Windows(boundary.Plan{Mode: boundary.ReadOnly}); !errors.As(err, &unavailable) {
		t.Errorf("got %v", err)
	}
}
