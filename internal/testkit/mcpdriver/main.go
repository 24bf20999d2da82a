// Command mcpdriver lets the official MCP conformance suite judge Kerf's client:
// it connects to the server whose address is its last argument, signs in where
// that is wanted, and calls every tool once.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"kerf/internal/work/mcpclient"
)

func main() {
	if err := run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpdriver:", err)
		os.Exit(1)
	}
}

func run(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	s := mcpclient.Server{Name: "judged", URL: url, StartupTimeout: 15 * time.Second, ToolTimeout: 15 * time.Second}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		s.Store = &memory{}
		if err := registered(&s.Client); err != nil {
			return err
		}
		if err := mcpclient.Login(ctx, s, "kerf", "test", nil, visit); err != nil {
			return err
		}
	}
	m, err := connect(ctx, s)
	if err != nil {
		return err
	}
	defer m.Close()
	calls, err := wanted()
	if err != nil {
		return err
	}
	for _, t := range m.Tools() {
		args := json.RawMessage(`{"a":5,"b":3}`)
		if given, ok := calls[t.Name]; ok {
			args = given
		}
		if t.Name == "json_schema_echo" { // it wants to have back what it was told of the other tool
			b, err := json.Marshal(map[string]json.RawMessage{"schema": m.Tools()[0].Schema})
			if err != nil {
				return err
			}
			args = b
		}
		r, err := m.Call(ctx, t.Qualified, args)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", t.Name, r.Text)
	}
	return nil
}

// connect greets the server. Where it is told that a sign-in is needed it signs in and
// greets it again, as a user does.
func connect(ctx context.Context, s mcpclient.Server) (*mcpclient.Manager, error) {
	for again := false; ; again = true {
		m := mcpclient.Start(mcpclient.Options{Servers: []mcpclient.Server{s}, Name: "kerf", Version: "test",
			Elicit: defaults})
		m.Settle(ctx)
		st := m.Status()[0]
		if st.State == "ready" {
			return m, nil
		}
		m.Close()
		if again || s.Store == nil || !strings.Contains(st.Error, "kerf mcp login") {
			return nil, fmt.Errorf("the server is %s: %s", st.State, st.Error)
		}
		if err := mcpclient.Login(ctx, s, "kerf", "test", nil, visit); err != nil {
			return nil, err
		}
	}
}

// registered takes what the suite says was registered for the client beforehand.
func registered(c *mcpclient.OAuthClient) error {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd" {
		c.MetadataURL = "https://conformance-test.local/client-metadata.json" // what the suite expects
	}
	text := os.Getenv("MCP_CONFORMANCE_CONTEXT")
	if text == "" {
		return nil
	}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	c.ID, c.Secret = given.ID, given.Secret
	return nil
}

// wanted are the arguments that the suite wants tools to be called with.
func wanted() (map[string]json.RawMessage, error) {
	var given struct {
		Calls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return nil, err
		}
	}
	calls := map[string]json.RawMessage{}
	for _, c := range given.Calls {
		calls[c.Name] = c.Arguments
	}
	return calls, nil
}

// visit does what a user's browser does who agrees to everything.
func visit(url string) {
	go func() {
		if res, err := http.Get(url); err == nil {
			_ = res.Body.Close()
		}
	}()
}

// defaults accepts a form with what it proposes.
func defaults(_ context.Context, q mcpclient.Elicitation) (mcpclient.Reply, error) {
	if q.URL != "" {
		visit(q.URL)
		return mcpclient.Reply{Action: "accept"}, nil
	}
	var form struct {
		Properties map[string]struct{ Default any }
	}
	if err := json.Unmarshal(q.Schema, &form); err != nil {
		return mcpclient.Reply{Action: "cancel"}, err
	}
	content := map[string]any{}
	for name, p := range form.Properties {
		if p.Default != nil {
			content[name] = p.Default
		}
	}
	return mcpclient.Reply{Action: "accept", Content: content}, nil
}

// memory keeps grants for one run.
type memory struct {
	mu    sync.Mutex
	grant *mcpclient.Grant
}

func (m *memory) Load(string) (*mcpclient.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grant, nil
}

func (m *memory) Save(_ string, g *mcpclient.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = g
	return nil
}

func (m *memory) Delete(string) error { return m.Save("", nil) }
