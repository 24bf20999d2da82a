package prefix

import (
	"fmt"
	"testing"

	"kerf/internal/model"
)

// alone groups no items and writes one byte for each.
type alone struct{}

func (alone) End(_ []*model.Item, from int) int { return from + 1 }

func (alone) Append(dst []byte, _ []*model.Item, _ int) ([]byte, error) { return append(dst, 'x'), nil }

func TestForgetsTheOldest(t *testing.T) {
	c := Cache{Encoder: alone{}}
	for i := range 3 * maxKept {
		if _, err := c.Encode(fmt.Sprint(i), []*model.Item{model.UserText("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.recent) != maxKept || c.recent[0].key != fmt.Sprint(3*maxKept-1) {
		t.Errorf("%d conversations kept", len(c.recent))
	}
}
