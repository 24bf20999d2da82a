package turn

import (
	"testing"

	"kerf/internal/protocol"
)

// TestRefusedSettingsStay: what is not allowed here cannot be set, and what is can.
func TestRefusedSettingsStay(t *testing.T) {
	begun := protocol.Settings{Model: "m", Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyOnRequest}
	c := New(Options{Settings: begun, Refuse: func(s protocol.Settings) string {
		if s.Sandbox == protocol.SandboxFull {
			return "not allowed here"
		}
		return ""
	}}, nil)
	told := func(s protocol.Settings) (warning string) {
		for _, e := range c.Step(Submit{ID: "s", Op: protocol.Configure{Settings: s}}).Events {
			if w, ok := e.Msg.(protocol.Warning); ok {
				warning = w.Message
			}
		}
		return warning
	}
	if w := told(protocol.Settings{Sandbox: protocol.SandboxFull, Model: "other"}); w != "not allowed here" || c.settings != begun {
		t.Errorf("%q, %+v", w, c.settings)
	}
	if w := told(protocol.Settings{Sandbox: protocol.SandboxWorkspace}); w != "" || c.settings.Sandbox != protocol.SandboxWorkspace {
		t.Errorf("%q, %+v", w, c.settings)
	}
}
