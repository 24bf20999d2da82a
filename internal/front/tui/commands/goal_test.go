package commands

import (
	"testing"

	"kerf/internal/protocol"
)

func TestWordsOfAGoal(t *testing.T) {
	for words, want := range map[string]protocol.Goal{
		"make it pass": {Text: "make it pass"},
		"make it pass --check go test ./... -count=1": {Text: "make it pass", Check: "go test ./... -count=1"},
		`"make it pass" --check "make check"`:         {Text: "make it pass", Check: "make check"},
		"mend it --max-checks 3 --check make":         {Text: "mend it", Check: "make", Checks: 3},
		"mend it --check make --max-checks=3":         {Text: "mend it", Check: "make", Checks: 3},
		`say "no" --check grep -q "a b" f`:            {Text: `say "no"`, Check: `grep -q "a b" f`},
		"mend --checks":                               {Text: "mend --checks"},
	} {
		got, err := goalOf(words)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", words, got, err, want)
		}
	}
	for _, words := range []string{"", "--check make", "mend --check", "mend --max-checks 3", "mend --check make --max-checks 0"} {
		if got, err := goalOf(words); err == nil {
			t.Errorf("%q was taken as %+v", words, got)
		}
	}
}
