package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type event struct{ Name, Data string }

func readAll(r *Reader) ([]event, error) {
	var all []event
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event{e.Name, string(e.Data)})
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		name, in string
		want     []event
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []event{{"", "a"}}},
		{"named", "event: x\ndata: a\n\ndata: b\n\n", []event{{"x", "a"}, {"", "b"}}},
		{"name after data", "data: a\nevent: x\n\n", []event{{"x", "a"}}},
		{"crlf", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []event{{"x", "a"}, {"", "b"}}},
		{"cr", "data: a\r\rdata: b\r\r", []event{{"", "a"}, {"", "b"}}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", []event{{"", "a"}, {"", "b"}, {"", "c"}}},
		{"several data lines", "data: a\ndata\ndata:b\n\n", []event{{"", "a\n\nb"}}},
		{"one space is dropped", "data:  a\n\n", []event{{"", " a"}}},
		{"comments", ": hello\n:\ndata: a\n: mid\ndata: b\n\n: bye\n\n", []event{{"", "a\nb"}}},
		{"other fields", "id: 7\nretry: 10\nfoo\ndata: a\n\n", []event{{"", "a"}}},
		{"name alone is no event", "event: x\n\ndata: a\n\n", []event{{"", "a"}}},
		{"empty data is an event", "data:\n\n", []event{{"", ""}}},
		{"many blank lines", "\n\n\ndata: a\n\n\n\n", []event{{"", "a"}}},
		{"byte order mark", "\ufeffdata: a\n\n", []event{{"", "a"}}},
		{"end without blank line", "data: a\n\nevent: x\ndata: b\n", []event{{"", "a"}, {"x", "b"}}},
		{"end within a line", "data: a\n\ndata: b", []event{{"", "a"}}},
		{"colon in data", "data: {\"a\":1}\n\n", []event{{"", `{"a":1}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"whole": func(r io.Reader) io.Reader { return r },
				"bytes": iotest.OneByteReader,
				"eof":   iotest.DataErrReader,
			} {
				got, err := readAll(NewReader(wrap(strings.NewReader(tt.in))))
				if err != io.EOF {
					t.Errorf("%s: err = %v, want EOF", name, err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%s: events of %q (-want +got):\n%s", name, tt.in, d)
				}
			}
		})
	}
}

func TestSourceErrorDropsTheOpenEvent(t *testing.T) {
	boom := errors.New("boom")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(boom))
	got, err := readAll(NewReader(src))
	if !errors.Is(err, boom) {
		t.Errorf("err = %v, want boom", err)
	}
	if d := cmp.Diff([]event{{"", "a"}}, got); d != "" {
		t.Error(d)
	}
}

func TestLineLimit(t *testing.T) {
	fits := "data:" + strings.Repeat("x", 95) + "\n\n"
	tests := []struct {
		name, in string
		events   int
		err      error
	}{
		{"fits", fits, 1, io.EOF},
		{"one more", fits + "data:" + strings.Repeat("x", 96) + "\n\n", 1, ErrTooLong},
		{"never ends", fits + strings.Repeat("x", 1000), 1, ErrTooLong},
		{"event of many lines", strings.Repeat("data:0123456789\n", 12) + "\n", 0, ErrTooLong},
		{"long comment", ":" + strings.Repeat("x", 1000) + "\n", 0, ErrTooLong},
	}
	for _, tt := range tests {
		for _, src := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
			r := newReader(src, 100)
			events, err := readAll(r)
			if len(events) != tt.events || !errors.Is(err, tt.err) {
				t.Errorf("%s: %d events, err %v; want %d, %v", tt.name, len(events), err, tt.events, tt.err)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%s: second error %v, want %v", tt.name, again, err)
			}
		}
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// SEC D4: a line of a gigabyte does not fill the memory.
func TestSEC_D4_EndlessLineIsBounded(t *testing.T) {
	src := &endless{}
	r := NewReader(io.MultiReader(strings.NewReader("data: "), src))
	if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("err = %v, want ErrTooLong", err)
	}
	if limit := MaxLine + 16<<20; src.read > limit || len(r.buf) > limit {
		t.Errorf("read %d bytes into %d, want at most %d", src.read, len(r.buf), limit)
	}
}

func TestSourceWithoutProgress(t *testing.T) {
	if _, err := NewReader(idle{}).Next(); err != io.ErrNoProgress {
		t.Errorf("err = %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestAliveCountsWholeLines(t *testing.T) {
	n := 0
	r := NewReader(iotest.OneByteReader(strings.NewReader(": c\n\ndata: a\n\nhalf")))
	r.Alive = func() { n++ }
	if _, err := readAll(r); err != io.EOF {
		t.Fatal(err)
	}
	if n != 4 {
		t.Errorf("alive %d times, want 4", n)
	}
}

// chunks returns the stream in pieces whose sizes are taken from cuts.
type chunks struct {
	data, cuts []byte
	i          int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	size := len(c.data)
	if len(c.cuts) > 0 {
		size = int(c.cuts[c.i%len(c.cuts)])%17 + 1
		c.i++
	}
	n := copy(p[:min(size, len(p))], c.data)
	c.data = c.data[n:]
	return n, nil
}

// Any chunking gives the same events.
func FuzzChunking(f *testing.F) {
	f.Add("event: x\r\ndata: a\r\ndata: b\r\n\r\n: c\n\ndata: d\n", []byte{0, 3, 9})
	f.Add("\ufeffdata: a\r\r\n\ndata", []byte{1})
	f.Add(strings.Repeat("data: 0123456789\n", 30), []byte{16})
	f.Fuzz(func(t *testing.T, in string, cuts []byte) {
		want, wantErr := readAll(newReader(strings.NewReader(in), 200))
		got, gotErr := readAll(newReader(&chunks{data: []byte(in), cuts: cuts}, 200))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("events of %q (-whole +chunked):\n%s", in, d)
		}
		if errors.Is(wantErr, ErrTooLong) != errors.Is(gotErr, ErrTooLong) {
			t.Errorf("errors of %q: %v, chunked %v", in, wantErr, gotErr)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	one := "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n"
	in := strings.Repeat(one, 1000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(in))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
