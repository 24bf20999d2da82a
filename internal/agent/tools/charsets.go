package tools

import (
	"errors"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/encoding"
	"kerf/internal/text/charset"
	"kerf/internal/text/lines"
)

// Encoded is the encoding that a call declares a file to have.
type Encoded struct {
	Encoding string `json:"encoding,omitempty" doc:"The file's encoding if it is not UTF-8, such as windows-1252 or shift_jis (default: by its byte order mark or .editorconfig)."`
}

// declare finds out in which encoding t is said to be: by the call, or by the
// .editorconfig files above it, whose word is only a hint.
func (t *target) declare(env tool.Env, name string) error {
	if name != "" {
		c, err := charset.Named(name)
		if err != nil {
			return tool.Refuse(tool.InvalidArguments, "field encoding: %v", err)
		}
		t.charset, t.declared = c, true
	} else if c := encoding.Configured(env, t.abs); c.Declared() && (t.disk == nil || encoding.Undeclared(t.disk.Data)) {
		t.charset = c.Hint()
	}
	if t.disk == nil || !t.charset.Declared() {
		return nil
	}
	// The stamp tells the encoding that the text is read in.
	if text, err := charset.Decode(t.disk.Data, t.charset); err == nil && text.Encoding() != lines.UTF8 && text.Known() {
		t.stamp.Encoding = text.Encoding()
		t.stamp.LineEnding = lines.LF
		if e := lines.Facts(text.Bytes).Ending; e != "" {
			t.stamp.LineEnding = e
		}
	}
	return nil
}

// plain is a content of t as text, as far as it is one.
func (t target) plain(data []byte) []byte {
	text, err := charset.Decode(data, t.charset.Hint())
	if err != nil {
		return data
	}
	return text.Bytes
}

// encoding names the encoding of a content of t.
func (t target) encoding(data []byte) string { return encoding.Name(data, t.charset) }

// binary reports whether a content of t is nothing to be read as text.
func (t target) binary(data []byte) bool { return encoding.Binary(data, t.charset) }

// encode is the text that a call gives, in the bytes that t is written in.
func (t target) encode(text string) ([]byte, error) {
	var old []byte
	if t.disk != nil {
		old = t.disk.Data
	}
	data, err := encoding.Encode(text, old, t.charset, t.declared)
	var e *charset.Error
	if errors.As(err, &e) {
		return nil, tool.Refuse(tool.EncodingError,
			"%s: %v. Nothing was written. Write text that it can hold, or give another encoding, such as \"utf-8\"", t.name, err)
	}
	return data, err
}
