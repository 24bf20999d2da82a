package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// framed gives a body its length and its checksum, whatever it holds.
func framed(body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, table))
	return append(b, body...)
}

// drawRecord makes any record.
func drawRecord(r *rapid.T) *Record {
	text := rapid.StringN(0, 8, 20)
	rec := &Record{Kind: Touch, Path: text.Draw(r, "path"), To: text.Draw(r, "to"), Why: text.Draw(r, "why"),
		Number: rapid.Int64().Draw(r, "number"), Refused: rapid.Bool().Draw(r, "refused"), Gone: rapid.Bool().Draw(r, "gone"), time: rapid.Int64().Draw(r, "time")}
	if rapid.Bool().Draw(r, "there") {
		rec.Before = State{Kind: File, How: Inline, Mode: rapid.Uint32().Draw(r, "mode"), Links: rapid.Uint64().Draw(r, "links"),
			Sig:  Sig{Ino: rapid.Uint64().Draw(r, "ino"), Size: rapid.Int64().Draw(r, "size")},
			Data: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(r, "data")}
	}
	return rec
}

// TestBodiesThatEndTooEarlyAreNoRecords: a checksum says only that the bytes are those that were
// written. Of a body that is cut, what is left is a record only where it lacks no more than its time.
func TestBodiesThatEndTooEarlyAreNoRecords(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rec := drawRecord(r)
		b := rec.frame(nil)
		got, n, err := parse(b)
		if err != nil || n != len(b) || got.Path != rec.Path || got.To != rec.To || got.Why != rec.Why || got.Number != rec.Number ||
			got.time != rec.time || got.Refused != rec.Refused || got.Gone != rec.Gone || got.Before.Mode != rec.Before.Mode ||
			!bytes.Equal(got.Before.Data, rec.Before.Data) {
			r.Fatalf("%+v came back as %+v: %v", rec, got, err)
		}
		if rec.Before.Kind == File && !bytes.Equal(b[got.Before.At:got.Before.At+int64(len(rec.Before.Data))], rec.Before.Data) {
			r.Fatalf("its data is not at %d of %d bytes", got.Before.At, len(b))
		}
		body := rec.append(nil) // without what fills it up
		timed := len(binary.AppendVarint(nil, rec.time))
		older, _, err := parse(framed(body[:len(body)-timed]))
		if err != nil || older.Path != rec.Path || older.time != 0 {
			r.Fatalf("one without a time: %+v, %v", older, err)
		}
		for cut := range len(body) {
			if _, _, err := parse(framed(body[:cut])); err == nil && cut != len(body)-timed {
				r.Fatalf("%d of %d bytes are a record", cut, len(body))
			}
		}
	})
}

// TestAnyBytesAreReadSafely: bytes with a sound checksum that nobody wrote.
func TestAnyBytesAreReadSafely(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "body")
		b := framed(body)
		if rec, n, err := parse(b); err == nil && (n != len(b) || len(rec.Path)+len(rec.To)+len(rec.Why)+len(rec.Before.Data) > len(body)) {
			r.Fatalf("%d bytes are %+v", len(body), rec)
		}
		if _, _, err := parse(b[:rapid.IntRange(0, len(b)-1).Draw(r, "cut")]); err == nil {
			r.Fatal("what is cut off is a record")
		}
	})
	huge := framed(append([]byte{byte(Touch), 0}, binary.AppendUvarint(nil, 1<<62)...))
	if _, _, err := parse(huge); err == nil {
		t.Error("a path of 4 exabytes")
	}
}

// TestContentsAreFoundWhereTheyAre: contents that are left in the journal, behind others.
func TestContentsAreFoundWhereTheyAre(t *testing.T) {
	dir := t.TempDir()
	var text []byte
	contents := [][]byte{bytes.Repeat([]byte("a"), brief), bytes.Repeat([]byte("b"), brief+1), nil, bytes.Repeat([]byte("cd"), 40_000),
		bytes.Repeat([]byte("e"), 2*step)}
	for i, c := range contents {
		rec := &Record{Kind: Touch, Path: "/a", Number: int64(i), Before: State{Kind: File, How: Inline, Sig: Sig{Size: int64(len(c))}, Data: c}}
		text = rec.frame(text)
	}
	if err := os.WriteFile(filepath.Join(dir, Name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, whole, err := r.Next()
	if err != nil || !whole || len(list) != len(contents) {
		t.Fatalf("%d records, %v, %v", len(list), whole, err)
	}
	for i, rec := range list {
		got, err := Content(dir, &rec.Before)
		if err != nil || !bytes.Equal(got, contents[i]) {
			t.Errorf("content %d has %d bytes: %v", i, len(got), err)
		}
		if kept := len(rec.Before.Data) > 0; kept != (len(contents[i]) > 0 && len(contents[i]) <= brief) {
			t.Errorf("content %d of %d bytes is kept in memory: %v", i, len(contents[i]), kept)
		}
	}
	r.Close()
	if _, _, err := r.Next(); err == nil {
		t.Error("a closed journal has records")
	}
	if _, err := Content(t.TempDir(), &list[3].Before); err == nil {
		t.Error("a journal that is not there has contents")
	}
}
