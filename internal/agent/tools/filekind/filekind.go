// Package filekind says what a file is, by its name or its first bytes.
package filekind

import (
	"bytes"
	"path"
	"strings"
)

// Image returns the media type of an image that models can see.
func Image(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// Binary names a binary format by its first bytes.
func Binary(b []byte) string {
	for _, k := range [...]struct{ magic, name string }{
		{"%PDF-", "PDF document"}, {"PK\x03\x04", "ZIP archive"}, {"\x1f\x8b", "gzip archive"}, {"\x7fELF", "ELF program"},
		{"MZ", "Windows program"}, {"\xcf\xfa\xed\xfe", "Mach-O program"}, {"\xca\xfe\xba\xbe", "Mach-O program or Java class"},
		{"SQLite format 3\x00", "SQLite database"}, {"\x00asm", "WebAssembly module"}, {"BZh", "bzip2 archive"},
		{"\xfd7zXZ\x00", "xz archive"}, {"\x28\xb5\x2f\xfd", "zstd archive"}, {"7z\xbc\xaf\x27\x1c", "7z archive"},
		{"!<arch>\n", "static library"}, {"BM", "bitmap image"}, {"\x00\x00\x01\x00", "icon"}, {"OggS", "Ogg media"}, {"ID3", "MP3 audio"},
		{"\xff\xfe\x00\x00", "UTF-32 text"}, {"\x00\x00\xfe\xff", "UTF-32 text"},
	} {
		if bytes.HasPrefix(b, []byte(k.magic)) {
			return k.name
		}
	}
	return "unknown format"
}

var languages = map[string]string{
	".go": "go", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
	".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact", ".py": "python",
	".pyi": "python", ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp",
	".hpp": "cpp", ".hh": "cpp", ".cs": "csharp", ".java": "java", ".kt": "kotlin", ".kts": "kotlin",
	".swift": "swift", ".rb": "ruby", ".php": "php", ".sh": "shellscript", ".bash": "shellscript",
	".zsh": "shellscript", ".html": "html", ".htm": "html", ".css": "css", ".json": "json", ".yaml": "yaml",
	".yml": "yaml", ".toml": "toml", ".xml": "xml", ".sql": "sql", ".md": "markdown", ".markdown": "markdown",
}

// Language guesses the language of a file by its name, empty if unknown.
func Language(name string) string {
	return languages[strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))]
}
