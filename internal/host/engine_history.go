package host

import (
	"context"
	"encoding/json"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
)

// historyTool is a tool of the engine that reads the ledger or takes changes back.
type historyTool struct {
	protocol.EngineTool
	run func(context.Context, *engineConn, json.RawMessage) tool.Result
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

func historyTools() []historyTool {
	return []historyTool{
		{protocol.EngineTool{Name: "diff", Input: json.RawMessage(noArguments), ReadOnly: true,
			Description: "Shows what this connection changed, all its calls together, as a unified diff."}, func(ctx context.Context, c *engineConn, _ json.RawMessage) tool.Result { return c.diff() }},
	}
}

// diff is the net of what the connection changed.
func (c *engineConn) diff() tool.Result {
	d, err := c.reader().Session(string(c.id))
	if err != nil {
		return tool.Fail(tool.Refuse("FAILED", "%v", err))
	}
	if len(d) == 0 {
		return tool.Result{Success: true, Output: "nothing is changed"}
	}
	return tool.Result{Success: true, Output: string(d)}
}

func (c *engineConn) reader() changes.Reader {
	return changes.Reader{Ledger: c.ws.ledger, Images: c.ws.store, Base: c.set.Cwd}
}
