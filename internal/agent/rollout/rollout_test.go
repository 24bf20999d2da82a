package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/redact"
)

// said is the body of the records of these tests.
type said struct {
	Text string `json:"text"`
}

func clock() func() time.Time {
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.FixedZone("far", 3600))
	return func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
}

// session makes a session of n records, and closes it.
func session(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions", "id")
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Append(Entry{"user_input", said{fmt.Sprintf("text %d", i+1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func file1(dir string) string { return filepath.Join(dir, rolloutName) }

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustWrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Append(Entry{"session_meta", map[string]any{"id": "x", "n": 1}}, Entry{"event", struct{}{}},
		Entry{"user_input", said{"<a> & b\n"}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	l1 := `{"seq":1,"timestamp":"2025-01-02T02:04:05.001Z","type":"session_meta","prev":"","id":"x","n":1}`
	l2 := `{"seq":2,"timestamp":"2025-01-02T02:04:05.001Z","type":"event","prev":"` + hash([]byte(l1)) + `"}`
	l3 := `{"seq":3,"timestamp":"2025-01-02T02:04:05.001Z","type":"user_input","prev":"` + hash([]byte(l2)) +
		`","text":"<a> & b\n"}`
	if d := cmp.Diff(l1+"\n"+l2+"\n"+l3+"\n", string(mustRead(t, file1(dir)))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	records, damage, err := Read(dir)
	if err != nil || damage != nil || len(records) != 3 {
		t.Fatalf("%d records, %v, %v", len(records), damage, err)
	}
	at := time.Date(2025, 1, 2, 2, 4, 5, 1e6, time.UTC)
	if d := cmp.Diff(Record{3, at, "user_input", json.RawMessage(l3)}, records[2]); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	var v said
	if err := json.Unmarshal(records[2].Raw, &v); err != nil || v.Text != "<a> & b\n" {
		t.Errorf("decoded %+v, %v", v, err)
	}
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func TestAppendRefuses(t *testing.T) {
	dir := session(t, 1)
	w, _, _, err := Open(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before := mustRead(t, file1(dir))
	for _, e := range []Entry{
		{"x", nil}, {"x", 1}, {"x", []int{1}}, {"", said{}}, {"a b", said{}}, {`a"`, said{}}, {"x", func() {}},
		{"x", map[string]int{"seq": 1}}, {"x", map[string]int{"a": 1, "Type": 1}}, {"x", json.RawMessage(`{"\u0070rev":1}`)},
	} {
		if err := w.Append(Entry{"user_input", said{"good"}}, e); err == nil {
			t.Errorf("%+v was taken", e)
		}
	}
	if after := mustRead(t, file1(dir)); !bytes.Equal(before, after) {
		t.Errorf("the file changed:\n%s", after)
	}
	if err := w.Append(Entry{"x", map[string]any{"in": map[string]int{"seq": 1, "type": 2},
		"s": `","seq":7`}}); err != nil {
		t.Errorf("inner fields are free: %v", err)
	}
	w.Close()
	if err := w.Append(Entry{"x", said{}}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestCreateRefusesWhatExists(t *testing.T) {
	dir := session(t, 2)
	before := mustRead(t, file1(dir))
	if _, err := Create(dir, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, mustRead(t, file1(dir))) {
		t.Error("the session changed")
	}
}

func TestOpenContinues(t *testing.T) {
	dir := session(t, 3)
	w, records, damage, err := Open(dir, Options{Now: clock()})
	if err != nil || damage != nil || len(records) != 3 {
		t.Fatalf("%d records, %v, %v", len(records), damage, err)
	}
	if err := w.Append(Entry{"user_input", said{"text 4"}}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	records, damage, err = Read(dir)
	if err != nil || damage != nil || texts(records) != "1 2 3 4" {
		t.Fatalf("%s, %v, %v", texts(records), damage, err)
	}
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func texts(records []Record) string {
	var out []string
	for _, r := range records {
		var v said
		_ = json.Unmarshal(r.Raw, &v)
		out = append(out, strings.TrimPrefix(v.Text, "text "))
	}
	return strings.Join(out, " ")
}

func TestSEC_R3_SecondWriterIsRefused(t *testing.T) {
	dir := session(t, 1)
	w, _, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLive) {
		t.Errorf("second writer: %v", err)
	}
	if _, _, err := Read(dir); err != nil {
		t.Errorf("reading beside a writer: %v", err)
	}
	w.Close()
	w, _, _, err = Open(dir, Options{})
	if err != nil {
		t.Fatalf("after the first closed: %v", err)
	}
	w.Close()
}

func TestSEC_R7_Modes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Windows")
	}
	for _, mask := range []int{0, 0o77, 0o777} {
		t.Run(fmt.Sprintf("%03o", mask), func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "p")
			dir := filepath.Join(parent, "s")
			if mask == 0o777 { // in which nothing can be made
				if err := os.Mkdir(parent, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			withUmask(mask, func() {
				w, err := Create(dir, Options{})
				if err != nil {
					t.Fatal(err)
				}
				w.Append(Entry{"x", said{}})
				if _, err := w.SaveDiff([]byte("d")); err != nil {
					t.Fatal(err)
				}
				if err := SaveMetadata(dir, Metadata{ID: "x"}); err != nil {
					t.Fatal(err)
				}
				w.Close()
			})
			n := 0
			filepath.WalkDir(parent, func(p string, d fs.DirEntry, err error) error {
				if err != nil {
					t.Fatal(err)
				}
				info, err := d.Info()
				if err != nil {
					t.Fatal(err)
				}
				want := fs.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				if info.Mode().Perm() != want {
					t.Errorf("%s has mode %v", p, info.Mode())
				}
				n++
				return nil
			})
			if n != 8 {
				t.Errorf("%d files and directories", n)
			}
		})
	}
}

func TestSEC_R7_LinksAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take a privilege")
	}
	dir := session(t, 1)
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(dir, link)
	if _, _, _, err := Open(link, Options{}); err == nil {
		t.Error("a linked directory was opened")
	}
	for _, name := range []string{rolloutName, lockName} {
		dir, other := session(t, 1), filepath.Join(t.TempDir(), "other")
		mustWrite(t, other, []byte("mine\n"))
		os.Remove(filepath.Join(dir, name))
		os.Symlink(other, filepath.Join(dir, name))
		if _, _, _, err := Open(dir, Options{}); err == nil {
			t.Errorf("a linked %s was opened", name)
		}
		if got := mustRead(t, other); string(got) != "mine\n" {
			t.Errorf("%s: the target is now %q", name, got)
		}
	}
	dir, outside := session(t, 1), t.TempDir()
	os.Symlink(outside, filepath.Join(dir, diffsName))
	w, _, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if name, err := w.SaveDiff([]byte("x")); err == nil {
		t.Errorf("%s was saved through a link", name)
	}
}

func TestSaveDiffNumbers(t *testing.T) {
	dir := session(t, 0)
	var got []string
	for range 2 {
		w, _, _, err := Open(dir, Options{Redact: redact.New([]string{"A_KEY=hunter2hunter2"}).Bytes})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			name, err := w.SaveDiff([]byte("+hunter2hunter2\n"))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
			if b := mustRead(t, filepath.Join(dir, name)); string(b) != "+[redacted]\n" {
				t.Errorf("%s holds %q", name, b)
			}
		}
		w.Close()
		mustWrite(t, filepath.Join(dir, "diffs", "notes.diff"), nil)
	}
	mustWrite(t, filepath.Join(dir, "diffs", "1233.diff"), nil)
	w, _, _, _ := Open(dir, Options{})
	name, err := w.SaveDiff(nil)
	w.Close()
	got = append(got, name)
	if d := cmp.Diff([]string{"diffs/001.diff", "diffs/002.diff", "diffs/003.diff", "diffs/004.diff", "diffs/1234.diff"},
		got); d != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, d)
	}
}

func TestRedactedBeforeHashing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	w, err := Create(dir, Options{Redact: redact.New([]string{"A_TOKEN=s3cr3t\"s3cr3t"}).Bytes})
	if err != nil {
		t.Fatal(err)
	}
	w.Append(Entry{"user_input", said{`a s3cr3t"s3cr3t b`}}, Entry{"user_input", said{"next"}})
	w.SaveMetadata(Metadata{Title: `about s3cr3t"s3cr3t`})
	w.Close()
	for _, name := range []string{rolloutName, metadataName} {
		if b := mustRead(t, filepath.Join(dir, name)); bytes.Contains(b, []byte("s3cr3t")) ||
			!bytes.Contains(b, []byte("[redacted]")) {
			t.Errorf("%s holds %s", name, b)
		}
	}
	if err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2025, 1, 2, 3, 4, 5, 6e6, time.UTC)
	dirty := true
	m := Metadata{ID: "i", Title: "t", Cwd: "/w", Git: Git{"/w", "main", "abc", &dirty, "https://u:p@host/x.git"},
		Model: "m", Provider: "p", Created: now, Updated: now, Turns: 1, Tokens: 2, Parent: "q", Source: "exec",
		Archived: true}
	if err := SaveMetadata(dir, m); err != nil {
		t.Fatal(err)
	}
	m.Turns = 2
	if err := SaveMetadata(dir, m); err != nil {
		t.Fatal(err)
	}
	got, err := LoadMetadata(dir)
	m.Git.Remote = "https://host/x.git"
	if d := cmp.Diff(m, got); d != "" || err != nil {
		t.Errorf("%v -want +got\n%s", err, d)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	mustWrite(t, filepath.Join(dir, metadataName), []byte(`{"id":"i","later":{"x":1}}`))
	if got, err := LoadMetadata(dir); err != nil || got.ID != "i" {
		t.Errorf("with unknown fields: %+v, %v", got, err)
	}
	const most = `{"id":"i"}`
	mustWrite(t, filepath.Join(dir, metadataName), []byte(strings.Repeat(" ", maxMetadata-len(most))+most))
	if got, err := LoadMetadata(dir); err != nil || got.ID != "i" {
		t.Errorf("as large as may be: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "{", `{"id":1}`, strings.Repeat(" ", maxMetadata+1), strings.Repeat("[", 100_000)} {
		mustWrite(t, filepath.Join(dir, metadataName), []byte(bad))
		if _, err := LoadMetadata(dir); err == nil {
			t.Errorf("%.20q was read", bad)
		}
	}
}

func TestRemoteWithoutPassword(t *testing.T) {
	for in, want := range map[string]string{
		"https://token@host/x":      "https://host/x",
		"https://u:p@host:8443/x?y": "https://host:8443/x?y",
		"https://u:p@ss@host/x@y":   "https://host/x@y",
		"ssh://git:pw@host/x":       "ssh://git@host/x",
		"git+SSH://git:pw@host":     "git+SSH://git@host",
		"sshx://git:pw@host":        "sshx://host",
		"https://u:p@host":          "https://host",
		"https://u@host?x@y":        "https://host?x@y",
		"https://host?x@y":          "https://host?x@y",
		"https://host#x@y":          "https://host#x@y",
		"https://@host/x":           "https://host/x",
		"file:///a@b/c":             "file:///a@b/c",
		"git@host:a/b.git":          "git@host:a/b.git",
		"https://host/x@y":          "https://host/x@y",
		"/a/path":                   "/a/path",
		"https://u:%zz@host/x":      "https://host/x",
		"":                          "",
	} {
		if got := withoutUser(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestVerifyFindsEveryChange(t *testing.T) {
	dir := session(t, 0)
	w, _, _, err := Open(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	diff, err := w.SaveDiff([]byte("d\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := w.Append(Entry{"file_change", map[string]any{"path": i, "diff_path": diff}}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if err := Verify(dir); err != nil {
		t.Fatal(err)
	}
	good := mustRead(t, file1(dir))
	check := func(what string, b []byte, line int) {
		t.Helper()
		mustWrite(t, file1(dir), b)
		var broken *BreakError
		if err := Verify(dir); !errors.As(err, &broken) {
			t.Fatalf("%s: %v", what, err)
		} else if line > 0 && broken.Line != line {
			t.Errorf("%s: %v, want line %d", what, err, line)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1
		check(fmt.Sprintf("flip of byte %d", i), b, 0)
		check(fmt.Sprintf("cut at byte %d", i), good[:i], bytes.Count(good[:i], []byte("\n"))+1)
	}
	ls := bytes.SplitAfter(good, []byte("\n"))
	join := func(i ...int) []byte {
		var out []byte
		for _, n := range i {
			out = append(out, ls[n]...)
		}
		return out
	}
	check("swap", join(0, 2, 1, 3), 2)
	check("line gone", join(0, 1, 3), 3)
	check("first gone", join(1, 2, 3), 1)
	check("repeated", join(0, 1, 1, 2, 3), 3)
	check("added", append(bytes.Clone(good), "{}\n"...), 5)
	check("crlf", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), 2)

	mustWrite(t, file1(dir), good)
	os.Remove(filepath.Join(dir, diff))
	var broken *BreakError
	if err := Verify(dir); !errors.As(err, &broken) || broken.Line != 1 {
		t.Errorf("diff gone: %v", err)
	}
}

func TestVerifyRefusesPathsOutside(t *testing.T) {
	dir := session(t, 0)
	w, _, _, _ := Open(dir, Options{})
	w.Append(Entry{"file_change", map[string]any{"diff_path": "diffs/../../../etc/passwd"}})
	w.Close()
	var broken *BreakError
	if err := Verify(dir); !errors.As(err, &broken) ||
		!regexp.MustCompile("not the name of a diff").MatchString(broken.Reason) {
		t.Errorf("got %v", err)
	}
}

// TestAHeadThatSaysNothing tells of no loss, and the session goes on; one that was written again says what is.
func TestAHeadThatSaysNothing(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, head := range []string{"", "7", strings.Repeat("x", headSize), strings.Repeat("0", 19) + "7x" + sum + "\n",
		strings.Repeat("0", 19) + "7 " + sum + "x", "-" + strings.Repeat("0", 18) + "7 " + sum + "\n", "none", "directory"} {
		dir := session(t, 2)
		name := filepath.Join(dir, headName)
		switch head {
		case "none", "directory":
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if head == "directory" {
				if err := os.Mkdir(name, 0o700); err != nil {
					t.Fatal(err)
				}
			}
		default:
			mustWrite(t, name, []byte(head))
		}
		if records, damage, err := Read(dir); damage != nil || err != nil || texts(records) != "1 2" {
			t.Errorf("%q: %v, %v", head, damage, err)
		}
		if err := Verify(dir); err != nil {
			t.Errorf("%q: %v", head, err)
		}
		w, damage, err := Extend(dir, Options{Now: clock()})
		if err != nil || damage != nil {
			t.Fatalf("%q: %v, %v", head, damage, err)
		}
		if err := errors.Join(w.Append(Entry{"user_input", said{"text 3"}}), w.Close()); err != nil {
			t.Errorf("%q: %v", head, err)
		}
		if seq, sum := readHead(name); head != "directory" && (seq != 3 || len(sum) != 64) {
			t.Errorf("%q: the head says %d, %q", head, seq, sum)
		}
		if err := Verify(dir); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
	dir := session(t, 2)
	mustWrite(t, filepath.Join(dir, headName), formatHead(5, sum))
	if _, damage, err := Read(dir); err != nil || damage == nil || damage.Missing != 3 {
		t.Errorf("%v, %v", damage, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "s"), Options{Redact: redact.New([]string{"A_KEY=0123456789"}).Bytes})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	e := Entry{"tool_call", said{strings.Repeat("a line of output\n", 60)}}
	for b.Loop() {
		if err := w.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "s")
	w, err := Create(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for range 2000 {
		w.Append(Entry{"tool_call", said{strings.Repeat("a line of output\n", 60)}})
	}
	w.Close()
	b.SetBytes(int64(len(mustRead(b, file1(dir)))))
	for b.Loop() {
		if records, _, err := Read(dir); err != nil || len(records) != 2000 {
			b.Fatal(len(records), err)
		}
	}
}

// TestAWriterThatIsClosedTakesNothing, not even for later.
func TestAWriterThatIsClosedTakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	w, err := Create(dir, Options{Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, diff := w.SaveDiff([]byte("+x\n"))
	for what, err := range map[string]error{"append": w.Append(Entry{"user_input", said{"late"}}), "sync": w.Sync(), "a diff": diff} {
		if !errors.Is(err, os.ErrClosed) || errors.Is(err, ErrPending) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(w.pending) > 0 || w.seq > 0 || w.Close() != nil {
		t.Errorf("%d bytes, %d records", len(w.pending), w.seq)
	}
}
