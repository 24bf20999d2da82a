package peers

import "bytes"

// uncommented is JSON as editors keep it without what JSON does not have: a byte order
// mark, comments, and commas behind the last element. Lines stay lines.
func uncommented(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch rest := data[i:]; {
		case rest[0] == '"':
			n := stringEnd(rest)
			out = append(out, rest[:n]...)
			i += n
		case bytes.HasPrefix(rest, []byte("//")):
			i += until(rest, "\n", 0)
		case bytes.HasPrefix(rest, []byte("/*")):
			n := until(rest[2:], "*/", 2) + 2
			out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(rest[:n], []byte("\n")))...)
			i += n
		case rest[0] == '}' || rest[0] == ']':
			if kept := bytes.TrimRight(out, " \t\r\n"); bytes.HasSuffix(kept, []byte(",")) {
				out[len(kept)-1] = ' '
			}
			out = append(out, rest[0])
			i++
		default:
			out = append(out, rest[0])
			i++
		}
	}
	return bytes.TrimSpace(out)
}

// stringEnd is where the string ends that s begins with.
func stringEnd(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// until is how many bytes stand before mark, with more bytes of it.
func until(s []byte, mark string, more int) int {
	if n := bytes.Index(s, []byte(mark)); n >= 0 {
		return n + more
	}
	return len(s)
}
