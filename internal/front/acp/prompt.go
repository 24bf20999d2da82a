package acp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// inputOf is a prompt as sessions take it. Text that belongs together is one
// input; each image is one of its own.
func inputOf(blocks []sdk.ContentBlock) ([]protocol.Input, error) {
	var text strings.Builder
	var images []protocol.Input
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			fmt.Fprintf(&text, "[@%s](%s)", b.ResourceLink.Name, b.ResourceLink.Uri)
		case b.Resource != nil:
			text.WriteString(resource(b.Resource.Resource))
		case b.Image != nil:
			if !strings.HasPrefix(b.Image.MimeType, "image/") {
				return nil, fmt.Errorf("an image block has the type %q", b.Image.MimeType)
			}
			images = append(images, protocol.Input{ImageURL: "data:" + b.Image.MimeType + ";base64," + b.Image.Data})
		case b.Audio != nil:
			return nil, errors.New("audio is not supported")
		}
	}
	var input []protocol.Input
	if t := text.String(); strings.TrimSpace(t) != "" {
		input = append(input, protocol.Input{Text: t})
	}
	input = append(input, images...)
	if len(input) == 0 {
		return nil, errors.New("the prompt is empty")
	}
	return input, nil
}

// resource is an embedded file as the model reads it.
func resource(r sdk.EmbeddedResourceResource) string {
	uri, body := "", ""
	switch {
	case r.TextResourceContents != nil:
		uri, body = r.TextResourceContents.Uri, r.TextResourceContents.Text
	case r.BlobResourceContents != nil:
		uri = r.BlobResourceContents.Uri
		raw, err := base64.StdEncoding.DecodeString(r.BlobResourceContents.Blob)
		if err != nil || !utf8.Valid(raw) {
			return fmt.Sprintf("\n[%s: %d bytes that are not text]\n", nameOf(uri), len(raw))
		}
		body = string(raw)
	}
	return fmt.Sprintf("\n<context ref=%q>\n%s\n</context>\n", nameOf(uri), strings.TrimSuffix(body, "\n"))
}

// nameOf is the path of a file: URI, or the URI itself.
func nameOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}

// commandOf splits a prompt that is one of the announced commands.
func commandOf(input []protocol.Input) (name, rest string, ok bool) {
	if len(input) != 1 || !strings.HasPrefix(input[0].Text, "/") {
		return "", "", false
	}
	name, rest, _ = strings.Cut(strings.TrimSpace(input[0].Text[1:]), " ")
	for _, c := range commands() {
		if c.Name == name {
			return name, strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}
