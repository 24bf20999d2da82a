package tools_test

import (
	"strings"
	"testing"

	"kerf/internal/agent/tool"
)

func wide(s string) string {
	var b strings.Builder
	b.WriteString("\xff\xfe")
	for _, r := range s {
		b.WriteByte(byte(r))
		b.WriteByte(byte(r >> 8))
	}
	return b.String()
}

// TestDeclaredEncodings plays calls on files in many encodings: what the call or
// .editorconfig declares is read as text and written back in kind.
func TestDeclaredEncodings(t *testing.T) {
	const config = "root = true\n[*.txt]\ncharset = latin1\n[*.u16]\ncharset = utf-16le\n[*.bom]\ncharset = utf-8-bom\n"
	tests := []struct {
		name, file, content string
		tool, args          string
		want, code          string
	}{
		{"edit, declared by the call", "a.c", "caf\xe9 \x80\r\n", "edit_file", args("file_path", "a.c", "old_string", "café €", "new_string", "thé “x”\nb", "encoding", "windows-1252"), "th\xe9 \x93x\x94\r\nb\r\n", ""},
		{"edit, declared by .editorconfig", "a.txt", "caf\xe9\n", "edit_file", args("file_path", "a.txt", "old_string", "café", "new_string", "ü"), "\xfc\n", ""},
		{"several edits", "a.txt", "\xe9\xe8\n", "edit_file", args("file_path", "a.txt", "edits", []any{map[string]any{"old_string": "é", "new_string": "É"}, map[string]any{"old_string": "è", "new_string": "È"}}), "\xc9\xc8\n", ""},
		{"valid UTF-8 is UTF-8 whatever is declared", "a.txt", "café\n", "edit_file", args("file_path", "a.txt", "old_string", "é", "new_string", "è€"), "cafè€\n", ""},
		{"what cannot be held", "a.txt", "caf\xe9\n", "edit_file", args("file_path", "a.txt", "old_string", "café", "new_string", "5 €"), "", tool.EncodingError},
		{"what cannot be held, in ASCII so far", "a.txt", "cafe\n", "edit_file", args("file_path", "a.txt", "old_string", "cafe", "new_string", "5 €"), "", tool.EncodingError},
		{"a wrong declaration", "a.c", "a\xff\xff", "edit_file", args("file_path", "a.c", "old_string", "a", "new_string", "b", "encoding", "shift_jis"), "", tool.EncodingError},
		{"bytes that nobody understands", "a.c", "a \xff\xff b", "edit_file", args("file_path", "a.c", "old_string", "b", "new_string", "c"), "a \xff\xff c", ""},
		{"no such encoding", "a.c", "a", "edit_file", args("file_path", "a.c", "old_string", "a", "new_string", "b", "encoding", "ebcdic"), "", tool.InvalidArguments},
		{"UTF-16 without a mark", "a.u16", "a\x00\n\x00", "edit_file", args("file_path", "a.u16", "old_string", "a\n", "new_string", "値\n"), "\x24\x50\n\x00", ""},
		{"write keeps UTF-16", "a.c", wide("old\n"), "write_file", args("file_path", "a.c", "content", "nëw 値\n"), wide("nëw 値\n"), ""},
		{"write keeps the mark", "a.c", "\xef\xbb\xbfold", "write_file", args("file_path", "a.c", "content", "new"), "\xef\xbb\xbfnew", ""},
		{"write keeps latin1", "a.txt", "\xe9", "write_file", args("file_path", "a.txt", "content", "è"), "\xe8", ""},
		{"write what latin1 cannot hold", "a.txt", "\xe9", "write_file", args("file_path", "a.txt", "content", "値"), "", tool.EncodingError},
		{"write another encoding", "a.txt", "\xe9", "write_file", args("file_path", "a.txt", "content", "値", "encoding", "utf-8"), "値", ""},
		{"a mark stays when utf-8 is named", "a.c", "\xef\xbb\xbfold", "write_file", args("file_path", "a.c", "content", "new", "encoding", "utf-8"), "\xef\xbb\xbfnew", ""},
		{"a new file as .editorconfig says", "new.bom", "", "write_file", args("file_path", "new.bom", "content", "x"), "\xef\xbb\xbfx", ""},
		{"a new file in latin1", "new.txt", "", "write_file", args("file_path", "new.txt", "content", "é"), "\xe9", ""},
		{"a new file as the call says", "new.c", "", "write_file", args("file_path", "new.c", "content", "あ", "encoding", "Shift_JIS"), "\x82\xa0", ""},
		{"a patch of UTF-16", "a.c", wide("one\ntwo\n"), "apply_patch", args("input", "*** Begin Patch\n*** Update File: a.c\n@@\n one\n-two\n+zwölf\n*** End Patch\n"), wide("one\nzwölf\n"), ""},
		{"a patch of latin1", "a.txt", "\xe9\ntwo\n", "apply_patch", args("input", "*** Begin Patch\n*** Update File: a.txt\n@@\n-é\n+è\n two\n*** End Patch\n"), "\xe8\ntwo\n", ""},
		{"a patch that latin1 cannot hold", "a.txt", "\xe9\n", "apply_patch", args("input", "*** Begin Patch\n*** Update File: a.txt\n@@\n-é\n+値\n*** End Patch\n"), "", tool.EncodingError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDisk(map[string]string{".editorconfig": config})
			if tt.content != "" {
				d.put(tt.file, tt.content)
				d.seen[abs(tt.file)] = d.files[abs(tt.file)]
			}
			r := d.call(t, tt.tool, tt.args)
			want := tt.want
			if tt.code != "" {
				if want = tt.content; r.Error == nil || r.Error.Code != tt.code {
					t.Errorf("got error %v, want %s", r.Error, tt.code)
				}
			} else if r.Error != nil {
				t.Error(r.Error)
			}
			if got := d.text(tt.file); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestReadDecodes(t *testing.T) {
	d := newDisk(map[string]string{".editorconfig": "[*.txt]\ncharset=latin1\n[*.u16]\ncharset=utf-16be",
		"a.txt": "caf\xe9\r\n", "b.u16": "\x00h\x00\n", "c.c": "\x82\xa0\n", "d.c": wide("x\r\n")})
	for _, tt := range []struct{ args, text, ending, encoding string }{
		{args("file_path", "a.txt"), "   1 | café\n", "crlf", "iso-8859-1"},
		{args("file_path", "b.u16"), "   1 | h\n", "lf", "utf-16be"},
		{args("file_path", "c.c", "encoding", "sjis"), "   1 | あ\n", "lf", "shift_jis"},
		{args("file_path", "d.c"), "   1 | x\n", "crlf", "utf-16le"},
	} {
		r := d.call(t, "read_file", tt.args)
		if r.Error != nil || !strings.HasPrefix(r.Output, tt.text) || r.VersionInfo.Encoding != tt.encoding ||
			r.VersionInfo.LineEnding != tt.ending {
			t.Errorf("%s: %v\n%s\n%+v", tt.args, r.Error, r.Output, r.VersionInfo)
		}
	}
	if r := d.call(t, "read_file", args("file_path", "c.c", "encoding", "euc-jp")); r.Error == nil ||
		r.Error.Code != tool.EncodingError {
		t.Errorf("a wrong declaration: %v, %s", r.Error, r.Output)
	}
	// With no declaration the text is shown as far as it is one.
	if r := d.call(t, "read_file", args("file_path", "c.c")); r.Error != nil || r.VersionInfo.Encoding != "unknown-8bit" {
		t.Errorf("undeclared: %v", r.Error)
	}
}

// TestStaleWideTextIsMerged changes one place behind the model's back and lets it
// change another.
func TestStaleWideTextIsMerged(t *testing.T) {
	d := newDisk(map[string]string{"a": wide("one\ntwo\nthree\nfour\nfive\n")})
	d.call(t, "read_file", args("file_path", "a"))
	d.put("a", wide("one\ntwo\nthree\nfour\nfünf\n"))
	r := d.call(t, "edit_file", args("file_path", "a", "old_string", "one", "new_string", "ᐁ"))
	if r.Error != nil || !strings.Contains(r.Output, "merged") || d.text("a") != wide("ᐁ\ntwo\nthree\nfour\nfünf\n") {
		t.Errorf("%v, %s, %q", r.Error, r.Output, d.text("a"))
	}
	if strings.Contains(r.Output, "\x00") {
		t.Errorf("raw bytes in %q", r.Output)
	}
	d.put("a", wide("ONE\ntwo\nthree\nfour\nfünf\n"))
	r = d.call(t, "edit_file", args("file_path", "a", "old_string", "ᐁ", "new_string", "uno"))
	if r.Error == nil || r.Error.Code != tool.VersionMismatch || !strings.Contains(r.Error.Message, "ONE") ||
		strings.Contains(r.Error.Message, "\x00") {
		t.Errorf("the same place: %v", r.Error)
	}
}
