package acp

import (
	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// servers are the editor's MCP servers as a session takes them.
func servers(list []sdk.McpServer) []protocol.MCPServer {
	var all []protocol.MCPServer
	for _, s := range list {
		switch {
		case s.Stdio != nil:
			all = append(all, stdio(s.Stdio))
		case s.Http != nil:
			all = append(all, protocol.MCPServer{Name: s.Http.Name, URL: s.Http.Url, Headers: headers(s.Http.Headers)})
		case s.Sse != nil:
			all = append(all, protocol.MCPServer{Name: s.Sse.Name, URL: s.Sse.Url, Headers: headers(s.Sse.Headers)})
		}
	}
	return all
}

func forkServers(list []sdk.UnstableMcpServer) []protocol.MCPServer {
	var all []protocol.MCPServer
	for _, s := range list {
		switch {
		case s.Stdio != nil:
			all = append(all, stdio(s.Stdio))
		case s.Http != nil:
			all = append(all, protocol.MCPServer{Name: s.Http.Name, URL: s.Http.Url, Headers: headers(s.Http.Headers)})
		case s.Sse != nil:
			all = append(all, protocol.MCPServer{Name: s.Sse.Name, URL: s.Sse.Url, Headers: headers(s.Sse.Headers)})
		}
	}
	return all
}

func stdio(s *sdk.McpServerStdio) protocol.MCPServer {
	env := map[string]string{}
	for _, v := range s.Env {
		env[v.Name] = v.Value
	}
	return protocol.MCPServer{Name: s.Name, Command: s.Command, Args: s.Args, Env: env}
}

func headers(list []sdk.HttpHeader) map[string]string {
	all := map[string]string{}
	for _, h := range list {
		all[h.Name] = h.Value
	}
	return all
}
