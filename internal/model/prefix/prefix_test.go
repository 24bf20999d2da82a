package prefix_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
)

// runs groups items whose kind is the same; reasoning has no bytes.
type runs struct{}

func (runs) End(items []*model.Item, from int) int {
	end := from + 1
	for end < len(items) && items[end].Kind == items[from].Kind {
		end++
	}
	return end
}

var errBad = errors.New("bad item")

func (runs) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	if all[from].Kind == model.Reasoning {
		return dst, nil
	}
	var ids []string
	for _, i := range all[from:] {
		if i.Name == "bad" {
			return nil, errBad
		}
		ids = append(ids, i.ID)
	}
	return fmt.Appendf(dst, "<%s>", strings.Join(ids, " ")), nil
}

// plain is the slow twin: it encodes everything anew.
func plain(items []*model.Item) string {
	var groups []string
	for from := 0; from < len(items); {
		end := runs{}.End(items, from)
		if b, _ := (runs{}).Append(nil, items[:end], from); len(b) > 0 {
			groups = append(groups, string(b))
		}
		from = end
	}
	return strings.Join(groups, ",")
}

// Whatever conversations come in whatever order, the bytes are those of a fresh
// encoding, and bytes that were returned never change.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cache := prefix.Cache{Encoder: runs{}}
		type sent struct{ got, copy []byte }
		var history []sent
		conversations := map[string][]*model.Item{}
		next := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 11).Draw(t, "key"))
			items := conversations[key]
			if cut := rapid.IntRange(0, 3).Draw(t, "cut"); cut == 0 && len(items) > 0 {
				items = items[:rapid.IntRange(0, len(items)-1).Draw(t, "at"):len(items)]
				items = append([]*model.Item(nil), items...)
			}
			for range rapid.IntRange(0, 4).Draw(t, "more") {
				next++
				kind := rapid.SampledFrom([]model.Kind{model.Message, model.Call, model.Output, model.Reasoning}).Draw(t, "kind")
				items = append(items[:len(items):len(items)], &model.Item{Kind: kind, ID: fmt.Sprint(next)})
			}
			if rapid.IntRange(0, 9).Draw(t, "fault") == 0 {
				bad := append(items[:len(items):len(items)], &model.Item{Kind: model.Call, Name: "bad"},
					&model.Item{Kind: model.Message})
				if _, err := cache.Encode(key, bad); !errors.Is(err, errBad) {
					t.Fatalf("err = %v", err)
				}
			}
			conversations[key] = items
			text, err := cache.Encode(key, items)
			if err != nil {
				t.Fatal(err)
			}
			if want := plain(items); string(text.Bytes) != want {
				t.Fatalf("got  %s\nwant %s", text.Bytes, want)
			}
			end := 0
			for _, g := range text.Groups {
				if g.End <= end || g.Items <= g.First || g.Items > len(items) {
					t.Fatalf("groups %v", text.Groups)
				}
				end = g.End
			}
			if end != len(text.Bytes) {
				t.Fatalf("groups end at %d of %d", end, len(text.Bytes))
			}
			history = append(history, sent{text.Bytes, bytes.Clone(text.Bytes)})
			for _, h := range history {
				if !bytes.Equal(h.got, h.copy) {
					t.Fatalf("bytes changed: %s, were %s", h.got, h.copy)
				}
			}
		}
	})
}

// A request costs what it adds.
func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cache := prefix.Cache{Encoder: runs{}}
			var items []*model.Item
			for i := range n {
				items = append(items, &model.Item{Kind: []model.Kind{model.Call, model.Output}[i%2], ID: strings.Repeat("x", 500)})
			}
			for b.Loop() {
				items = append(items, &model.Item{Kind: []model.Kind{model.Call, model.Output}[len(items)%2], ID: "y"})
				if _, err := cache.Encode("k", items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
