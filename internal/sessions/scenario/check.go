package scenario

import (
	"fmt"
	"io"
	"strings"

	"kerf/internal/agent/tools"
	"kerf/internal/model/script"
	"kerf/internal/model/script/serve"
)

// Serve plays a scenario as a provider on the loopback interface until
// stop is called.
func Serve(r io.Reader) (baseURL string, stop func(), err error) {
	s, err := script.Load(r)
	if err != nil {
		return "", nil, err
	}
	server, err := serve.Start(s)
	if err != nil {
		return "", nil, err
	}
	return server.URL, server.Close, nil
}

// Report is what a look at a scenario finds.
type Report struct {
	Title          string
	Rounds, Calls  int
	Matching       string
	Warnings       []string
	Expectations   int
	FailingReplies int
}

// Check reads a scenario. Its error names line and column; warnings are
// about what can be played but is hardly meant.
func Check(r io.Reader) (Report, error) {
	s, err := script.Load(r)
	if err != nil {
		return Report{}, err
	}
	report := Report{Title: s.Title, Rounds: len(s.Rounds), Matching: s.Matching}
	if report.Matching == "" {
		report.Matching = script.Tolerant
	}
	warn := func(format string, args ...any) {
		report.Warnings = append(report.Warnings, fmt.Sprintf(format, args...))
	}
	if len(s.Rounds) == 0 {
		warn("it has no rounds: the first request has no answer")
	}
	ids := map[string]int{}
	for k, round := range s.Rounds {
		if round.Expect != nil {
			report.Expectations++
		}
		if round.Error != nil || round.Cut {
			report.FailingReplies++
		}
		if len(round.Items) == 0 && round.Error == nil && !round.Cut {
			warn("round %d is empty", k+1)
		}
		for _, i := range round.Items {
			if i.Call == "" {
				continue
			}
			report.Calls++
			if _, ok := tools.Lookup(i.Call); !ok && !strings.HasPrefix(i.Call, "mcp__") {
				warn("round %d calls %q, which is not a tool of kerf", k+1, i.Call)
			}
			if before, ok := ids[i.ID]; ok && i.ID != "" {
				warn("round %d repeats the call id %q of round %d: the call would run only once", k+1, i.ID, before)
			}
			ids[i.ID] = k + 1
		}
	}
	if n := len(s.Rounds); n > 0 && calls(s.Rounds[n-1]) && s.Rounds[n-1].Error == nil {
		warn("the last round calls a tool: the request that follows has no answer")
	}
	return report, nil
}

func calls(r script.Round) bool {
	for _, i := range r.Items {
		if i.Call != "" {
			return true
		}
	}
	return false
}
