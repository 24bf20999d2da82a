package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// The modes. Ask asks for edits and leaves commands to the configured policy.
const (
	modeAsk      sdk.SessionModeId = "ask"
	modeAutoEdit sdk.SessionModeId = "auto-edit"
	modePlan     sdk.SessionModeId = "plan"
	modeFull     sdk.SessionModeId = "full"
)

// inMode is what a mode makes of the settings that a session began with, and false for
// a mode that there is not. Only full access gives more than these: a folder that is
// not trusted stays read-only in every other mode.
func inMode(id sdk.SessionModeId, base protocol.Settings) (protocol.Settings, bool) {
	set := protocol.Settings{Approval: base.Approval, Sandbox: base.Sandbox}
	if set.Mode().Plans() && id != modePlan { // a mode that asks has somebody to ask
		set.Approval = protocol.PolicyOnRequest
	}
	switch id {
	case modeAsk:
		set.Edits = protocol.EditsAsk
	case modeAutoEdit:
		set.Edits = protocol.EditsFree
	case modePlan:
		set.Approval, set.Edits = protocol.PolicyPlan, protocol.EditsAsk
	case modeFull:
		set.Approval, set.Sandbox, set.Edits = protocol.PolicyNever, protocol.SandboxFull, protocol.EditsFree
	default:
		return set, false
	}
	return set, true
}

// beginning is the mode of a session that began with these settings.
func beginning(set protocol.Settings) sdk.SessionModeId {
	if set.Mode().Plans() {
		return modePlan
	}
	return modeAsk
}

// modeOf is the mode that settings come nearest to. Another front end may have chosen them.
func modeOf(set, base protocol.Settings) sdk.SessionModeId {
	for _, id := range []sdk.SessionModeId{modeAsk, modeAutoEdit, modePlan, modeFull} {
		in, _ := inMode(id, base)
		if in.Approval == set.Approval && in.Sandbox == set.Sandbox && in.Edits == set.Edits {
			return id
		}
	}
	asks, _ := set.Mode().Edits()
	switch {
	case asks == protocol.EditsRefused:
		return modePlan
	case asks == protocol.EditsAsk:
		return modeAsk
	case set.Mode().Unbounded():
		return modeFull
	}
	return modeAutoEdit
}

func (s *session) modes() *sdk.SessionModeState {
	words := func(id sdk.SessionModeId, name, description string) sdk.SessionMode {
		return sdk.SessionMode{Id: id, Name: name, Description: &description}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sdk.SessionModeState{CurrentModeId: s.mode, AvailableModes: []sdk.SessionMode{
		words(modeAsk, "Ask", "Every change of files is shown first; commands follow the configured policy"),
		words(modeAutoEdit, "Auto-edit", "Files in the workspace are changed without asking; every change can be undone"),
		words(modePlan, "Plan", "Nothing is changed; the agent reads and proposes a plan"),
		words(modeFull, "Full access", "Kerf asks nothing and commands run without a sandbox"),
	}}
}

func (s *session) setMode(ctx context.Context, id sdk.SessionModeId) error {
	set, ok := inMode(id, s.base)
	if !ok {
		return invalid("no mode %q; the modes are ask, auto-edit, plan "+
			"and full", id)
	}
	if err := s.configure(ctx, set); err != nil {
		return err
	}
	s.enter(id)
	return nil
}

// enter tells the editor that a mode holds, if another did.
func (s *session) enter(id sdk.SessionModeId) {
	s.mu.Lock()
	before := s.mode
	s.mode = id
	s.mu.Unlock()
	if before != id {
		s.update(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{SessionUpdate: "current_mode_update",
			CurrentModeId: id}})
	}
}
