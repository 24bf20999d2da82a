package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/lines"
)

func TestThree(t *testing.T) {
	type result struct {
		Merged    string
		Regions   []Region
		Conflicts []Conflict
	}
	bs := func(s string) []byte { return []byte(s) }
	for _, c := range []struct {
		name, base, ours, theirs string
		want                     result
	}{
		{"nothing", "a\n", "a\n", "a\n", result{"a\n", nil, nil}},
		{"empty", "", "", "", result{"", nil, nil}},
		{"ours", "a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", result{"a\nB\nc\n", []Region{{Ours, 2, 2}}, nil}},
		{"theirs", "a\nb\nc\n", "a\nb\nc\n", "a\nc\n", result{"a\nc\n", []Region{{Theirs, 2, 1}}, nil}},
		{"same", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", result{"a\nX\nc\n", []Region{{Both, 2, 2}}, nil}},
		{"apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\nD\n", result{"A\nb\nC\nD\n", []Region{{Ours, 1, 1}, {Theirs, 3, 4}}, nil}},
		{"same insertion and more", "a\nb\nc\nd\n", "a\nX\nb\nc\nd\n", "a\nX\nb\nc\nD\n",
			result{"a\nX\nb\nc\nD\n", []Region{{Both, 2, 2}, {Theirs, 5, 5}}, nil}},
		{"touching", "a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n",
			result{"", nil, []Conflict{{bs("a\nb\n"), bs("A\nb\n"), bs("a\nB\n"), Range{1, 2}, Range{1, 2}, Range{1, 2}}}}},
		{"both add", "", "x\n", "y\n",
			result{"", nil, []Conflict{{nil, bs("x\n"), bs("y\n"), Range{1, 0}, Range{1, 1}, Range{1, 1}}}}},
		{"change against removal", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n",
			result{"", nil, []Conflict{{bs("b\n"), nil, bs("B\n"), Range{2, 2}, Range{2, 1}, Range{2, 2}}}}},
		{"newline at the end", "a\nb\nc", "A\nb\nc", "a\nb\nc\n", result{"A\nb\nc\n", []Region{{Ours, 1, 1}, {Theirs, 3, 3}}, nil}},
		{"line ends differ", "a\nb\n", "a\r\nb\r\n", "a\nX\n",
			result{"", nil, []Conflict{{bs("a\nb\n"), bs("a\r\nb\r\n"), bs("a\nX\n"), Range{1, 2}, Range{1, 2}, Range{1, 2}}}}},
		{"binary, one side", "a\n\x00\nb\n", "a\n\x00\nb\n", "a\n\x00\nc\n", result{"a\n\x00\nc\n", []Region{{Theirs, 1, 3}}, nil}},
		{"binary, both sides", "a\n\x00\nb\n", "A\n\x00\nb\n", "a\n\x00\nB\n",
			result{"", nil, []Conflict{{bs("a\n\x00\nb\n"), bs("A\n\x00\nb\n"), bs("a\n\x00\nB\n"), Range{1, 3}, Range{1, 3},
				Range{1, 3}}}}},
	} {
		m, r, x := Three(bs(c.base), bs(c.ours), bs(c.theirs))
		got := result{string(m), r, x}
		if d := cmp.Diff(c.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); d != "" {
			t.Errorf("%s: -want +got\n%s", c.name, d)
		}
		if (m == nil) != (len(x) > 0) {
			t.Errorf("%s: merged is nil %v with %d conflicts", c.name, m == nil, len(x))
		}
	}
}

func someText() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "\n", "e"}), 0, 20),
		func(s []string) []byte {
			return []byte(strings.Join(s, ""))
		})
}

func TestThreeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := someText().Draw(t, "base"), someText().Draw(t, "ours"), someText().Draw(t, "theirs")
		must := func(what string, want, a, b, c []byte) {
			if got, _, x := Three(a, b, c); len(x) > 0 || !bytes.Equal(got, want) {
				t.Fatalf("%s: got %q and %d conflicts, want %q", what, got, len(x), want)
			}
		}
		must("only we changed", ours, base, ours, base)
		must("only they changed", theirs, base, base, theirs)
		must("both made the same", ours, base, ours, ours)

		m, regions, x := Three(base, ours, theirs)
		m2, _, x2 := Three(base, theirs, ours)
		if !bytes.Equal(m, m2) || len(x) != len(x2) {
			t.Fatalf("sides matter: %q and %q, %d and %d conflicts", m, m2, len(x), len(x2))
		}
		checkRegions(t, base, m, regions)
		for _, c := range x {
			checkRange(t, "base", base, c.Base, c.BaseLines)
			checkRange(t, "ours", ours, c.Ours, c.OursLines)
			checkRange(t, "theirs", theirs, c.Theirs, c.TheirsLines)
		}
	})
}

// checkRegions takes the regions out of the merge: what is left is base's, in
// order.
func checkRegions(t *rapid.T, base, merged []byte, regions []Region) {
	ls := lines.Split(merged)
	var rest [][]byte
	at := 0
	for _, r := range regions {
		if r.Start-1 < at || r.End < r.Start-1 || r.End > len(ls) {
			t.Fatalf("regions %v of %d lines", regions, len(ls))
		}
		rest = append(rest, ls[at:r.Start-1]...)
		at = r.End
	}
	if merged == nil {
		return
	}
	rest = append(rest, ls[at:]...)
	from := lines.Split(base)
	for _, l := range rest {
		for len(from) > 0 && !bytes.Equal(from[0], l) {
			from = from[1:]
		}
		if len(from) == 0 {
			t.Fatalf("%q outside regions %v of %q is not from %q", l, regions, merged, base)
		}
		from = from[1:]
	}
}

func checkRange(t *rapid.T, name string, text, part []byte, r Range) {
	ls := lines.Split(text)
	if got := bytes.Join(ls[r.Start-1:r.End], nil); !bytes.Equal(got, part) {
		t.Fatalf("%s lines %v are %q, told %q", name, r, got, part)
	}
}

// TestThreeAgainstGit lets git merge the same texts. Where git is clean so are
// we, with the same text, or we are stricter; the latter is counted.
func TestThreeAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there to judge")
	}
	const rounds = 400
	dir := t.TempDir()
	clean, stricter, laxer := 0, 0, 0
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		base := draft(rng, 30+rng.IntN(40))
		ours, theirs := revise(rng, base, 1+rng.IntN(4)), revise(rng, base, 1+rng.IntN(4))
		want, ok := gitMerge(t, dir, base, ours, theirs)
		got, _, conflicts := Three(base, ours, theirs)
		switch {
		case ok && len(conflicts) > 0:
			stricter++
		case !ok && len(conflicts) == 0:
			laxer++
			t.Logf("seed %d: only git sees a conflict", seed)
		case ok && !bytes.Equal(got, want):
			t.Errorf("seed %d: got\n%s\nwant\n%s\nbase\n%s\nours\n%s\ntheirs\n%s", seed, got, want, base, ours, theirs)
		case ok:
			clean++
		}
	}
	t.Logf("of %d: %d clean in both, %d only in git, %d only here", rounds, clean, stricter, laxer)
	if clean < rounds/4 || stricter > rounds/50 || laxer > 0 {
		t.Errorf("%d clean in both, %d only in git, %d only here", clean, stricter, laxer)
	}
}

// draft writes a text with lines that repeat, as braces and blanks do.
func draft(rng *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		switch rng.IntN(5) {
		case 0:
			b.WriteString("}\n")
		case 1:
			b.WriteString("\n")
		default:
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	if rng.IntN(3) == 0 {
		b.WriteString("open end")
	}
	return b.Bytes()
}

func revise(rng *rand.Rand, base []byte, n int) []byte {
	ls := lines.Split(base)
	for range n {
		at := rng.IntN(len(ls))
		switch rng.IntN(3) {
		case 0:
			ls[at] = fmt.Appendf(nil, "changed %d\n", rng.IntN(3))
		case 1:
			ls = append(ls[:at:at], ls[at+1:]...)
		case 2:
			ls = append(ls[:at:at], append([][]byte{fmt.Appendf(nil, "new %d\n", rng.IntN(3))}, ls[at:]...)...)
		}
	}
	return bytes.Join(ls, nil)
}

func gitMerge(t *testing.T, dir string, base, ours, theirs []byte) ([]byte, bool) {
	for name, b := range map[string][]byte{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "-q", "ours", "base", "theirs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() >= 128) {
		t.Fatalf("git merge-file: %v", err)
	}
	return out, err == nil
}

func FuzzThree(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("a\nc\n"), []byte("x\na\nb\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		if m, _, x := Three(base, ours, base); len(x) > 0 || !bytes.Equal(m, ours) {
			t.Fatalf("only we changed: %q, %d conflicts", m, len(x))
		}
		Three(base, ours, theirs)
	})
}
