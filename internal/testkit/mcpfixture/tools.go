package main

//lint:file-ignore SA1019 roots, sampling and logging are deprecated from 2026-07-28 on; older revisions are spoken, too

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// handler answers a call with content, or with an error of the tool.
type handler func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error)

const anyArguments = `{"type":"object","properties":{}}`

func addTools(s *mcp.Server) {
	add := func(name, schema string, h handler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Serves " + name + ".", InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				content, err := h(ctx, r)
				if err != nil {
					return &mcp.CallToolResult{IsError: true, Content: text(err.Error())}, nil
				}
				return &mcp.CallToolResult{Content: content}, nil
			})
	}
	fixed := func(c ...mcp.Content) handler {
		return func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) { return c, nil }
	}
	picture := &mcp.ImageContent{Data: png(), MIMEType: "image/png"}
	add("test_simple_text", anyArguments, fixed(text("This is a simple text response for testing.")...))
	add("test_image_content", anyArguments, fixed(picture))
	add("test_audio_content", anyArguments, fixed(&mcp.AudioContent{Data: wav(), MIMEType: "audio/wav"}))
	add("test_embedded_resource", anyArguments,
		fixed(embedded("test://embedded-resource", "This is an embedded resource content.")))
	add("test_multiple_content_types", anyArguments, fixed(&mcp.TextContent{Text: "Multiple content types test:"}, picture,
		embedded("test://mixed-content-resource", `{"test":"data","value":123}`)))
	add("test_error_handling", anyArguments, func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
		//lint:ignore ST1005 the suite's words
		return nil, errors.New("This tool intentionally returns an error for testing")
	})
	add("test_tool_with_logging", anyArguments, logging)
	add("test_logging_tool", anyArguments, logging)
	add("test_tool_with_progress", anyArguments, progress)
	add("test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, sampling)
	add("test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		elicitation(
			`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`))
	add("test_elicitation_sep1034_defaults", anyArguments, elicitation(defaultsForm))
	add("test_elicitation_sep1330_enums", anyArguments, elicitation(enumsForm))
	add("json_schema_2020_12_tool", dialect, fixed(text("called")...))
	add("test_custom_header",
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`,
		fixed(text("called")...))
	add("test_reconnection", anyArguments, reconnection)
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

func embedded(uri, content string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: content}}
}

func logging(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, err
		}
	}
	return text("logged"), nil
}

func progress(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
	token := r.Params.GetProgressToken()
	for _, step := range []float64{0, 50, 100} {
		if err := r.Session.NotifyProgress(ctx,
			&mcp.ProgressNotificationParams{ProgressToken: token, Progress: step, Total: 100}); err != nil {
			return nil, err
		}
	}
	return text(fmt.Sprint(token)), nil
}

func sampling(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
	var a struct{ Prompt string }
	if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
		return nil, err
	}
	res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 100,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: a.Prompt}}}})
	if err != nil {
		return nil, err
	}
	said, ok := res.Content.(*mcp.TextContent)
	if !ok {
		return nil, errors.New("the answer is not text")
	}
	return text("LLM response: " + said.Text), nil
}

func elicitation(form string) handler {
	return func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		a := struct{ Message string }{"Please fill in the form"}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
				return nil, err
			}
		}
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: a.Message, RequestedSchema: json.RawMessage(form)})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", res.Action, content)), nil
	}
}

// reconnection closes the stream of its answer, which the client must fetch anew.
func reconnection(_ context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
	if r.Extra != nil && r.Extra.CloseSSEStream != nil {
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{})
	}
	return text("Reconnection test completed successfully."), nil
}

const (
	defaultsForm = `{"type":"object","properties":{
"name":{"type":"string","description":"User name","default":"John Doe"},
"age":{"type":"integer","description":"User age","default":30},
"score":{"type":"number","description":"User score","default":95.5},
"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}`
	enumsForm = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}`
	dialect = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`
)
