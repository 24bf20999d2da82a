package main

//lint:file-ignore SA1019 roots and sampling are deprecated from 2026-07-28 on, which still has them

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rounds are the tools that need something of the client before they can answer: what they
// ask for is their result, and the client calls again with it. Each decides from what the
// call brings along.
var rounds = map[string]func(*mcp.CallToolRequest) (*mcp.CallToolResult, error){
	"test_input_required_result_elicitation": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, ok := formField[string](r.Params.InputResponses, "user_name", "name")
		if !ok {
			return asks("", "user_name", nameForm("What is your name?")), nil
		}
		return answers("Hello, " + name + "!"), nil
	},
	"test_input_required_result_sampling": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said, ok := sampled(r.Params.InputResponses, "capital_question")
		if !ok {
			return asks("", "capital_question", sample("What is the capital of France?", 100)), nil
		}
		return answers(said), nil
	},
	"test_input_required_result_list_roots": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		roots, ok := rootNames(r.Params.InputResponses, "client_roots")
		if !ok {
			return asks("", "client_roots", &mcp.ListRootsParams{}), nil
		}
		return answers(roots), nil
	},
	"test_input_required_result_request_state": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.RequestState == "" {
			return asks(sign("asked"), "confirm", okForm()), nil
		}
		if _, err := signed(r.Params.RequestState); err != nil {
			return nil, err
		}
		return answers("state-ok"), nil
	},
	"test_input_required_result_tampered_state": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.RequestState == "" {
			return asks(sign("asked"), "confirm", okForm()), nil
		}
		if _, err := signed(r.Params.RequestState); err != nil {
			return nil, err
		}
		return answers("the state is as it was"), nil
	},
	"test_input_required_result_multiple_inputs": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		name, named := formField[string](r.Params.InputResponses, "user_name", "name")
		greeting, greeted := sampled(r.Params.InputResponses, "greeting")
		roots, rooted := rootNames(r.Params.InputResponses, "client_roots")
		if named && greeted && rooted {
			if _, err := signed(r.Params.RequestState); err != nil {
				return nil, err
			}
			return answers(greeting + " " + name + " " + roots), nil
		}
		res := asks(sign("all"), "user_name", nameForm("What is your name?"))
		res.InputRequests["greeting"] = sample("Generate a greeting", 50)
		res.InputRequests["client_roots"] = &mcp.ListRootsParams{}
		return res, nil
	},
	"test_input_required_result_multi_round": multiRound,
	"test_input_required_result_capabilities": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}
		can := r.ClientCapabilities()
		if can != nil && can.Sampling != nil {
			res.InputRequests["capital_question"] = sample("What is the capital of France?", 100)
		}
		if can != nil && can.Elicitation != nil {
			res.InputRequests["user_name"] = nameForm("What is your name?")
		}
		return res, nil
	},
	"test_streaming_elicitation": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if ok, given := formField[bool](r.Params.InputResponses, "confirm", "ok"); given && ok {
			return answers("confirmed"), nil
		}
		return asks("", "confirm", okForm()), nil
	},
	"test_missing_capability": func(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if can := r.ClientCapabilities(); can != nil && can.Sampling != nil {
			return answers("it can"), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
			RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities,
			Message: "this tool needs sampling", Data: data}
	},
}

// multiRound asks for a name, then for a colour; what was asked is in the state.
func multiRound(r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState == "" {
		return asks(sign("1"), "step1", nameForm("Step 1: What is your name?")), nil
	}
	state, err := signed(r.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if name, ok := formField[string](r.Params.InputResponses, "step1", "name"); ok && state == "1" {
		return asks(sign("2"+name), "step2", stringForm("Step 2: What is your favorite color?", "color")), nil
	}
	colour, ok := formField[string](r.Params.InputResponses, "step2", "color")
	if name, second := strings.CutPrefix(state, "2"); ok && second {
		return answers(name + " likes " + colour), nil
	}
	return asks(sign("1"), "step1", nameForm("Step 1: What is your name?")), nil
}

// addRounds adds the tools and the prompt that ask by their results.
func addRounds(s *mcp.Server) {
	for name, answer := range rounds {
		tool := &mcp.Tool{Name: name, Description: "Serves " + name + ".", InputSchema: json.RawMessage(anyArguments)}
		s.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return answer(r) })
	}
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "asks for its context"},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			given, ok := formField[string](r.Params.InputResponses, "user_context", "context")
			if !ok {
				return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
					"user_context": stringForm("What context should the prompt use?", "context")}}, nil
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: "Context: " + given}}}}, nil
		})
}

func asks(state, name string, what mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{name: what}}
}

func answers(s string) *mcp.CallToolResult { return &mcp.CallToolResult{Content: text(s)} }

func nameForm(message string) *mcp.ElicitParams { return stringForm(message, "name") }

func stringForm(message, field string) *mcp.ElicitParams { return form(message, field, "string") }

func okForm() *mcp.ElicitParams { return form("Please confirm", "ok", "boolean") }

// form asks for one field.
func form(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{"type": "object",
		"properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field}}}
}

func sample(prompt string, limit int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: limit,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}}
}

// formField is a field of a form that was filled in and accepted.
func formField[T any](given mcp.InputResponseMap, name, field string) (T, bool) {
	var none T
	res, ok := given[name].(*mcp.ElicitResult)
	if !ok || res.Action != "accept" {
		return none, false
	}
	v, ok := res.Content[field].(T)
	return v, ok
}

// sampled is what the client's model said.
func sampled(given mcp.InputResponseMap, name string) (string, bool) {
	res, ok := given[name].(*mcp.CreateMessageWithToolsResult)
	if !ok || len(res.Content) == 0 {
		return "", false
	}
	said, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return said.Text, true
}

// rootNames are the addresses of the roots that were given.
func rootNames(given mcp.InputResponseMap, name string) (string, bool) {
	list, ok := given[name].(*mcp.ListRootsResult)
	if !ok {
		return "", false
	}
	var uris []string
	for _, r := range list.Roots {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " "), true
}

var stateKey = func() []byte { return []byte(rand.Text()) }()

// sign makes a state of content that only this program can have made.
func sign(content string) string { return content + "." + mark(content) }

// signed is the content of such a state.
func signed(state string) (string, error) {
	content, given, _ := strings.Cut(state, ".")
	if !hmac.Equal([]byte(given), []byte(mark(content))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this requestState was not made here"}
	}
	return content, nil
}

func mark(content string) string {
	h := hmac.New(sha256.New, stateKey)
	h.Write([]byte(content))
	return hex.EncodeToString(h.Sum(nil))
}
