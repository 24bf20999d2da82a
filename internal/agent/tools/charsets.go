package tools

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
)

// Encoded is the encoding that a call declares a file to have.
type Encoded struct {
	Encoding string `json:"encoding,omitempty" doc:"The file's encoding if it is not UTF-8, such as windows-1252 or shift_jis (default: by its byte order mark or .editorconfig)."`
}

// maxConfigs bounds how far up .editorconfig files are looked for.
const maxConfigs = 32

// declare finds out in which encoding t is said to be: by the call, or by the
// .editorconfig files above it, whose word is only a hint.
func (t *target) declare(env tool.Env, name string) error {
	if name != "" {
		c, err := charset.Named(name)
		if err != nil {
			return tool.Refuse(tool.InvalidArguments, "field encoding: %v", err)
		}
		t.charset, t.declared = c, true
	} else if c := configured(env, t.abs); c.Declared() && (t.disk == nil || undeclared(t.disk.Data)) {
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

// undeclared reports whether the bytes themselves do not tell their encoding.
func undeclared(data []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return false
		}
	}
	// ASCII fits most, and text with NUL bytes may be UTF-16.
	return charset.ASCII(data) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0
}

// configured is the charset that the .editorconfig files above a path give it, if
// it is one that can be used.
func configured(env tool.Env, abs string) charset.Charset {
	dir := filepath.Dir(abs)
	for range maxConfigs {
		file, err := env.Resolve(filepath.Join(dir, ".editorconfig"))
		if err != nil {
			break // outside the workspace
		}
		img, _, err := env.Read(file)
		if err == nil && img != nil && img.Kind == delta.File {
			rel, err := filepath.Rel(dir, abs)
			if err != nil {
				break
			}
			name, root := charset.Configured(img.Data, filepath.ToSlash(rel))
			if c, err := charset.Named(name); name != "" && err == nil {
				return c
			}
			if name != "" || root {
				break
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return charset.Charset{}
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
func (t target) encoding(data []byte) string {
	if text, err := charset.Decode(data, t.charset); err == nil && t.charset.Declared() && text.Known() &&
		!t.binary(data) {
		return text.Encoding()
	}
	return lines.Facts(data).Encoding
}

// binary reports whether a content of t is nothing to be read as text.
func (t target) binary(data []byte) bool {
	if lines.Facts(data).Encoding != lines.Binary {
		return false
	}
	text, err := charset.Decode(data, t.charset)
	return err != nil || !text.Known() || bytes.IndexByte(text.Bytes, 0) >= 0
}

// encode is the text that a call gives, in the bytes that t is written in: those of
// the file that is there, unless the call declares others. A file that is new, or
// not understood, gets the text as it is given when nothing is declared.
func (t target) encode(text string) ([]byte, error) {
	form := charset.New(t.charset)
	switch {
	case t.disk == nil || len(t.disk.Data) == 0:
		if !t.charset.Declared() {
			return []byte(text), nil
		}
	default:
		there, err := charset.Decode(t.disk.Data, t.charset)
		switch {
		case err != nil && !t.charset.Declared(), err == nil && !there.Known():
			return []byte(text), nil
		case err == nil && (!t.declared || strings.TrimSuffix(there.Encoding(),
			"-bom") == strings.TrimSuffix(t.charset.String(), "-bom")):
			form = there
		}
	}
	data, err := form.Encode([]byte(text))
	var e *charset.Error
	if errors.As(err, &e) {
		return nil, tool.Refuse(tool.EncodingError,
			"%s: %v. Nothing was written. Write text that it can hold, or give another encoding, such as \"utf-8\"", t.name, err)
	}
	return data, err
}
