//go:build linux

package trust

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kerf/internal/testkit/long"
)

// pending are the stories and laws that do not hold yet, and the part of Kerf that they
// wait for. With KERF_TRUST_STRICT set nothing is excused.
var pending = map[string]string{}

// strict reports whether nothing is excused.
func strict() bool { return os.Getenv("KERF_TRUST_STRICT") != "" }

// story is a test whose faults are collected, so that one that is pending can be
// excused.
type story struct {
	*testing.T
	*place
	faults []string
}

// Errorf notes a fault.
func (s *story) Errorf(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// Fatalf notes a fault and ends the story.
func (s *story) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

// must ends the story when something went wrong that is no part of it.
func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v", err)
	}
}

// tell runs a story in a place of its own.
func tell(t *testing.T, name string, files map[string]string, f func(*story)) {
	t.Run(name, func(t *testing.T) {
		if len(name)%8 != 0 { // an eighth is enough for the quick loop
			long.Slow(t)
		}
		t.Parallel()
		kerf, err := program()
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlace(kerf, scratch(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := put(p.dir, files); err != nil {
			t.Fatal(err)
		}
		s := &story{T: t, place: p}
		done := make(chan struct{})
		go func() { // ends with the story, also by Goexit
			defer close(done)
			f(s)
		}()
		<-done
		settle(t, t.Name(), s.faults)
	})
}

// settle fails a test for its faults, unless they are excused.
func settle(t *testing.T, name string, faults []string) {
	t.Helper()
	why := pending[name]
	switch {
	case len(faults) == 0 && why != "":
		t.Logf("it holds this time; take %q out of pending (%s) when it always does", name, why)
	case len(faults) > 0 && why != "" && !strict():
		t.Skipf("pending: %s\n%s", why, strings.Join(faults, "\n"))
	case len(faults) > 0:
		t.Error(strings.Join(faults, "\n"))
	}
}

// holds checks the content of a file.
func (s *story) holds(path, want string) {
	s.Helper()
	n, err := nodeAt(s.dir + "/" + path)
	if err != nil {
		s.Errorf("%v, want %q", err, want)
	} else if n.data != want {
		s.Errorf("%s holds %q, want %q", path, n.data, want)
	}
}

// gone checks that a path is not there.
func (s *story) gone(paths ...string) {
	s.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(s.dir + "/" + path); err == nil {
			s.Errorf("%s is there", path)
		}
	}
}

// claims returns the paths of the proven entries, of one call or of all, sorted.
func (s *story) claims(call string) []string {
	list, err := s.log()
	s.must(err)
	var paths []string
	for _, e := range list {
		if !e.proven() || call != "" && e.Call != call || e.Cause == "undo" || e.Cause == "redo" {
			continue
		}
		for _, c := range e.Changes {
			paths = append(paths, s.short(c.Path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// claimed checks what the proven entries of a call are about.
func (s *story) claimed(call string, want ...string) {
	s.Helper()
	// The signal that came and went may be told or not, as the looks at it fell.
	got := slices.DeleteFunc(s.claims(call), func(p string) bool { return p == "go.tmp" })
	if !slices.Equal(got, want) {
		s.Errorf("the log lays %q to call %q, want %q", got, call, want)
	}
}

// undoes runs an undo that must succeed.
func (s *story) undoes(args ...string) report {
	s.Helper()
	r, err := s.undo(append([]string{"undo"}, args...)...)
	if err != nil || r.result.code != 0 {
		s.Errorf("undo %s: %v %v", strings.Join(args, " "), err, r.result)
	}
	return r
}

// foreign checks that blame gives a line to nobody of Kerf's.
func (s *story) foreign(path, text string) {
	s.Helper()
	lines, err := s.blame(path)
	if err != nil {
		s.Errorf("%v", err)
	}
	for _, l := range lines {
		if strings.TrimSuffix(l.Text, "\n") == text {
			if l.Origin == "kerf" {
				s.Errorf("blame %s: %q is laid to Kerf", path, text)
			}
			return
		}
	}
	s.Errorf("blame %s: there is no line %q", path, text)
}

// ours checks that blame gives a line to a call.
func (s *story) ours(path, text, call string) {
	s.Helper()
	lines, err := s.blame(path)
	if err != nil {
		s.Errorf("%v", err)
	}
	for _, l := range lines {
		if strings.TrimSuffix(l.Text, "\n") == text {
			if l.Origin != "kerf" || l.Call != call {
				s.Errorf("blame %s: %q is laid to %s %s, want kerf %s", path, text, l.Origin, l.Call, call)
			}
			return
		}
	}
	s.Errorf("blame %s: there is no line %q", path, text)
}
