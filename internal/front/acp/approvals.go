package acp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// ask puts an approval to the editor's user, until it is answered here or by another
// front end.
func (s *session) ask(a protocol.Approval) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.asking[a.ID] = cancel
	s.mu.Unlock()
	go func() { // ends with the answer, at the latest when the editor is gone
		defer s.answered(a.ID)
		s.request(ctx, a)
	}()
}

// answered withdraws the request for an approval.
func (s *session) answered(id protocol.ApprovalID) {
	s.mu.Lock()
	cancel := s.asking[id]
	delete(s.asking, id)
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// request asks for a permission. Whatever is not one keeps the action from running.
func (s *session) request(ctx context.Context, a protocol.Approval) {
	answer := protocol.Answer{Approval: a.ID, Decision: protocol.Deny, Words: "the user declined"}
	offered := choices(a)
	res, err := s.agent.conn.RequestPermission(ctx,
		sdk.RequestPermissionRequest{SessionId: s.id, ToolCall: s.shown(a), Options: offered})
	switch {
	case ctx.Err() != nil:
		return // it has an answer
	case err != nil && s.agent.gone():
		return // others may be there to answer; a session of this editor alone is closed
	case err != nil:
		answer.Words = "the question could not be shown to the user: " + err.Error()
	case res.Outcome.Selected != nil:
		id := res.Outcome.Selected.OptionId
		known := slices.ContainsFunc(offered, func(o sdk.PermissionOption) bool { return o.OptionId == id })
		if d := protocol.Decision(id); known && d.Allows() {
			answer.Decision, answer.Words = d, ""
		}
	default: // the turn was cancelled meanwhile
		answer.Words = "the question was withdrawn"
	}
	_ = s.submit(context.WithoutCancel(ctx), answer)
}

// choices are the answers offered; their ids are the decisions.
func choices(a protocol.Approval) []sdk.PermissionOption {
	once := func(name string) sdk.PermissionOption {
		return sdk.PermissionOption{OptionId: sdk.PermissionOptionId(protocol.Once), Name: name,
			Kind: sdk.PermissionOptionKindAllowOnce}
	}
	always := func(d protocol.Decision, name string) sdk.PermissionOption {
		return sdk.PermissionOption{OptionId: sdk.PermissionOptionId(d), Name: name,
			Kind: sdk.PermissionOptionKindAllowAlways}
	}
	list := []sdk.PermissionOption{once("Allow")}
	switch {
	case a.Change != nil && a.Change.Unseen:
		return []sdk.PermissionOption{once("Take them back, too"), {OptionId: sdk.PermissionOptionId(protocol.Deny),
			Name: "Leave them, take back the rest", Kind: sdk.PermissionOptionKindRejectOnce}}
	case a.Command != nil && len(a.Command.Prefix) > 0:
		list = append(list, always(protocol.ForSession, fmt.Sprintf("Allow %q in this session",
			strings.Join(a.Command.Prefix, " "))))
	case a.Command != nil:
		list = append(list, always(protocol.ForSession, "Allow exactly this command in this session"))
	case a.Change != nil:
		list = append(list, always(protocol.ForSession, "Allow changes of these files in this session"))
	case a.Tool != nil:
		list = append(list, always(protocol.ForSession, "Allow this tool in this session"))
	case a.Network != nil:
		list = append(list, always(protocol.ForSession, "Allow this host in this session"))
	}
	if a.Command != nil && a.Command.Rule != "" {
		list = append(list, always(protocol.Always, "Always allow "+visible.Line(cmp.Or(a.Command.Covers, a.Command.Rule))))
	}
	return append(list, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(protocol.Deny), Name: "Reject",
		Kind: sdk.PermissionOptionKindRejectOnce})
}

// shown is what the question is about: the whole command, or whole texts.
func (s *session) shown(a protocol.Approval) sdk.ToolCallUpdate {
	s.mu.Lock()
	cwd := s.settings.Cwd
	s.mu.Unlock()
	id := sdk.ToolCallId(a.Call)
	switch {
	case id == "":
		id = sdk.ToolCallId(a.ID)
	case a.Agent != "": // ids of calls are unique within their session only
		id = sdk.ToolCallId(a.Agent) + "/" + id
	}
	v := view{title: visible.Line(a.Reason), kind: sdk.ToolKindOther}
	switch {
	case a.Command != nil:
		v = viewOf(protocol.Item{Body: protocol.Command{Command: a.Command.Command, Cwd: a.Command.Cwd}}, cwd)
		v.title = visible.Line(a.Command.Command)
		v.content = console("$ " + visible.String(a.Command.Command))
		if a.Command.Unsandboxed {
			v.content = append(v.content, words("It would run outside the sandbox."))
		}
		if a.Command.Rule != "" {
			v.content = append(v.content, words("The answer Always writes this rule to your rules:"))
			v.content = append(v.content, console(visible.String(a.Command.Rule))...)
		}
	case a.Change != nil:
		v = changeView(a.Change.Changes, a.Change.Files, "", cwd)
		if len(a.Change.Files) < len(a.Change.Changes) {
			v.content = append(v.content, console(visible.String(a.Change.Diff))...)
		}
		for _, f := range a.Change.Files {
			if f.New != nil && visible.Odd(*f.New) && (f.Old == nil || !visible.Odd(*f.Old)) {
				v.content = append(v.content, words(
					"The new text of this file has characters that are invisible or look like others:"))
				v.content = append(v.content, console(visible.Line(f.Path))...)
			}
		}
	case a.Tool != nil:
		v = view{title: visible.Line(a.Tool.Server + ": " + a.Tool.Tool), kind: sdk.ToolKindOther, input: a.Tool.Args}
		v.content = console(visible.String(a.Tool.Args))
		if a.Tool.Changed != "" {
			v.content = append(v.content, words("The tool changed since it was last allowed:"))
			v.content = append(v.content, console(visible.String(a.Tool.Changed))...)
		}
	case a.Network != nil:
		v = view{title: visible.Line(fmt.Sprintf("Reach %s:%d", a.Network.Host, a.Network.Port)), kind: sdk.ToolKindFetch}
		v.content = console("$ " + visible.String(a.Network.Command))
	case a.Question != nil:
		v = view{title: "A question of the model", kind: sdk.ToolKindOther}
		if a.Question.Server != "" {
			v.title = "A question of the MCP server " + visible.Line(a.Question.Server)
		}
		if a.Question.URL != "" {
			v.content = append(v.content, words("It asks you to visit:"))
			v.content = append(v.content, console(visible.Line(a.Question.URL))...)
		}
	}
	if a.Reason != "" {
		v.content = append(v.content, words("Kerf asks because:"))
		v.content = append(v.content, console(visible.String(a.Reason))...)
	}
	for _, q := range a.Quotes() {
		v.content = append(v.content, words(plain(q.Who)+" says:"))
		v.content = append(v.content, console(visible.String(q.Text))...)
	}
	status := sdk.ToolCallStatusPending
	return sdk.ToolCallUpdate{ToolCallId: id, Title: &v.title, Kind: &v.kind, Status: &status, Content: v.content,
		Locations: v.places, RawInput: v.input}
}

// plain is a name that Markdown leaves as it is.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\\`*_{}[]()<>#+!|~", r) {
			return '?'
		}
		return r
	}, visible.Line(name))
}

func words(s string) sdk.ToolCallContent { return sdk.ToolContent(sdk.TextBlock(s)) }
