package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	pngfile "image/png"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addResources(s *mcp.Server) {
	add := func(uri, name, mime string, content *mcp.ResourceContents) {
		content.URI, content.MIMEType = uri, mime
		s.AddResource(&mcp.Resource{URI: uri, Name: name, Description: name, MIMEType: mime},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
			})
	}
	add("test://static-text", "static text", "text/plain",
		&mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "static binary", "image/png", &mcp.ResourceContents{Blob: png()})
	add("test://watched-resource", "watched resource", "text/plain", &mcp.ResourceContents{Text: "Watched."})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template",
		Description: "template", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}}, nil
		})
}

func addPrompts(s *mcp.Server) {
	add := func(p *mcp.Prompt, messages func(map[string]string) []mcp.Content) {
		s.AddPrompt(p, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{Description: p.Description}
			for _, c := range messages(r.Params.Arguments) {
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add(&mcp.Prompt{Name: "test_simple_prompt", Description: "simple"}, func(map[string]string) []mcp.Content {
		return text("This is a simple prompt for testing.")
	})
	add(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "with arguments",
		Arguments: []*mcp.PromptArgument{{Name: "arg1", Description: "first", Required: true},
			{Name: "arg2", Description: "second", Required: true}}},
		func(a map[string]string) []mcp.Content {
			return text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))
		})
	add(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "with a resource",
		Arguments: []*mcp.PromptArgument{{Name: "resourceUri", Description: "the resource", Required: true}}},
		func(a map[string]string) []mcp.Content {
			return append([]mcp.Content{embedded(a["resourceUri"], "Embedded resource content for testing.")},
				text("Please process the embedded resource above.")...)
		})
	add(&mcp.Prompt{Name: "test_prompt_with_image", Description: "with an image"}, func(map[string]string) []mcp.Content {
		return append([]mcp.Content{&mcp.ImageContent{Data: png(), MIMEType: "image/png"}},
			text("Please analyze the image above.")...)
	})
}

// png is a picture of one red dot.
func png() []byte {
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := pngfile.Encode(&b, dot); err != nil {
		return nil
	}
	return b.Bytes()
}

// wav is a sound of no length.
func wav() []byte {
	b := append([]byte("RIFF"), 36, 0, 0, 0)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	for _, v := range []uint16{1, 1} { // PCM, one channel
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	for _, v := range []uint32{8000, 8000} { // samples and bytes a second
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, 1, 0, 8, 0)
	return append(append(b, "data"...), 0, 0, 0, 0)
}
