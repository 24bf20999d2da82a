package program

import (
	"strings"
	"testing"
)

// TestWhatIsTooLongIsNotCut: half of a prompt or a diff is not taken for all of it.
func TestWhatIsTooLongIsNotCut(t *testing.T) {
	if b, err := ReadAtMost(strings.NewReader("12345"), 5); string(b) != "12345" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := ReadAtMost(strings.NewReader("123456"), 5); b != nil || err == nil || !strings.Contains(err.Error(), "more than 5 bytes") {
		t.Errorf("%q, %v", b, err)
	}
}
