// Package composer is the text a user is writing: an editor of a few lines with
// undo, a kill ring of one, and attachments that stand for what was pasted.
package composer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"kerf/internal/front/tui/style"
)

// Attachment is a piece of the text that is shown as its label.
type Attachment struct {
	Label string
	// Text is what the attachment stands for; Image is a data: URL instead.
	Text, Image string
}

// Composer is an editor. The zero value is empty and ready. Only one goroutine may use it.
type Composer struct {
	text     string
	at       int // byte offset of the caret, always between clusters
	attached map[rune]Attachment
	kill     string
	past     []state
	future   []state
	typing   bool // the last edit was typing: it joins the next in one undo
	goal     int  // the column that up and down aim at, plus one; 0 when there is none
}

type state struct {
	text string
	at   int
}

const (
	// firstAttached is where attachments live: characters for private use that stand for them in the text.
	firstAttached = 0x10f000
	maxAttached   = 4000
	maxUndo       = 200
)

// Empty reports whether there is no text.
func (c *Composer) Empty() bool { return c.text == "" }

// Text returns the text as it is edited, attachments as their private characters.
func (c *Composer) Text() string { return c.text }

// Caret tells where the caret is, as an offset into Text.
func (c *Composer) Caret() int { return c.at }

// Value returns the text with attachments as what they stand for, without images.
func (c *Composer) Value() string {
	if len(c.attached) == 0 {
		return c.text
	}
	var b strings.Builder
	for _, r := range c.text {
		if a, ok := c.attached[r]; ok {
			b.WriteString(a.Text)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Images returns the images in the text, in order.
func (c *Composer) Images() []string {
	var out []string
	for _, r := range c.text {
		if a := c.attached[r]; a.Image != "" {
			out = append(out, a.Image)
		}
	}
	return out
}

// Attachments tells how many attachments the text has.
func (c *Composer) Attachments() int {
	n := 0
	for _, r := range c.text {
		if _, ok := c.attached[r]; ok {
			n++
		}
	}
	return n
}

// Set replaces the whole text; the caret goes to its end.
func (c *Composer) Set(text string) {
	c.save(false)
	c.text = clean(text)
	c.at = len(c.text)
}

// Clear empties the composer and forgets its attachments and its past.
func (c *Composer) Clear() { *c = Composer{kill: c.kill} }

// Insert puts text at the caret, as typed.
func (c *Composer) Insert(text string) {
	c.save(!strings.ContainsAny(text, " \n"))
	c.splice(c.at, c.at, clean(text))
}

// Attach puts an attachment at the caret.
func (c *Composer) Attach(a Attachment) {
	if len(c.attached) >= maxAttached {
		return
	}
	if c.attached == nil {
		c.attached = map[rune]Attachment{}
	}
	r := rune(firstAttached + len(c.attached))
	c.attached[r] = a
	c.save(false)
	c.splice(c.at, c.at, string(r))
}

// Replace puts text in the place of the bytes from start to end.
func (c *Composer) Replace(start, end int, text string) {
	c.save(false)
	c.splice(start, end, clean(text))
}

// clean replaces the characters that stand for attachments in text from outside.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r >= firstAttached && r < firstAttached+maxAttached || r == 0 {
			return utf8.RuneError
		}
		return r
	}, s)
}

func (c *Composer) splice(start, end int, text string) {
	c.text = c.text[:start] + text + c.text[end:]
	c.at = start + len(text)
	c.goal = 0
}

// save remembers the text before an edit.
func (c *Composer) save(typing bool) {
	if !typing || !c.typing {
		c.past = append(c.past, state{c.text, c.at})
		if len(c.past) > maxUndo {
			c.past = c.past[1:]
		}
	}
	c.typing, c.future = typing, nil
}

// Undo takes the last edit back.
func (c *Composer) Undo() {
	if n := len(c.past); n > 0 {
		c.future = append(c.future, state{c.text, c.at})
		c.text, c.at = c.past[n-1].text, c.past[n-1].at
		c.past, c.typing = c.past[:n-1], false
	}
}

// Redo brings back what Undo took.
func (c *Composer) Redo() {
	if n := len(c.future); n > 0 {
		c.past = append(c.past, state{c.text, c.at})
		c.text, c.at = c.future[n-1].text, c.future[n-1].at
		c.future, c.typing = c.future[:n-1], false
	}
}

// before returns where the cluster that ends at i begins.
func (c *Composer) before(i int) int {
	start := strings.LastIndexByte(c.text[:i], '\n') + 1
	if start == i {
		return max(0, i-1)
	}
	for j := start; ; {
		cl, _, _ := style.Next(c.text[j:])
		if j+len(cl) >= i {
			return j
		}
		j += len(cl)
	}
}

// after returns where the cluster that begins at i ends.
func (c *Composer) after(i int) int {
	if i >= len(c.text) {
		return i
	}
	cl, _, _ := style.Next(c.text[i:])
	return i + len(cl)
}

// Backspace removes the cluster before the caret.
func (c *Composer) Backspace() { c.cut(c.before(c.at), c.at, false) }

// Delete removes the cluster after the caret.
func (c *Composer) Delete() { c.cut(c.at, c.after(c.at), false) }

// KillWord removes the word before the caret, or the one after it.
func (c *Composer) KillWord(forward bool) {
	if forward {
		c.cut(c.at, c.wordEnd(), true)
		return
	}
	c.cut(c.wordStart(), c.at, true)
}

// KillLine removes the text up to the end of the line, or back to its start; at
// the end of a line the newline goes.
func (c *Composer) KillLine(forward bool) {
	if forward {
		end := c.lineEnd()
		if end == c.at && end < len(c.text) {
			end++
		}
		c.cut(c.at, end, true)
		return
	}
	start := c.lineStart()
	if start == c.at && start > 0 {
		start--
	}
	c.cut(start, c.at, true)
}

func (c *Composer) cut(start, end int, keep bool) {
	if start >= end {
		return
	}
	c.save(false)
	if keep {
		c.kill = c.text[start:end]
	}
	c.splice(start, end, "")
}

// Yank puts back what was killed last.
func (c *Composer) Yank() {
	if c.kill != "" {
		c.save(false)
		c.splice(c.at, c.at, c.kill)
	}
}

// Left, Right and the others move the caret.
func (c *Composer) Left() { c.move(c.before(c.at)) }

// Right moves over the next cluster.
func (c *Composer) Right() { c.move(c.after(c.at)) }

// WordLeft moves to the start of the word before the caret.
func (c *Composer) WordLeft() { c.move(c.wordStart()) }

// WordRight moves to the end of the next word.
func (c *Composer) WordRight() { c.move(c.wordEnd()) }

// Home moves to the start of the line, from there to the start of the text.
func (c *Composer) Home() { c.move(c.lineStart()) }

// End moves to the end of the line.
func (c *Composer) End() { c.move(c.lineEnd()) }

func (c *Composer) move(to int) { c.at, c.goal, c.typing = to, 0, false }

func (c *Composer) lineStart() int { return strings.LastIndexByte(c.text[:c.at], '\n') + 1 }

func (c *Composer) lineEnd() int {
	if i := strings.IndexByte(c.text[c.at:], '\n'); i >= 0 {
		return c.at + i
	}
	return len(c.text)
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (c *Composer) wordStart() int {
	i := len(strings.TrimRightFunc(c.text[:c.at], func(r rune) bool { return !wordRune(r) }))
	if i == 0 {
		return 0
	}
	return len(strings.TrimRightFunc(c.text[:i], wordRune))
}

func (c *Composer) wordEnd() int {
	rest := strings.TrimLeftFunc(c.text[c.at:], func(r rune) bool { return !wordRune(r) })
	return len(c.text) - len(strings.TrimLeftFunc(rest, wordRune))
}
