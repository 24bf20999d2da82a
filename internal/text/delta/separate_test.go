package delta

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNobodyElsesLinesAreOurs: whose a line is does not depend on whether anybody told what
// others did between two of our steps, nor on how near to ours their lines are.
func TestNobodyElsesLinesAreOurs(t *testing.T) {
	texts := map[Sum][]byte{}
	load := func(i *Image) (*Image, error) {
		full := *i
		full.Data, full.Loaded = texts[i.Sum], true
		return &full, nil
	}
	text := func(i *Image) string {
		switch {
		case i == nil:
			return ""
		case i.Loaded:
			return string(i.Data)
		}
		return string(texts[i.Sum])
	}
	rapid.Check(t, func(t *rapid.T) {
		var now [][]byte
		for i := range rapid.IntRange(0, 8).Draw(t, "lines") {
			now = append(now, fmt.Appendf(nil, "line %d\n", i))
		}
		gone, mode := false, uint32(0o644)
		image := func() *Image {
			if gone {
				return nil
			}
			i := NewFile(bytes.Join(now, nil), mode)
			texts[i.Sum] = i.Data
			i.Data, i.Loaded = nil, false // as in the ledger
			return i
		}
		first := image()
		var told, untold []Step
		began := false
		for n := range rapid.IntRange(2, 8).Draw(t, "steps") {
			outside := began && rapid.Bool().Draw(t, "outside")
			who := map[bool]string{true: "theirs", false: "ours"}[outside]
			pre, line := image(), fmt.Appendf(nil, "%s %d\n", who, n)
			at := rapid.IntRange(0, len(now)).Draw(t, "at")
			switch {
			case gone:
				now, gone = [][]byte{line}, false
			case rapid.IntRange(0, 5).Draw(t, "removed") == 0:
				gone = true
			case at < len(now) && rapid.Bool().Draw(t, "replaced"):
				now[at] = line
			case rapid.IntRange(0, 5).Draw(t, "mode") == 0:
				mode ^= 0o111
			default:
				now = append(now[:at:at], append([][]byte{line}, now[at:]...)...)
			}
			step := Step{Set{{Path: "/a", Pre: pre, Post: image()}}, outside}
			told, began = append(told, step), began || !outside
			if !outside {
				untold = append(untold, step)
			}
		}
		for _, steps := range [][]Step{told, untold} {
			p := Separate(steps, load)
			checkParts(t, first, steps[len(steps)-1].Set[0].Post, p)
			for _, c := range p.Ours {
				if c.Post == nil {
					continue
				}
				before, after := text(c.Pre), text(c.Post)
				for line := range strings.Lines(after) {
					whose, old := strings.Fields(line)[0], strings.Contains(before, line)
					if whose == "theirs" && !old || whose == "ours" && old {
						t.Fatalf("%q is told wrong: %q -> %q", line, before, after)
					}
				}
			}
			if len(p.Entangled) > 0 {
				t.Fatalf("%v cannot be told apart", p.Entangled)
			}
		}
	})
}

// checkParts wants the parts to lead from one state to the other.
func checkParts(t *rapid.T, first, last *Image, p Parts) {
	now := first
	for _, s := range []Set{p.Before, p.Ours, p.After} {
		for _, c := range s {
			if !now.Same(c.Pre) {
				t.Fatalf("a part begins with %v, and there was %v", c.Pre.At(), now.At())
			}
			now = c.Post
		}
	}
	if !now.Same(last) {
		t.Fatalf("the parts end with %v, not %v", now.At(), last.At())
	}
}

func TestUntoldChangesBetween(t *testing.T) {
	file := func(lines string) *Image { return NewFile([]byte(strings.ReplaceAll(lines, " ", "\n")+"\n"), 0o644) }
	for _, c := range []struct{ name, first, second, third, last, ours string }{
		{"beside ours", "1 2 3", "1 2 3 ours", "1 2 3 ours user", "OURS 2 3 ours user", "1 2 3 user"},
		{"far from ours", "1 2 3 4 5", "1 2 3 4 5 ours", "1 2 user 4 5 ours", "OURS 2 user 4 5 ours", "1 2 user 4 5"},
		{"before ours", "1 2 3", "1 2 ours 3", "1 2 user ours 3", "OURS 2 user ours 3", "1 2 user 3"},
	} {
		p := Separate([]Step{
			{Set{{Path: "/a", Pre: file(c.first), Post: file(c.second)}}, false},
			{Set{{Path: "/a", Pre: file(c.third), Post: file(c.last)}}, false},
		}, nil)
		if len(p.Entangled) > 0 || len(p.Ours) != 1 || !p.Ours[0].Pre.Same(file(c.ours)) {
			t.Errorf("%s: %q, entangled %v; want ours to begin with %q", c.name, p.Ours[0].Pre.Data, p.Entangled, c.ours)
		}
	}
}
