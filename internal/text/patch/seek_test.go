package patch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFormsOfLines: which characters count as spaces at the ends of lines, and which are folded; their
// neighbours do and are not.
func TestFormsOfLines(t *testing.T) {
	spaces := " \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2005\u200a\u2028\u2029\u202f\u205f\u3000"
	for _, r := range spaces {
		if s := string(r); form(trimmed, s+"x y"+s) != "x y" || form(trailing, s+"x"+s) != s+"x" || form(exact, s+"x") != s+"x" {
			t.Errorf("%U at the ends of a line stays", r)
		}
	}
	for _, r := range "x_\u0084\u0086\u009f\u00a1\u167f\u1681\u1fff\u200b\u2027\u202a\u202e\u2030\u205e\u2060\u2fff\u3001\u180e" {
		if s := string(r); form(trimmed, s+"x"+s) != s+"x"+s {
			t.Errorf("%U at the ends of a line is taken for a space", r)
		}
	}
	folded := map[string]string{
		"\u2010\u2011\u2012\u2013\u2014\u2015\u2212": "-------", "\u2018\u2019\u201a\u201b": "''''",
		"\u201c\u201d\u201e\u201f": `""""`, "x\u00a0\u202f\u205f\u3000\u2002\u2006\u200ax": "x       x",
		"\u200f\u2016\u2017\u2020\u2211\u2213":              "\u200f\u2016\u2017\u2020\u2211\u2213",
		"x\u009f\u00a1\u2001\u200b\u202e\u2030\u205e\u2060": "x\u009f\u00a1\u2001\u200b\u202e\u2030\u205e\u2060", "a-b 'c' \"d\"": `a-b 'c' "d"`,
	}
	for line, want := range folded {
		if got := form(punctuation, line); got != want {
			t.Errorf("%+q is compared as %+q, not %+q", line, got, want)
		}
	}
}

// findTwin says in a plain way what find does.
func findTwin(lines, pattern []string, from int, eof bool) (int, bool) {
	for level := exact; level < levels; level++ {
		for at := from; at+len(pattern) <= len(lines); at++ {
			if eof && at+len(pattern) != len(lines) {
				continue
			}
			same := true
			for i, l := range pattern {
				same = same && form(level, lines[at+i]) == form(level, l)
			}
			if same {
				return at, true
			}
		}
	}
	return 0, false
}

func TestFindIsTheStrictestFirstPlace(t *testing.T) {
	found := 0
	rapid.Check(t, func(r *rapid.T) {
		draw := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a ", " a", "b", "a\u2013", "a-", ""}), 0, 6)
		lines, pattern := draw.Draw(r, "lines"), draw.Draw(r, "pattern")
		if at := rapid.IntRange(0, 8).Draw(r, "at"); at < len(lines) { // often one that is there
			pattern = append(slices.Clone(lines[at:]), pattern...)
		}
		pattern = pattern[:min(len(pattern), rapid.IntRange(0, 3).Draw(r, "length"))]
		from, eof := rapid.IntRange(0, len(lines)).Draw(r, "from"), rapid.Bool().Draw(r, "eof")
		s := &seeker{}
		s.lines[exact] = lines
		for range 2 { // the second time the forms are there
			at, ok := s.find(pattern, from, eof)
			wantAt, wantOK := findTwin(lines, pattern, from, eof)
			if at != wantAt || ok != wantOK {
				r.Fatalf("%q in %q from %d (the last: %v): %d, %v, not %d, %v", pattern, lines, from, eof, at, ok, wantAt, wantOK)
			}
			if ok && len(pattern) > 0 {
				found++
			}
		}
	})
	if found == 0 {
		t.Errorf("%d were found", found)
	}
}

func TestStats(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Stat
	}{
		"envelope": {"*** Begin Patch\n*** Add File: a\n+x\n+y\n*** Delete File: b\n*** Update File: c\n@@\n-x\n y\n+z\n+w\n" +
			"*** Update File: d\n*** Move to: e\n@@\n-x\n+y\n*** End Patch\n",
			[]Stat{{"a", "", Added, 2, 0}, {"b", "", Deleted, 0, 0}, {"c", "", Updated, 2, 1}, {"d", "e", Moved, 1, 1}}},
		"git": {"diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n" +
			"diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
			"diff --git a/c b/c\n--- a/c\n+++ b/c\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n" +
			"diff --git a/d b/e\nsimilarity index 100%\nrename from d\nrename to e\n" +
			"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
			[]Stat{{"a", "", Added, 2, 0}, {"b", "", Deleted, 0, 1}, {"c", "", Updated, 1, 1}, {"d", "e", Moved, 0, 0}, {"f", "g", Copied, 0, 0}}},
	} {
		p, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := p.Stats()
		for i := range got { // a diff may have prefixes still
			got[i].Path, got[i].To = strings.TrimPrefix(got[i].Path, "a/"), strings.TrimPrefix(got[i].To, "b/")
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestDetect: what dialect a text is in, by the first line that only one can have.
func TestDetect(t *testing.T) {
	for text, want := range map[string]Dialect{
		"*** Begin Patch\n": Envelope, "talk\n  *** Update File: x\n": Envelope, "--- x\n*** Begin Patch\n": Envelope, "--- x": Git,
		"--- x\n+++ y\n*** Begin Patch\n": Git, "diff --git a b\n*** Begin Patch\n": Git, "@@ -1 +1 @@\n*** Begin Patch\n": Git,
		"*** x\n--- y\n": Git, "*** x\n*** Begin Patch\n": Envelope, "": Git, "\ufeff*** Begin Patch\n": Envelope, "+++ x\n*** End Patch\n": Envelope,
	} {
		if got := detect(strings.SplitAfter(text, "\n")); got != want {
			t.Errorf("%q is %v, not %v", text, got, want)
		}
	}
}

// TestEnvelopesThatAreRefused: at which line, and in which words.
func TestEnvelopesThatAreRefused(t *testing.T) {
	begin, end := "*** Begin Patch\n", "*** End Patch\n"
	update := "*** Update File: a\n@@\n-x\n+y\n"
	for name, c := range map[string]struct {
		text, want string
		line       int
	}{
		"no end":                {begin + update, "the last line of the patch must be", 6},
		"end first":             {end + begin + update, "the last line of the patch must be", 7},
		"after the end":         {begin + update + end + "\n*** Add File: b\n", "would be left out", 8},
		"no files":              {"x\n" + begin + end, "names no files", 2},
		"two ends":              {begin + end + update + end, "more follows", 2},
		"no header":             {begin + "x\n" + end, "is not a valid header", 2},
		"no hunks":              {begin + "*** Update File: a\n\n" + end, "has no hunks", 2},
		"no lines":              {begin + "*** Update File: a\n@@\n" + end, "the hunk has no lines", 3},
		"end of file alone":     {begin + "*** Update File: a\n@@\n*** End of File\n" + end, "the hunk has no lines", 3},
		"a line of nothing":     {begin + "*** Update File: a\n@@\nx\n" + end, "a hunk's lines begin with", 4},
		"no marker":             {begin + "*** Update File: a\n@@\n-x\n*** End of File\n-y\n" + end, "expected @@", 6},
		"no target":             {begin + "*** Update File: a\n*** Move to:  \n@@\n-x\n" + end, "the target of the move is missing", 3},
		"a NUL in a path":       {begin + "*** Add File: a\x00b\n+x\n" + end, "NUL byte", 2},
		"a NUL in a target":     {begin + "*** Update File: a\n*** Move to: b\x00\n@@\n-x\n" + end, "NUL byte", 2},
		"not UTF-8":             {begin + "*** Add File: a\n+\xff\n" + end, "not valid UTF-8", 3},
		"a cut here document":   {"apply <<'EOF'\n" + begin + update + end, "does not end with EOF", 1},
		"another word":          {"apply <<\"EOF\"\n" + begin + update + end + "EOT\n", "does not end with EOF", 1},
		"a bad word":            {"apply <<E'OF\n" + begin + update + end + "EOF\n", "not quoted properly", 1},
		"no word":               {"apply <<\n" + begin + update + end, "not quoted properly", 1},
		"one quote":             {"apply <<'\n" + begin + update + end, "not quoted properly", 1},
		"another directory":     {"cd x && apply <<EOF\n" + begin + update + end + "EOF\n", "is for another directory", 1},
		"another, with a blank": {"pushd x && apply <<EOF\n\n" + begin + update + end + "EOF\n", "is for another directory", 1},
	} {
		_, err := Parse([]byte(c.text))
		var at *Error
		if e, ok := err.(*Error); ok {
			at = e
		}
		if at == nil || !strings.Contains(err.Error(), c.want) || at.Line != c.line {
			t.Errorf("%s: %+v, not %q in line %d", name, err, c.want, c.line)
		}
	}
	for name, text := range map[string]string{
		"a here document":  "apply <<'EOF'\n" + begin + update + end + "EOF\n",
		"in double quotes": "apply <<\"EOF\"\n" + begin + update + end + "EOF\n",
		"with tabs":        "apply <<-EOF x\n" + begin + update + end + "\tEOF\n",
		"cd alone":         "cd <<EOF\n" + begin + update + end + "EOF\n",
		"talk":             "here it is\n\n" + begin + update + end + "done\n",
		"an environment":   begin + "*** Environment ID: x\n" + update + end,
		"one hunk bare":    begin + "*** Update File: a\n-x\n+y\n" + end,
		"end of file":      begin + "*** Update File: a\n@@\n-x\n*** End of File  \n\n@@\n y\n" + end,
	} {
		if p, err := Parse([]byte(text)); err != nil || len(p.Paths()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMergesAreForChangesOfKnownFiles: the content that a diff was made from is asked for where a change
// does not fit, by its name, and not for files that come or go or of which nothing is known.
func TestMergesAreForChangesOfKnownFiles(t *testing.T) {
	base := "1\n2\n3\n4\n5\n"
	id := "8a1218a1024a212bb3db30becd860315f9f3ac52" // of base
	hunk := "@@ -1,5 +1,5 @@\n 1\n 2\n 3\n 4\n-5\n+five\n"
	head := "diff --git a/a b/a\n"
	names := "--- a/a\n+++ b/a\n"
	for name, c := range map[string]struct {
		text, ours string
		asked      bool
		want       string
	}{
		"known":     {head + "index " + id + "..1234567 100644\n" + names + hunk, "one\n2\n3\n4\n5\n", true, "one\n2\n3\n4\nfive\n"},
		"shortened": {head + "index 8a1218a..1234567 100644\n" + names + hunk, "one\n2\n3\n4\n5\n", true, "one\n2\n3\n4\nfive\n"},
		"it fits":   {head + "index " + id + "..1234567 100644\n" + names + hunk, base, false, "1\n2\n3\n4\nfive\n"},
		"unknown":   {head + names + hunk, "one\n2\n3\n4\n5\n", false, ""},
		"null":      {head + "index 0000000..1234567 100644\n" + names + hunk, "one\n2\n3\n4\n5\n", false, ""},
		"another":   {head + "index 1111111..1234567 100644\n" + names + hunk, "one\n2\n3\n4\n5\n", true, ""},
		"removed": {head + "deleted file mode 100644\nindex " + id + "..0000000\n--- a/a\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n",
			"one\n2\n3\n4\n5\n", false, ""},
		"both": {head + "index " + id + "..1234567 100644\n" + names + hunk, "1\n2\n3\n4\nfünf\n", true, ""},
	} {
		p, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		asked, merged := false, false
		o := PlanOptions{Strip: 1, ThreeWay: func(path, sum string) ([]byte, bool) {
			asked = asked || path == "a"
			return []byte(base), true
		}, Merged: func(path string) { merged = path == "a" }}
		set, err := p.PlanWith(readFrom(map[string]string{"a": c.ours}), o)
		if asked != c.asked || (err == nil) != (c.want != "") || merged != (c.asked && c.want != "") {
			t.Errorf("%s: asked %v, merged %v: %v", name, asked, merged, err)
		}
		if got := after(map[string]string{"a": c.ours}, set)["a"]; c.want != "" && got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
		if name == "both" && (err == nil || !strings.Contains(err.Error(), "both changed the same place (lines 5-5, 1 such places)")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDiffsOfOneMail: what a diff takes the place of must go by another one of the same mail; a file
// that is only copied does not go.
func TestDiffsOfOneMail(t *testing.T) {
	files := map[string]string{"a": "1\n", "b": "2\n", "x": "3\n"}
	rename := func(from, to string) string {
		return "diff --git a/" + from + " b/" + to + "\nsimilarity index 100%\nrename from " + from + "\nrename to " + to + "\n"
	}
	copied := func(from, to string) string { return strings.ReplaceAll(rename(from, to), "rename", "copy") }
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"places traded":      {rename("a", "b") + rename("b", "a"), map[string]string{"a": "2\n", "b": "1\n", "x": "3\n"}},
		"over a file":        {rename("x", "a"), nil},
		"over a copied":      {rename("x", "a") + copied("a", "c"), nil},
		"copied":             {copied("a", "c"), map[string]string{"a": "1\n", "b": "2\n", "x": "3\n", "c": "1\n"}},
		"over one that goes": {rename("x", "a") + rename("a", "c"), map[string]string{"a": "3\n", "b": "2\n", "c": "1\n"}},
	} {
		p, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		set, err := p.PlanWith(readFrom(files), PlanOptions{Strip: 1})
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, after(files, set)); d != "" && c.want != nil {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestKindsOfFilesDoNotChange: a diff that makes a link of a file is refused, also with a new name, and
// a plain diff of nothing makes the file only where there is none.
func TestKindsOfFilesDoNotChange(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"changed":        {"diff --git a/a b/a\nold mode 100644\nnew mode 120000\n", false},
		"renamed":        {"diff --git a/a b/b\nold mode 100644\nnew mode 120000\nsimilarity index 100%\nrename from a\nrename to b\n", false},
		"made":           {"--- n\n+++ n\n@@ -0,0 +1 @@\n+x\n", true},
		"made of more":   {"--- n\n+++ n\n@@ -1 +1 @@\n-y\n+x\n", false},
		"made twice":     {"--- n\n+++ n\n@@ -0,0 +1 @@\n+x\n@@ -5 +6 @@\n-y\n+x\n", false},
		"made by git":    {"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", false},
		"other contents": {"--- a\n+++ a\n@@ -1 +1 @@\n-1\n+x\n", true},
	} {
		p, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		strip := 0
		if strings.HasPrefix(c.text, "diff") {
			strip = 1
		}
		set, err := p.PlanWith(readFrom(map[string]string{"a": "1\n"}), PlanOptions{Strip: strip})
		if (err == nil) != c.ok || c.ok && len(set) != 1 {
			t.Errorf("%s: %v, %v", name, set, err)
		}
	}
}

// TestThereAndBackIsNoMove: a file that is moved and comes back has no origin.
func TestThereAndBackIsNoMove(t *testing.T) {
	text := "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n*** Update File: b\n*** Move to: a\n@@\n-2\n+3\n*** End Patch\n"
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.Plan(readFrom(map[string]string{"a": "1\n"}))
	if err != nil || len(set) != 1 || set[0].Path != "a" || set[0].From != "" || set[0].To != "" || string(set[0].Post.Data) != "3\n" {
		t.Errorf("%+v, %v", set, err)
	}
}
