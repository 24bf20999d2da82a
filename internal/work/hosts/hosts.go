// Package hosts decides which hosts of the network may be reached.
//
// A host is judged in the form to which it was parsed, and connected to at exactly the
// address that was judged, so that neither spelling nor a second answer of the resolver
// leads elsewhere.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// rule is one parsed pattern.
type rule struct {
	deny   bool
	host   string // exact, or what a wildcard stands before
	wild   bool   // what is below host when it is not empty, else everything
	both   bool   // host itself, too
	prefix netip.Prefix
	port   int // 0 for 80 and 443
}

// Verdict says what the rules say of a host.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // no rule names it
	Allowed
	Denied
)

// Rules are parsed patterns. They are not changed, and may be used by several goroutines.
type Rules struct{ rules []rule }

// Parse reads patterns, each with "allow" or "deny": a host, `*.host` for what lies below
// it, `**.host` for both, `*` for all, an address or a range of addresses, each with an
// optional :port. Without one the ports are 80 and 443. Deny wins.
func Parse(domains map[string]string) (Rules, error) {
	var parsed Rules
	for pattern, word := range domains {
		r, err := parseRule(pattern, word)
		if err != nil {
			return Rules{}, err
		}
		parsed.rules = append(parsed.rules, r)
	}
	return parsed, nil
}

func parseRule(pattern, word string) (rule, error) {
	r := rule{deny: word == "deny"}
	if word != "allow" && word != "deny" {
		return r, fmt.Errorf("domain %q: %q must be allow or deny", pattern, word)
	}
	name := pattern
	if prefix, err := netip.ParsePrefix(name); err == nil {
		r.prefix = prefix.Masked()
		return r, nil
	}
	if head, tail, ok := cutPort(name); ok {
		port, err := strconv.Atoi(tail)
		if err != nil || port < 1 || port > 65535 {
			return r, fmt.Errorf("domain %q: %q is not a port", pattern, tail)
		}
		name, r.port = head, port
	}
	if name == "*" {
		r.wild = true
		return r, nil
	}
	if rest, ok := strings.CutPrefix(name, "**."); ok {
		name, r.wild, r.both = rest, true, true
	} else if rest, ok := strings.CutPrefix(name, "*."); ok {
		name, r.wild = rest, true
	}
	host, err := Canonical(name)
	if err != nil {
		return r, fmt.Errorf("domain %q: %w", pattern, err)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if r.wild {
			return r, fmt.Errorf("domain %q: an IP address has no subdomains", pattern)
		}
		r.prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	r.host = host
	return r, nil
}

// cutPort splits the port off; an address of version 6 has one behind brackets
// only.
func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Count(s, ":") > 1 && !strings.Contains(s, "]:") {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func (r rule) fits(host string, port int) bool {
	switch {
	case r.port != 0 && r.port != port, r.port == 0 && !r.deny && port != 80 && port != 443:
		return false
	case r.wild && r.host == "":
		return true
	case r.wild:
		return strings.HasSuffix(host, "."+r.host) || r.both && host == r.host
	}
	return r.host == host
}

// Judge looks a host up, in the form that [Canonical] gives it.
func (r Rules) Judge(host string, port int) Verdict {
	literal, _ := netip.ParseAddr(host) // invalid for a name
	if literal.IsValid() {
		return r.address(literal, port)
	}
	v := Unknown
	for _, rule := range r.rules {
		if rule.prefix.IsValid() || !rule.fits(host, port) {
			continue
		}
		if rule.deny {
			return Denied
		}
		v = Allowed
	}
	return v
}

// address looks an address up among the rules that are about addresses, and those that deny
// everything.
func (r Rules) address(a netip.Addr, port int) Verdict {
	v := Unknown
	for _, rule := range r.rules {
		fits := rule.port == port || rule.port == 0 && (rule.deny || port == 80 || port == 443)
		everything := rule.deny && rule.wild && rule.host == ""
		if !fits || !everything && (!rule.prefix.IsValid() || !rule.prefix.Contains(a)) {
			continue
		}
		if rule.deny {
			return Denied
		}
		v = Allowed
	}
	return v
}

// Resolver finds the addresses of a host.
type Resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// Address is the one to connect to for a host that was admitted with the verdict v: the
// first that is public, or that a rule names as an address. Resolve is not called for a
// host that is an address itself.
func (r Rules) Address(ctx context.Context, resolve Resolver, host string, port int,
	v Verdict) (netip.AddrPort, error) {
	literal, _ := netip.ParseAddr(host)
	addrs := []netip.Addr{literal}
	if !literal.IsValid() {
		var err error
		if addrs, err = resolve(ctx, host); err != nil {
			return netip.AddrPort{}, fmt.Errorf("%s cannot be resolved: %w", host, err)
		}
	}
	for _, a := range addrs {
		a = a.Unmap()
		by := r.address(a, port)
		if a.Zone() != "" || by == Denied {
			continue
		}
		if public(a) || by == Allowed || host == "localhost" && v == Allowed && a.IsLoopback() {
			return netip.AddrPortFrom(a, uint16(port)), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("%s has no public address; to allow a private one, list the address itself",
		host)
}

// Allows says for domains whether commands may reach a host, and why not, without asking
// anybody. It may be used by several goroutines.
func Allows(domains map[string]string) func(host string, port int) (bool, string) {
	parsed := sync.OnceValues(func() (Rules, error) { return Parse(domains) })
	return func(host string, port int) (bool, string) {
		rules, err := parsed()
		if err != nil {
			return false, err.Error()
		}
		name, err := Canonical(host)
		if err != nil {
			return false, err.Error()
		}
		switch rules.Judge(name, port) {
		case Allowed:
			return true, ""
		case Denied:
			return false, "the policy denies it"
		}
		if literal, err := netip.ParseAddr(name); err == nil && !public(literal) {
			return false, "private and local addresses must be named as addresses"
		}
		return false, "no rule names it; a session asks, and refuses where nobody can be asked"
	}
}

var errHost = errors.New("the host name is not a plain one")

// Canonical returns a host in the one form that is judged and resolved: lower
// case, without the final dot. What a resolver might read in another way than we
// do is an error: other letters than those of host names, and numbers that are
// addresses in disguise.
func Canonical(host string) (string, error) {
	host = trimBrackets(host)
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return "", errHost
		}
		return addr.Unmap().String(), nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 {
		return "", errHost
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", errHost
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", errHost
			}
		}
	}
	last := labels[len(labels)-1]
	if last[0] >= '0' && last[0] <= '9' { // no such top domain exists
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return "", errHost
		}
		return addr.String(), nil
	}
	return host, nil
}

func trimBrackets(s string) string {
	if len(s) > 1 && s[0] == '[' && s[len(s)-1] == ']' {
		return s[1 : len(s)-1]
	}
	return s
}

// reserved are the ranges that are not the open network, those the standard
// library has no word for, and the one public address at which a cloud answers
// its machines.
var reserved = []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", "192.88.99.0/24",
	"::/96", "3fff::/20", "5f00::/16", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10"}

// public reports whether an address is one of the open network.
func public(a netip.Addr) bool {
	if a.IsPrivate() || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() ||
		a.IsInterfaceLocalMulticast() || !a.IsGlobalUnicast() {
		return false
	}
	for _, r := range reserved {
		if netip.MustParsePrefix(r).Contains(a) {
			return false
		}
	}
	return true
}
