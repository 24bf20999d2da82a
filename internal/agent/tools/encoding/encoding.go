// Package encoding finds out in which encoding a file is written, and writes text
// in it.
package encoding

import (
	"bytes"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/lines"
)

// maxConfigs bounds how far up .editorconfig files are looked for.
const maxConfigs = 32

// Undeclared reports whether the bytes themselves do not tell their encoding.
func Undeclared(data []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return false
		}
	}
	// ASCII fits most, and text with NUL bytes may be UTF-16.
	return charset.ASCII(data) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0
}

// Configured is the charset that the .editorconfig files above a path give it, if
// it is one that can be used.
func Configured(env tool.Env, abs string) charset.Charset {
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

// Encode is the text that a call gives, in bytes: in the encoding of old, the
// content that is there, unless the call itself declared c. A file that is new, or
// not understood, gets the text as it is given when nothing is declared. Old is nil
// for a file that is not there. An error is a *charset.Error.
func Encode(text string, old []byte, c charset.Charset, declared bool) ([]byte, error) {
	form := charset.New(c)
	if len(old) == 0 {
		if !c.Declared() {
			return []byte(text), nil
		}
		return form.Encode([]byte(text))
	}
	there, err := charset.Decode(old, c)
	switch {
	case err != nil && !c.Declared(), err == nil && !there.Known():
		return []byte(text), nil
	case err == nil && (!declared || sameBut(there.Encoding(), c.String())):
		form = there
	}
	return form.Encode([]byte(text))
}

// sameBut reports whether two encodings are the same but for a byte order mark.
func sameBut(a, b string) bool {
	return strings.TrimSuffix(a, "-bom") == strings.TrimSuffix(b, "-bom")
}

// Name is the encoding of a content that may be declared to be in c.
func Name(data []byte, c charset.Charset) string {
	if text, err := charset.Decode(data, c); err == nil && c.Declared() && text.Known() && !Binary(data, c) {
		return text.Encoding()
	}
	return lines.Facts(data).Encoding
}

// Binary reports whether a content is nothing to be read as text.
func Binary(data []byte, c charset.Charset) bool {
	if lines.Facts(data).Encoding != lines.Binary {
		return false
	}
	text, err := charset.Decode(data, c)
	return err != nil || !text.Known() || bytes.IndexByte(text.Bytes, 0) >= 0
}
