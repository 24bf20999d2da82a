package proxy

import (
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

type verdict int

const (
	unknown verdict = iota
	allowed
	denied
)

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
	name = trimBrackets(name)
	if name == "*" {
		r.wild = true
		return r, nil
	}
	if rest, ok := strings.CutPrefix(name, "**."); ok {
		name, r.wild, r.both = rest, true, true
	} else if rest, ok := strings.CutPrefix(name, "*."); ok {
		name, r.wild = rest, true
	}
	host, err := canonical(name)
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

// judge looks a host up in the rules; literal is set when it is an address.
func (p *Proxy) judge(host string, literal netip.Addr, port int) verdict {
	v := unknown
	if literal.IsValid() {
		v = p.judgeAddress(literal, port)
	}
	for _, r := range p.rules {
		if r.prefix.IsValid() || literal.IsValid() || !r.fits(host, port) {
			continue
		}
		if r.deny {
			return denied
		}
		v = allowed
	}
	return v
}

// Allows says for domains whether a proxy lets a host through, and why not, without
// asking anybody. It may be used by several goroutines.
func Allows(domains map[string]string) func(host string, port int) (bool, string) {
	made := sync.OnceValues(func() (*Proxy, error) { return New(Options{Domains: domains}) })
	return func(host string, port int) (bool, string) {
		p, err := made()
		if err != nil {
			return false, err.Error()
		}
		name, err := canonical(trimBrackets(host))
		if err != nil {
			return false, err.Error()
		}
		literal, _ := netip.ParseAddr(name) // invalid for a name
		switch p.judge(name, literal, port) {
		case allowed:
			return true, ""
		case denied:
			return false, "the policy denies it"
		}
		if literal.IsValid() && !public(literal) {
			return false, "private and local addresses must be named as addresses"
		}
		return false, "no rule names it; a session asks, and refuses where nobody can be asked"
	}
}

// judgeAddress looks an address up among the rules that are about addresses.
func (p *Proxy) judgeAddress(a netip.Addr, port int) verdict {
	v := unknown
	for _, r := range p.rules {
		fits := r.port == port || r.port == 0 && (r.deny || port == 80 || port == 443)
		if !r.prefix.IsValid() || !fits || !r.prefix.Contains(a) {
			continue
		}
		if r.deny {
			return denied
		}
		v = allowed
	}
	return v
}

var errHost = errors.New("the host name is not a plain one")

// canonical returns a host in the one form that is judged and resolved: lower
// case, without the final dot. What a resolver might read in another way than we
// do is an error: other letters than those of host names, and numbers that are
// addresses in disguise.
func canonical(host string) (string, error) {
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
