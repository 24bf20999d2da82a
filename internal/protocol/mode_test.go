package protocol

import (
	"reflect"
	"testing"
)

var (
	allApprovals = []ApprovalPolicy{"", PolicyUntrusted, PolicyOnRequest, PolicyOnFailure, PolicyNever, PolicyAutoEdit,
		PolicyPlan, "bogus"}
	allSandboxes = []SandboxMode{"", SandboxReadOnly, SandboxWorkspace, SandboxFull, "bogus"}
	allEdits     = []Edits{"", EditsAsk, EditsFree, EditsRefused, "bogus"}
)

// TestModesNeverContradictThemselves makes the mode of every combination of the settings, with
// values that there are not among them.
func TestModesNeverContradictThemselves(t *testing.T) {
	for _, a := range allApprovals {
		for _, s := range allSandboxes {
			for _, e := range allEdits {
				set := Settings{Approval: a, Sandbox: s, Edits: e}
				m := set.Mode()
				edits, by := m.Edits()
				wrong := func(what string) { t.Errorf("%+v: %s: %+v", set, what, m) }
				if m.Plans() && (m.Sandbox() != SandboxReadOnly || edits != EditsRefused || m.Command(true) != SandboxReadOnly) {
					wrong("plan mode that changes something")
				}
				if (a == PolicyPlan || set.Fault() != "") != m.Plans() {
					wrong("plan mode, or not")
				}
				if edits == EditsFree && (m.Sandbox() == SandboxReadOnly || e == EditsAsk) {
					wrong("free edits")
				}
				if edits == EditsRefused && !m.Plans() && (m.Approval() != PolicyNever || m.Sandbox() != SandboxReadOnly) {
					wrong("refused edits")
				}
				if m.Unbounded() && (m.Approval() != PolicyNever || m.Sandbox() != SandboxFull) {
					wrong("unbounded")
				}
				if by == "" || (Settings{Approval: m.Approval(), Sandbox: m.Sandbox()}).Fault() != "" {
					wrong("a part that says nothing")
				}
				told := Settings{Approval: m.Approval(), Sandbox: m.Sandbox(), Edits: edits}
				if edits == EditsRefused {
					told.Edits = ""
				}
				if again := told.Mode(); again.approval != m.approval || again.sandbox != m.sandbox || again.edits != m.edits {
					wrong("not the mode of what it says")
				}
			}
		}
	}
}

// TestModes is the table of what is asked, by what was chosen.
func TestModes(t *testing.T) {
	const ro, ws, full = SandboxReadOnly, SandboxWorkspace, SandboxFull
	for _, tt := range []struct {
		set     Settings
		edits   Edits
		by      string
		sandbox SandboxMode
		freed   SandboxMode // of a command that was let out
	}{
		{Settings{}, EditsAsk, "sandbox read-only", ro, full},
		{Settings{Approval: PolicyOnRequest, Sandbox: ro}, EditsAsk, "sandbox read-only", ro, full},
		{Settings{Approval: PolicyOnRequest, Sandbox: ro, Edits: EditsFree}, EditsAsk, "sandbox read-only", ro, full},
		{Settings{Approval: PolicyOnRequest, Sandbox: ws}, EditsFree, "inside the workspace", ws, full},
		{Settings{Approval: PolicyOnRequest, Sandbox: ws, Edits: EditsAsk}, EditsAsk, "the mode", ws, full},
		{Settings{Approval: PolicyOnRequest, Sandbox: full, Edits: EditsAsk}, EditsAsk, "the mode", full, full},
		{Settings{Approval: PolicyOnFailure, Sandbox: ws}, EditsFree, "inside the workspace", ws, full},
		{Settings{Approval: PolicyAutoEdit, Sandbox: ws}, EditsFree, "inside the workspace", ws, full},
		{Settings{Approval: PolicyUntrusted, Sandbox: ws}, EditsAsk, "approval policy untrusted", ws, full},
		{Settings{Approval: PolicyUntrusted, Sandbox: full}, EditsAsk, "approval policy untrusted", full, full},
		{Settings{Approval: PolicyUntrusted, Sandbox: ws, Edits: EditsFree}, EditsFree, "inside the workspace", ws, full},
		{Settings{Approval: PolicyUntrusted, Sandbox: ro, Edits: EditsFree}, EditsAsk, "sandbox read-only", ro, full},
		{Settings{Approval: PolicyNever, Sandbox: ro}, EditsRefused, "approval policy never", ro, full},
		{Settings{Approval: PolicyNever, Sandbox: ro, Edits: EditsAsk}, EditsAsk, "the mode", ro, full},
		{Settings{Approval: PolicyNever, Sandbox: ws}, EditsFree, "approval policy never", ws, full},
		{Settings{Approval: PolicyNever, Sandbox: ws, Edits: EditsAsk}, EditsAsk, "the mode", ws, full},
		{Settings{Approval: PolicyNever, Sandbox: full, Edits: EditsFree}, EditsFree, "approval policy never", full, full},
		{Settings{Approval: PolicyPlan, Sandbox: ro}, EditsRefused, "plan mode", ro, ro},
		{Settings{Approval: PolicyPlan, Sandbox: full, Edits: EditsFree}, EditsRefused, "plan mode", ro, ro},
		{Settings{Approval: PolicyPlan, Sandbox: ws, Edits: EditsAsk}, EditsRefused, "plan mode", ro, ro},
		{Settings{Approval: "bogus", Sandbox: full}, EditsRefused, "plan mode", ro, ro},
		{Settings{Approval: PolicyNever, Sandbox: "bogus"}, EditsRefused, "plan mode", ro, ro},
		{Settings{Approval: PolicyNever, Sandbox: full, Edits: EditsRefused}, EditsRefused, "plan mode", ro, ro},
	} {
		m := tt.set.Mode()
		edits, by := m.Edits()
		if edits != tt.edits || by != tt.by || m.Sandbox() != tt.sandbox || m.Command(false) != tt.sandbox ||
			m.Command(true) != tt.freed {
			t.Errorf("%+v: %s by %s in %s, let out %s; want %+v", tt.set, edits, by, m.Sandbox(), m.Command(true), tt)
		}
	}
	if (Mode{}) != (Settings{Approval: PolicyPlan}).Mode() {
		t.Error("the zero mode is not that of plan mode")
	}
}

// TestSettingsAreTakenOverWhole sets each field by itself, so that none is dropped on its way.
func TestSettingsAreTakenOverWhole(t *testing.T) {
	for i := range reflect.TypeFor[Settings]().NumField() {
		var over Settings
		reflect.ValueOf(&over).Elem().Field(i).SetString("x")
		was := Settings{Model: "m", Effort: "e", Approval: "a", Sandbox: "s", Cwd: "/", Edits: "d"}
		want := was
		name := reflect.TypeFor[Settings]().Field(i).Name
		if name != "Cwd" { // where a session works is settled when it is opened
			reflect.ValueOf(&want).Elem().Field(i).SetString("x")
		}
		if got := was.With(over); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
