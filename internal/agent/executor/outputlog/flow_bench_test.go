package outputlog

import (
	"bytes"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/text/redact"
)

// BenchmarkTenMegabytes is what 10 MB of a command's output cost on their way: kept in
// pieces, shown live, without secrets in either.
func BenchmarkTenMegabytes(b *testing.B) {
	line := []byte("2026-11-23T03:31:33Z INFO request handled path=/api/v1/items/12345 status=200 took=12ms\n")
	data := bytes.Repeat(line, 10<<20/len(line))
	r := redact.New([]string{"API_KEY=sk-0123456789abcdefghijkl", "DB_PASSWORD=correct horse battery"})
	keep := func(p []byte) (delta.Sum, error) { return delta.Sum{}, nil }
	for name, run := range map[string]func(){
		"redact": func() { r.Bytes(data) },
		"log": func() {
			s := Store{Keep: keep, Redact: r.Bytes}
			l := s.New()
			for i := 0; i < len(data); i += 32 << 10 {
				_, _ = l.Write(data[i:min(i+32<<10, len(data))])
			}
			l.Name()
		},
		"live": func() {
			w := redact.NewWriter(r.Bytes, func(string) {})
			for i := 0; i < len(data); i += 32 << 10 {
				w.Write(string(data[i:min(i+32<<10, len(data))]))
			}
			w.Close()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				run()
			}
		})
	}
}
