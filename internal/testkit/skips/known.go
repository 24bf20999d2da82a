package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

//go:embed known.txt
var knownText string

// rule is a line of known.txt: a reason is known where one of its grounds is there.
type rule struct {
	reason  *regexp.Regexp
	grounds []string
}

// readKnown reads lines of a regular expression, a tab and grounds. A line that begins
// with # is a comment.
func readKnown(text string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		expr, grounds, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("known.txt, line %d: no tab", i+1)
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("known.txt, line %d: %w", i+1, err)
		}
		r := rule{re, strings.Fields(grounds)}
		for _, g := range r.grounds {
			if _, err := (machine{}).grounds(g); err != nil {
				return nil, fmt.Errorf("known.txt, line %d: %w", i+1, err)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// machine answers whether a ground for skipping is there; answers are kept.
type machine map[string]bool

// grounds reports whether the ground g is there.
func (m machine) grounds(g string) (bool, error) {
	if is, ok := m[g]; ok {
		return is, nil
	}
	kind, name, _ := strings.Cut(g, ":")
	var is bool
	switch kind {
	case "always":
		is = true
	case "unset": // a variable of the environment
		is = os.Getenv(name) == ""
	case "without", "maybe": // a program, which CI has or has not
		_, err := exec.LookPath(name)
		is = err != nil
	case "not": // a system
		is = runtime.GOOS != name
	case "arch": // not this one
		is = runtime.GOARCH != name
	case "root":
		is = os.Getuid() == 0
	case "user":
		is = os.Getuid() != 0
	case "nouserns": // no namespaces for this user
		is = exec.Command("unshare", "-U", "-r", "-m", "true").Run() != nil
	case "nobwrap":
		is = exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").Run() != nil
	case "nolandlock":
		text, err := os.ReadFile("/sys/kernel/security/lsm")
		is = err != nil || !strings.Contains(string(text), "landlock")
	default:
		return false, fmt.Errorf("%q is no ground", g)
	}
	m[g] = is
	return is, nil
}

// known reports whether the machine gives grounds for a reason.
func (m machine) known(rules []rule, reason string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return r.reason.MatchString(reason) && slices.ContainsFunc(r.grounds, func(g string) bool {
			is, _ := m.grounds(g) // readKnown has looked
			return is
		})
	})
}

// tell prints the skipped tests by their reasons, those that are new last, and how many
// reasons are new.
func (r *reader) tell(rules []rule, m machine) (fresh int) {
	by := map[string][]string{}
	for _, s := range r.skips {
		by[s.reason] = append(by[s.reason], s.pkg[strings.LastIndexByte(s.pkg, '/')+1:]+"."+s.test)
	}
	if len(r.skips) > 0 {
		fmt.Fprintf(r.w, "\nskipped: %d tests\n", len(r.skips))
	}
	var last []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[reason])
		line := fmt.Sprintf("%s\n    %s\n", reason, strings.Join(by[reason], "\n    "))
		if m.known(rules, reason) {
			fmt.Fprint(r.w, "  ", line)
		} else {
			last = append(last, line)
		}
	}
	for _, line := range last {
		fmt.Fprint(r.w, "  NEW: ", line)
	}
	if len(last) > 0 {
		fmt.Fprintf(r.w, "%d reasons are new: mend the cause, or add a line with its grounds to "+
			"internal/testkit/skips/known.txt\n", len(last))
	}
	return len(last)
}
