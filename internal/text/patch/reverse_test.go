package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
)

func readFrom(files map[string]string) Read {
	return func(path string) (*delta.Image, error) {
		text, ok := files[path]
		if !ok {
			return nil, nil
		}
		return delta.NewFile([]byte(text), 0o644), nil
	}
}

func after(files map[string]string, set delta.Set) map[string]string {
	got := map[string]string{}
	for p, text := range files {
		got[p] = text
	}
	for _, c := range set {
		if c.Post == nil {
			delete(got, c.Path)
		} else {
			got[c.Path] = string(c.Post.Data)
		}
	}
	return got
}

// TestEnvelopeThereAndBack applies random envelopes with enough context and takes
// them back.
func TestEnvelopeThereAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := []string{"one", "two", "three", "four", "five", "six", "seven", "eight"}
		files := map[string]string{"a": strings.Join(lines, "\n") + "\n"}
		at := rapid.IntRange(1, len(lines)-3).Draw(rt, "at")
		cut := rapid.IntRange(0, 2).Draw(rt, "removed")
		fresh := rapid.SliceOfN(rapid.StringMatching(`[A-Z]{1,8}`), 0, 3).Draw(rt, "added")
		if cut+len(fresh) == 0 {
			return
		}
		var b strings.Builder
		b.WriteString("*** Begin Patch\n*** Update File: a\n")
		moved := rapid.Bool().Draw(rt, "moved")
		if moved {
			b.WriteString("*** Move to: d/b\n")
		}
		b.WriteString("@@\n " + lines[at-1] + "\n")
		for _, l := range lines[at : at+cut] {
			b.WriteString("-" + l + "\n")
		}
		for _, l := range fresh {
			b.WriteString("+" + l + "\n")
		}
		b.WriteString(" " + lines[at+cut] + "\n")
		if rapid.Bool().Draw(rt, "add") {
			b.WriteString("*** Add File: new\n+fresh\n")
		}
		b.WriteString("*** End Patch\n")
		p, err := Parse([]byte(b.String()))
		if err != nil {
			rt.Fatal(err)
		}
		set, err := p.Plan(readFrom(files))
		if err != nil {
			rt.Fatal(err)
		}
		there := after(files, set)
		if cmp.Equal(there, files) {
			rt.Fatal("nothing changed")
		}
		back, err := p.PlanWith(readFrom(there), PlanOptions{Reverse: true})
		if err != nil {
			rt.Fatalf("%v\n%s", err, b.String())
		}
		if d := cmp.Diff(files, after(there, back)); d != "" {
			rt.Fatalf("(-before +back again):\n%s\n%s", d, b.String())
		}
	})
}

func TestEnvelopeInReverseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, patch, want string
		files             map[string]string
	}{
		{"a deleted file", "*** Delete File: a", "does not tell its content", nil},
		{"a file that is no longer as it was added", "*** Add File: a\n+x", "is not what the patch added", map[string]string{"a": "y\n"}},
		{"nothing around what was removed", "*** Update File: a\n@@\n-x", "no telling where they were", map[string]string{"a": "y\n"}},
		{"another text", "*** Update File: a\n@@\n y\n-x\n+z", "", map[string]string{"a": "other\n"}},
	} {
		p, err := Parse([]byte("*** Begin Patch\n" + tt.patch + "\n*** End Patch\n"))
		if err != nil {
			t.Fatal(err)
		}
		set, err := p.PlanWith(readFrom(tt.files), PlanOptions{Reverse: true})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "a: ") {
			t.Errorf("%s: %v, %v", tt.name, set, err)
		}
	}
}
