package diff

import (
	"bytes"
	"compress/zlib"
	"strconv"
)

// alphabet85 are the digits of git's base 85.
const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// writeLiteral writes b as one side of a git binary patch: its length, then its
// deflated bytes, 52 a line. Each line starts with a letter for its length.
func writeLiteral(out *bytes.Buffer, b []byte) {
	out.WriteString("literal " + strconv.Itoa(len(b)) + "\n")
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(b) // a bytes.Buffer takes everything
	z.Close()
	for p := packed.Bytes(); len(p) > 0; {
		n := min(52, len(p))
		if n <= 26 {
			out.WriteByte(byte('A' + n - 1))
		} else {
			out.WriteByte(byte('a' + n - 27))
		}
		write85(out, p[:n])
		out.WriteByte('\n')
		p = p[n:]
	}
	out.WriteByte('\n')
}

// write85 writes four bytes as five digits; the last four are filled with zeros.
func write85(out *bytes.Buffer, b []byte) {
	for ; len(b) > 0; b = b[min(4, len(b)):] {
		var word uint32
		for i := range 4 {
			word <<= 8
			if i < len(b) {
				word |= uint32(b[i])
			}
		}
		var digits [5]byte
		for i := 4; i >= 0; i-- {
			digits[i] = alphabet85[word%85]
			word /= 85
		}
		out.Write(digits[:])
	}
}
