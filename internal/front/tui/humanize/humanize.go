// Package humanize writes numbers, times and counts as people read them.
package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Count writes n of something: "1 file", "3 files", "2 processes".
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Tokens writes a number of tokens: "950", "2.4k", "1.2M".
func Tokens(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprint(n)
}

// Bytes writes a size: "512 bytes", "20 KB", "1.5 MB", "1.0 GB".
func Bytes(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Duration writes how long something takes: "5s", "2m 05s", "1h 02m".
func Duration(t time.Duration) string {
	t = t.Round(time.Second)
	switch {
	case t >= time.Hour:
		return fmt.Sprintf("%dh %02dm", int(t.Hours()), int(t.Minutes())%60)
	case t >= time.Minute:
		return fmt.Sprintf("%dm %02ds", int(t.Minutes()), int(t.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(t.Seconds()))
}

// Ago writes how long something is past: "just now", "5m ago", "3d ago".
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// Dollars writes a price: "$0.012", "$1.50".
func Dollars(c float64) string {
	if c < 0.1 {
		return fmt.Sprintf("$%.3f", c)
	}
	return fmt.Sprintf("$%.2f", c)
}

// Base is the last element of a path, whichever system wrote it.
func Base(p string) string {
	p = strings.TrimRight(strings.ReplaceAll(p, `\`, "/"), "/")
	return p[strings.LastIndexByte(p, '/')+1:]
}
