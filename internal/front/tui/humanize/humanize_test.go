package humanize

import (
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	for want, got := range map[string]string{
		"1 file": Count(1, "file"), "0 files": Count(0, "file"), "2 processes": Count(2, "process"),
		"999": Tokens(999), "1.0k": Tokens(1000), "12k": Tokens(12_345), "1.2M": Tokens(1_230_000), "12M": Tokens(12_300_000),
		"9000 bytes": Bytes(9000), "10 KB": Bytes(10 << 10), "1.5 MB": Bytes(3 << 19), "1.5 GB": Bytes(3 << 29),
		"3s": Duration(2600 * time.Millisecond), "1m 05s": Duration(65 * time.Second), "2h 03m": Duration(123 * time.Minute),
		"just now": Ago(time.Second), "5m ago": Ago(5 * time.Minute), "47h ago": Ago(47 * time.Hour),
		"2d ago": Ago(49 * time.Hour),
		"$0.050": Dollars(0.05), "$1.50": Dollars(1.5), "c.go": Base(`a\b/c.go`), "b": Base("/a/b/"), "": Base(""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
