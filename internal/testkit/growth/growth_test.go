package growth_test

import (
	"testing"
	"time"

	"kerf/internal/testkit/growth"
)

func TestLinear(t *testing.T) {
	const n = 2 << 20
	if !growth.Linear(n, func(n int) time.Duration { return time.Duration(n) * 100 }) {
		t.Error("what takes eight times as long for eight times as much is not called linear")
	}
	if growth.Linear(n, func(n int) time.Duration { return time.Duration(n>>10) * time.Duration(n>>10) * 100 }) {
		t.Error("what takes 64 times as long for eight times as much is called linear")
	}
}

func TestTook(t *testing.T) {
	sum := 0
	few := growth.Took(func() { sum++ })
	many := growth.Took(func() {
		for i := range 200_000_000 {
			sum += i
		}
	})
	if few < 0 || many <= few || sum < 0 {
		t.Errorf("one step takes %v, many take %v", few, many)
	}
}
