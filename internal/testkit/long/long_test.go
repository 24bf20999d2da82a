package long_test

import (
	"testing"

	"kerf/internal/testkit/long"
)

func TestOf(t *testing.T) {
	for value, want := range map[string]string{"": "few", "1": "part", "all": "all"} {
		t.Setenv("KERF_LONG", value)
		if got := long.Of("all", "part", "few"); got != want {
			t.Errorf("KERF_LONG=%q: %s, want %s", value, got, want)
		}
		if long.Asked() != (value != "") {
			t.Errorf("KERF_LONG=%q: asked: %t", value, long.Asked())
		}
	}
}
