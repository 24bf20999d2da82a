package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAnApprovalIsAboutOneThing, and the words of others in it are told as theirs.
func TestAnApprovalIsAboutOneThing(t *testing.T) {
	for _, tt := range []struct {
		a      Approval
		kind   ApprovalKind
		quotes []Quote
	}{
		{Approval{Reason: "Kerf's own"}, "", nil},
		{Approval{Command: &CommandApproval{}, Says: "please"}, AskCommand, []Quote{{"Model", "please"}}},
		{Approval{Change: &ChangeApproval{}, Says: "look", SaidBy: "Hook"}, AskChange, []Quote{{"Hook", "look"}}},
		{Approval{Tool: &ToolApproval{}}, AskTool, nil},
		{Approval{Network: &NetworkApproval{}}, AskHost, nil},
		{Approval{Question: &Question{Message: "Which?", Header: "H"}}, AskUser, []Quote{{"Model", "H"}, {"Model", "Which?"}}},
		{Approval{Question: &Question{Message: "Which?", Server: "s"}, Says: "x"}, AskServer, []Quote{{"MCP server s", "Which?"}, {"Model", "x"}}},
	} {
		if got := tt.a.Kind(); got != tt.kind {
			t.Errorf("%+v is about %q, want %q", tt.a, got, tt.kind)
		}
		if got := tt.a.Quotes(); !reflect.DeepEqual(got, tt.quotes) {
			t.Errorf("%+v quotes %q, want %q", tt.a, got, tt.quotes)
		}
	}
}

// TestEachDecisionIsToldInWords, and only those that allow something are told as allowed.
func TestEachDecisionIsToldInWords(t *testing.T) {
	for d, want := range map[Decision]string{Once: "Allowed", ForSession: "Allowed for this session", Always: "Allowed always",
		Deny: "Denied", Abort: "Denied", Void: "Not answered", "": "Denied", "bogus": "Denied"} {
		a := Answered{Decision: d, By: ByUser}
		if got := a.Outcome(); got != want || d.Allows() != strings.HasPrefix(want, "Allowed") {
			t.Errorf("%q: %q, allows %v", d, got, d.Allows())
		}
		a.By = ByNobody
		if got := a.Outcome(); got != "Denied, nobody could be asked" {
			t.Errorf("%q, answered by nobody: %q", d, got)
		}
	}
	for want, a := range map[string]Answered{"make": {Asked: "make"}, "make: no": {Asked: "make", By: ByUser, Words: "no"},
		"make ": {Asked: "make ", By: ByNobody, Words: "no"}, "make (asked by sub-agent a): no": {Asked: "make", Agent: "a", By: ByUser, Words: "no"}} {
		if got := a.Detail(); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}

// TestMissingCredentialsAreAMistakeInTheConfiguration.
func TestMissingCredentialsAreAMistakeInTheConfiguration(t *testing.T) {
	missing := errors.New("no key")
	e := &CredentialsError{Provider: "p", Err: missing}
	if e.Error() != "no key" || !errors.Is(e, missing) || e.ExitCode() != 2 {
		t.Errorf("%v, %d", e, e.ExitCode())
	}
}

// TestUsageAddsUp: sums are the same in every order, and nothing is lost.
func TestUsageAddsUp(t *testing.T) {
	any := rapid.Custom(func(t *rapid.T) Usage {
		n := func(name string) int { return rapid.IntRange(0, 1<<40).Draw(t, name) }
		return Usage{n("input"), n("cached"), n("write"), n("output"), n("reasoning")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := any.Draw(t, "a"), any.Draw(t, "b"), any.Draw(t, "c")
		if a.Add(b) != b.Add(a) || a.Add(b).Add(c) != a.Add(b.Add(c)) || a.Add(Usage{}) != a {
			t.Error("a sum depends on its order")
		}
		sum := reflect.ValueOf(a.Add(b))
		for i := range sum.NumField() {
			if want := reflect.ValueOf(a).Field(i).Int() + reflect.ValueOf(b).Field(i).Int(); sum.Field(i).Int() != want {
				t.Errorf("%s is %d, want %d", sum.Type().Field(i).Name, sum.Field(i).Int(), want)
			}
		}
		if a.Add(b).Total() != a.Total()+b.Total() || a.Total() != a.Input+a.Output {
			t.Error("totals do not add up")
		}
	})
}

// TestCoverageNamesWhatAnUndoLeaves, all of it up to a bound.
func TestCoverageNamesWhatAnUndoLeaves(t *testing.T) {
	var names []string
	for n := range 12 {
		names = append(names, fmt.Sprint("f", n))
	}
	for want, d := range map[string]TurnDiff{"": {}, "undo covers everything": {Files: 1},
		"undo covers everything so far, while commands still run":                 {Files: 1, Running: true},
		"undo does not cover: f0":                                                 {NotCovered: names[:1]},
		"undo does not cover: " + strings.Join(names[:10], "; "):                  {NotCovered: names[:10], Files: 3},
		"undo does not cover: " + strings.Join(names[:10], "; ") + "; and 1 more": {NotCovered: names[:11]}} {
		if got := d.Coverage(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}

// TestWiderSettingsAreNamed: a rank orders them, and what most leaves open is not bounded.
func TestWiderSettingsAreNamed(t *testing.T) {
	for i, s := range allSandboxes {
		for j, most := range allSandboxes {
			wider := Settings{Sandbox: s}.Wider(Settings{Sandbox: most})
			if is := most != "" && s.Rank() > most.Rank(); (wider != "") != is || is && wider != fmt.Sprintf("the sandbox %s is wider than %s", s, most) {
				t.Errorf("%s over %s: %q", s, most, wider)
			}
			if known := s.Rank() > 0 && most.Rank() > 0; known && (s.Rank() > most.Rank()) != (i > j) {
				t.Errorf("%s against %s: %d, %d", s, most, s.Rank(), most.Rank())
			}
		}
	}
	for _, s := range allApprovals {
		for _, most := range allApprovals {
			wider := Settings{Approval: s}.Wider(Settings{Approval: most})
			if is := most != "" && s.Rank() > most.Rank(); (wider != "") != is ||
				is && wider != fmt.Sprintf("the approval policy %s asks about less than %s", s, most) {
				t.Errorf("%s over %s: %q", s, most, wider)
			}
		}
	}
	order := []ApprovalPolicy{"bogus", PolicyPlan, PolicyUntrusted, PolicyOnRequest, PolicyOnFailure, PolicyNever}
	for i := range order[1:] {
		if order[i].Rank() >= order[i+1].Rank() {
			t.Errorf("%s allows as much as %s", order[i], order[i+1])
		}
	}
	if PolicyAutoEdit.Rank() != PolicyOnFailure.Rank() {
		t.Error("auto-edit and on-failure each ask about something that the other does not")
	}
}

// TestBoundsThatThereAreNotHoldNothing.
func TestBoundsThatThereAreNotHoldNothing(t *testing.T) {
	refuse := errors.New("not there")
	held := &Bounds{Confined: true, Dir: func(dir string) error {
		if dir == "/in" {
			return nil
		}
		return refuse
	}}
	var none *Bounds
	if none.Confines() || none.Check("/out") != nil || (&Bounds{}).Check("/out") != nil || (&Bounds{}).Confines() {
		t.Error("bounds that say nothing hold something")
	}
	if !held.Confines() || held.Check("/in") != nil || !errors.Is(held.Check("/out"), refuse) {
		t.Error("bounds do not hold")
	}
	if e := held.Elsewhere(); !e.Confines() || e.Check("/out") != nil || none.Elsewhere().Confines() {
		t.Error("in a directory that Kerf chose only the sandbox holds")
	}
}

// running is a session that was live before it was opened.
type running struct {
	Session
	turn TurnID
}

func (r running) Running() TurnID { return r.turn }

// TestATurnThatRunsIsNotToldTwice: a transcript ends before the one whose events come.
func TestATurnThatRunsIsNotToldTwice(t *testing.T) {
	turns := []PastTurn{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	for s, want := range map[Session]int{nil: 3, running{}: 3, running{turn: "2"}: 1, running{turn: "1"}: 0, running{turn: "9"}: 3} {
		if got := Before(s, turns); len(got) != want {
			t.Errorf("%+v: %d turns, want %d", s, len(got), want)
		}
	}
}

// TestForeignChangesAreThoseThatKerfDidNotMake.
func TestForeignChangesAreThoseThatKerfDidNotMake(t *testing.T) {
	for _, cause := range []string{"tool", "command", "outside", "undo", "redo"} {
		for _, known := range []Certainty{"", Proven, Outside, Unproven} {
			want := cause == "outside" || known == Outside
			if got := (ChangeEntry{Cause: cause, Certainty: known}).Foreign(); got != want {
				t.Errorf("%s, %s: %v", cause, known, got)
			}
		}
	}
}
