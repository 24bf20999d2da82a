package quirks

import (
	"fmt"
	"strings"
)

// Differs says how a run differs from what is expected. The exit code is the caller's to
// compare.
func (w Want) Differs(requests []*Request, stdout, stderr string) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := len(requests); n < w.Least || w.Most > 0 && n > w.Most {
		fault("%d requests, want %d to %d", n, w.Least, w.Most)
	}
	last := ""
	if len(requests) > 0 {
		last = string(requests[len(requests)-1].Body)
	}
	has := func(what, text string, wanted bool, words []string) {
		for _, s := range words {
			if strings.Contains(strings.ToLower(text), strings.ToLower(s)) != wanted {
				fault("%s holds %q: %v, want %v", what, s, !wanted, wanted)
			}
		}
	}
	has("stdout", stdout, true, w.Out)
	has("stdout", stdout, false, w.NotOut)
	has("stderr", stderr, true, w.Err)
	has("stderr", stderr, false, w.NotErr)
	has("the last request", last, true, w.Last)
	has("the last request", last, false, w.NotLast)
	for _, s := range w.Once {
		if n := strings.Count(stdout, s); n != 1 {
			fault("stdout holds %q %d times, want it once", s, n)
		}
	}
	if n := strings.Count(stderr, "refused"); w.MostRefused > 0 && n > w.MostRefused {
		fault("stderr speaks of a refusal %d times, want %d at most", n, w.MostRefused)
	}
	return faults
}
