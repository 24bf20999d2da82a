package hosts

import (
	"context"
	"net/netip"
	"strings"
	"testing"
)

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"ok.test", "OK.test.", "127.0.0.1", "::1", "0x7f.1", "a\x00b", "xn--a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, err := Canonical(s)
		if err != nil {
			return
		}
		if again, err := Canonical(host); err != nil || again != host {
			t.Errorf("%q: %q becomes %q, %v", s, host, again, err)
		}
		if strings.ContainsAny(host, "\x00 %#@?/\\") {
			t.Errorf("%q: %q", s, host)
		}
	})
}

// TestDeniedIsDenied: what denies everything denies addresses, too, by their names and as they are.
func TestDeniedIsDenied(t *testing.T) {
	for _, tt := range []struct {
		domains map[string]string
		host    string
		port    int
		want    Verdict
	}{
		{map[string]string{"*": "deny"}, "93.184.216.34", 80, Denied},
		{map[string]string{"*": "deny"}, "2606:4700::1", 443, Denied},
		{map[string]string{"*": "deny"}, "site.test", 8080, Denied},
		{map[string]string{"*": "deny", "10.0.0.5": "allow"}, "10.0.0.5", 80, Denied},
		{map[string]string{"*:22": "deny"}, "93.184.216.34", 22, Denied},
		{map[string]string{"*:22": "deny"}, "93.184.216.34", 80, Unknown},
		{map[string]string{"*.test": "deny"}, "93.184.216.34", 80, Unknown},
		{map[string]string{"*": "allow"}, "10.0.0.5", 80, Unknown},
		{map[string]string{"10.0.0.0/8": "allow"}, "10.0.0.5", 80, Allowed},
	} {
		rules, err := Parse(tt.domains)
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Judge(tt.host, tt.port); got != tt.want {
			t.Errorf("%v, %s:%d: %v, want %v", tt.domains, tt.host, tt.port, got, tt.want)
		}
	}
	rules, _ := Parse(map[string]string{"*:80": "deny", "site.test:80": "allow"})
	resolve := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	if a, err := rules.Address(context.Background(), resolve, "site.test", 80, Allowed); err == nil {
		t.Errorf("a name leads to %v", a)
	}
}
