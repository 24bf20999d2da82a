// Package wording writes numbers, names and times as templates of pages show them.
package wording

import (
	"fmt"
	"strings"
	"time"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
	"kerf/internal/text/visible"
)

// Functions are those that templates call. Asset is the address of a file that comes with the pages.
func Functions(asset func(name string) (string, error)) map[string]any {
	return map[string]any{
		"asset": asset,
		"v":     visible.String,
		"line":  func(t string) string { return visible.OneLine(t, 400) },
		"path":  func(p string) string { return visible.Clip(render.Path(p), 4096) },
		"title": func(t, other string) string {
			if strings.TrimSpace(t) == "" {
				t = other
			}
			return visible.OneLine(t, 200)
		},
		"base":    humanize.Base,
		"tokens":  humanize.Tokens,
		"total":   protocol.Usage.Total,
		"ended":   func(t time.Time) bool { return !t.IsZero() },
		"percent": percent,
		"bytes":   func(n int64) string { return humanize.Bytes(int(n)) },
		"percentage": func(part, of int64) string {
			return fmt.Sprintf("%d%%", 100*part/max(1, of))
		},
		"money":  money,
		"plural": humanize.Count,
		"inc":    func(i int) int { return i + 1 },
		"add":    func(a, b int) int { return a + b },
		"dec":    func(i int) int { return i - 1 },
		"sub":    func(a, b int) int { return a - b },
		"clock":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
		"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"step": func(status string) string {
			return map[string]string{"completed": "done", "in_progress": "now"}[status]
		},
	}
}

func percent(part, of int) string {
	if of == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(of))
}

// money is what tokens cost, as far as prices are known.
func money(cost float64, unpriced int) string {
	switch {
	case unpriced > 0 && cost == 0:
		return "price unknown"
	case unpriced > 0:
		return fmt.Sprintf("$%.2f and unknown", cost)
	}
	return fmt.Sprintf("$%.2f", cost)
}
