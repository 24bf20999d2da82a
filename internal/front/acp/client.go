package acp

import (
	"context"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// hands are what the editor offers and wants to be told.
func (s *session) hands(can sdk.ClientCapabilities, name string) *protocol.ClientServices {
	h := protocol.ClientServices{Name: name, Texts: true}
	if can.Fs.ReadTextFile && can.Fs.WriteTextFile {
		h.Files = clientFiles{s}
	}
	if can.Terminal {
		h.Terminals = clientTerminals{s}
	}
	return &h
}

// clientFiles are the editor's buffers.
type clientFiles struct{ s *session }

func (f clientFiles) ReadText(ctx context.Context, path string) (string, error) {
	res, err := f.s.agent.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: f.s.id, Path: path})
	return res.Content, err
}

func (f clientFiles) WriteText(ctx context.Context, path, text string) error {
	_, err := f.s.agent.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: f.s.id, Path: path, Content: text})
	return err
}

// clientTerminals are the editor's terminals.
type clientTerminals struct{ s *session }

func (t clientTerminals) Start(ctx context.Context, c protocol.TerminalCommand) (protocol.ClientTerminal, error) {
	r := sdk.CreateTerminalRequest{SessionId: t.s.id, Command: c.Argv[0], Args: c.Argv[1:], Cwd: &c.Dir,
		OutputByteLimit: &c.Limit}
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		r.Env = append(r.Env, sdk.EnvVariable{Name: name, Value: value})
	}
	res, err := t.s.agent.conn.CreateTerminal(ctx, r)
	if err != nil {
		return nil, err
	}
	t.s.update(sdk.UpdateToolCall(sdk.ToolCallId(c.Call),
		sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolTerminalRef(res.TerminalId)})))
	return clientTerminal{t.s, res.TerminalId}, nil
}

type clientTerminal struct {
	s  *session
	id string
}

func (t clientTerminal) ID() string { return t.id }

func (t clientTerminal) Output(ctx context.Context) (string, bool, error) {
	res, err := t.s.agent.conn.TerminalOutput(ctx, sdk.TerminalOutputRequest{SessionId: t.s.id, TerminalId: t.id})
	return res.Output, res.Truncated, err
}

func (t clientTerminal) Wait(ctx context.Context) (int, error) {
	res, err := t.s.agent.conn.WaitForTerminalExit(ctx,
		sdk.WaitForTerminalExitRequest{SessionId: t.s.id, TerminalId: t.id})
	if err != nil || res.ExitCode == nil {
		return -1, err
	}
	return *res.ExitCode, nil
}

func (t clientTerminal) Release(ctx context.Context) error {
	_, err := t.s.agent.conn.ReleaseTerminal(ctx, sdk.ReleaseTerminalRequest{SessionId: t.s.id, TerminalId: t.id})
	return err
}
