package composer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Vi edits a composer with the commands of vi. The zero value is in insert mode,
// where it takes no key but esc.
type Vi struct {
	// Normal says that keys are commands.
	Normal bool
	count  int
	op     byte // 'd', 'c' or 'y' waiting for a motion
	wait   byte // 'f', 't', 'F', 'T', 'r' or 'g' waiting for a character
}

// Key takes a key by its name and the text it types. It reports whether it was one
// of its own; in normal mode every key that types something is.
func (v *Vi) Key(c *Composer, name, text string) bool {
	if !v.Normal {
		if name != "esc" {
			return false
		}
		v.Normal = true
		if c.at > c.lineStart() {
			c.Left()
		}
		return true
	}
	if name == "esc" {
		pending := v.op != 0 || v.wait != 0 || v.count != 0
		v.reset()
		return pending
	}
	if name == "ctrl+r" {
		c.Redo()
		return true
	}
	if text == "" {
		return v.move(c, map[string]string{"left": "h", "right": "l", "backspace": "h", "home": "0", "end": "$"}[name])
	}
	if v.wait != 0 {
		v.char(c, text)
		return true
	}
	if len(text) == 1 && (text[0] >= '1' && text[0] <= '9' || text == "0" && v.count > 0) {
		v.count = min(v.count*10+int(text[0]-'0'), 9999)
		return true
	}
	v.command(c, text)
	return true
}

func (v *Vi) reset() { v.count, v.op, v.wait = 0, 0, 0 }

func (v *Vi) times() int { return max(v.count, 1) }

func (v *Vi) insert() { v.Normal = false; v.reset() }

// command carries out a command, or begins one of several keys.
func (v *Vi) command(c *Composer, key string) {
	if v.op != 0 && key == string(v.op) {
		v.wholeLines(c)
		return
	}
	switch key {
	case "d", "c", "y":
		v.op = key[0]
		return
	case "f", "t", "F", "T", "r", "g":
		v.wait = key[0]
		return
	}
	if v.move(c, key) {
		return
	}
	if v.op != 0 {
		v.reset()
		return
	}
	n := v.times()
	v.count = 0
	switch key {
	case "i", "a", "I", "A", "o", "O":
		v.open(c, key)
	case "x":
		v.apply(c, 'd', c.at, c.forward(n))
	case "X":
		v.apply(c, 'd', c.backward(n), c.at)
	case "s":
		v.apply(c, 'c', c.at, c.forward(n))
	case "D":
		v.apply(c, 'd', c.at, c.lineEnd())
	case "C":
		v.apply(c, 'c', c.at, c.lineEnd())
	case "S":
		v.apply(c, 'c', c.lineStart(), c.lineEnd())
	case "p", "P":
		v.put(c, key == "p")
	case "u":
		for range n {
			c.Undo()
		}
		c.keepOn()
	case "J":
		if end := c.lineEnd(); end < len(c.text) {
			c.Replace(end, end+1, " ")
			c.Left()
		}
	}
}

// open enters insert mode where the command says.
func (v *Vi) open(c *Composer, key string) {
	switch key {
	case "a":
		if c.at < c.lineEnd() {
			c.Right()
		}
	case "I":
		c.move(c.firstInk())
	case "A":
		c.End()
	case "o":
		c.End()
		c.Insert("\n")
	case "O":
		c.Home()
		c.Insert("\n")
		c.Left()
	}
	v.insert()
}

// move carries out a motion, or the operator that waits over it.
func (v *Vi) move(c *Composer, key string) bool {
	from, to, n := c.at, -1, v.times()
	whole := false // the character at the end is part of it
	switch key {
	case "h":
		to = max(c.backward(n), c.lineStart())
	case "l", " ":
		to = min(c.forward(n), c.lineEnd())
	case "0":
		to = c.lineStart()
	case "^":
		to = c.firstInk()
	case "$":
		to, whole = c.lineEnd(), true
	case "w", "W", "b", "B", "e", "E":
		to, whole = v.word(c, key, n)
	case "G":
		to = len(c.text)
	default:
		return false
	}
	if v.op != 0 {
		v.apply(c, v.op, min(from, to), max(from, to))
		return true
	}
	v.count = 0
	if whole && to > c.lineStart() && to == c.lineEnd() || whole && key != "$" {
		to = c.before(to)
	}
	c.move(to)
	c.keepOn()
	return true
}

// word is where n words lead, and whether the character before it is the last one
// of the motion. A change of a word leaves the blanks behind it.
func (v *Vi) word(c *Composer, key string, n int) (to int, whole bool) {
	big := key[0] < 'a'
	to = c.at
	for range n {
		switch key {
		case "b", "B":
			to = c.viBack(to, big)
		case "e", "E":
			to = c.viEnd(to, big, v.op == 0)
		default:
			if v.op == 'c' {
				to = c.viEnd(to, big, false)
			} else {
				to = c.viNext(to, big)
			}
		}
	}
	if v.op != 0 && strings.Contains("wW", key) && v.op != 'c' {
		if nl := strings.IndexByte(c.text[c.at:to], '\n'); nl >= 0 && n == 1 {
			to = c.at + nl
		}
	}
	return to, key == "e" || key == "E"
}

// apply carries an operator out over the bytes from start to end.
func (v *Vi) apply(c *Composer, op byte, start, end int) {
	v.reset()
	if op == 'y' {
		c.kill = c.text[start:end]
		c.move(start)
		return
	}
	c.cut(start, end, true)
	if op == 'c' {
		v.insert()
		return
	}
	c.keepOn()
}

// wholeLines carries the waiting operator out over lines.
func (v *Vi) wholeLines(c *Composer) {
	op, n := v.op, v.times()
	start, end := c.lineStart(), c.at
	for i := range n {
		at := strings.IndexByte(c.text[end:], '\n')
		if at < 0 {
			end = len(c.text)
			break
		}
		end += at
		if i < n-1 {
			end++
		}
	}
	line := c.text[start:end] + "\n"
	switch {
	case op == 'c':
		v.apply(c, 'c', start, end)
	case op == 'y':
		v.reset()
	default:
		if end < len(c.text) {
			end++
		} else if start > 0 {
			start--
		}
		v.apply(c, 'd', start, end)
		c.move(c.lineStart())
	}
	c.kill = line
}

// put inserts what was killed last: after the caret or its line, or before.
func (v *Vi) put(c *Composer, after bool) {
	switch {
	case c.kill == "":
	case strings.HasSuffix(c.kill, "\n") && after && c.lineEnd() == len(c.text):
		at := len(c.text)
		c.Replace(at, at, "\n"+strings.TrimSuffix(c.kill, "\n"))
		c.move(at + 1)
	case strings.HasSuffix(c.kill, "\n"):
		at := c.lineStart()
		if after {
			at = c.lineEnd() + 1
		}
		c.Replace(at, at, c.kill)
		c.move(at)
	default:
		if after && c.at < c.lineEnd() {
			c.Right()
		}
		c.Yank()
		c.Left()
	}
}

// char finishes a command that waits for a character.
func (v *Vi) char(c *Composer, text string) {
	wait := v.wait
	v.wait = 0
	switch wait {
	case 'g':
		if text == "g" {
			if v.op != 0 {
				v.apply(c, v.op, 0, c.at)
				return
			}
			c.move(0)
		}
		v.reset()
	case 'r':
		if end := c.after(c.at); c.at < c.lineEnd() {
			c.Replace(c.at, end, text)
			c.Left()
		}
		v.reset()
	default:
		v.find(c, wait, text)
	}
}

// find goes to the n-th text in the line, or up to it.
func (v *Vi) find(c *Composer, how byte, text string) {
	from, at := c.at, c.at
	for range v.times() {
		i := -1
		if how == 'f' || how == 't' {
			if next := c.after(at); next <= c.lineEnd() {
				if i = strings.Index(c.text[next:c.lineEnd()], text); i >= 0 {
					i += next
				}
			}
		} else if i = strings.LastIndex(c.text[c.lineStart():at], text); i >= 0 {
			i += c.lineStart()
		}
		if i < 0 {
			v.reset()
			return
		}
		at = i
	}
	if v.op != 0 {
		switch how {
		case 'f':
			at = c.after(at)
		case 'T':
			at = c.after(at)
		}
		v.apply(c, v.op, min(from, at), max(from, at))
		return
	}
	switch how {
	case 't':
		at = c.before(at)
	case 'T':
		at = c.after(at)
	}
	v.reset()
	c.move(at)
}

// keepOn keeps the caret on a character, as normal mode has it.
func (c *Composer) keepOn() {
	if c.at > c.lineStart() && c.at == c.lineEnd() {
		c.move(c.before(c.at))
	}
}

func (c *Composer) forward(n int) int {
	at := c.at
	for range n {
		if at >= c.lineEnd() {
			break
		}
		at = c.after(at)
	}
	return at
}

func (c *Composer) backward(n int) int {
	at := c.at
	for range n {
		if at <= c.lineStart() {
			break
		}
		at = c.before(at)
	}
	return at
}

func (c *Composer) firstInk() int {
	line := c.text[c.lineStart():c.lineEnd()]
	return c.lineStart() + len(line) - len(strings.TrimLeft(line, " \t"))
}

// class tells blanks, words and the rest apart; a big word is all but blanks.
func (c *Composer) class(at int, big bool) int {
	r, size := utf8.DecodeRuneInString(c.text[at:])
	switch {
	case size == 0 || unicode.IsSpace(r):
		return 0
	case big || wordRune(r):
		return 1
	}
	return 2
}

func (c *Composer) viNext(at int, big bool) int {
	if at >= len(c.text) {
		return at
	}
	k := c.class(at, big)
	for at < len(c.text) && k != 0 && c.class(at, big) == k {
		at = c.after(at)
	}
	for at < len(c.text) && c.class(at, big) == 0 {
		at = c.after(at)
	}
	return at
}

// viEnd is behind the end of the word, of the next one when step is set and the
// caret is at the end of one.
func (c *Composer) viEnd(at int, big, step bool) int {
	if step && at < len(c.text) {
		at = c.after(at)
	}
	for at < len(c.text) && c.class(at, big) == 0 {
		at = c.after(at)
	}
	if at >= len(c.text) {
		return at
	}
	k := c.class(at, big)
	for at < len(c.text) && c.class(at, big) == k {
		at = c.after(at)
	}
	return at
}

func (c *Composer) viBack(at int, big bool) int {
	for at > 0 && c.class(c.before(at), big) == 0 {
		at = c.before(at)
	}
	if at == 0 {
		return 0
	}
	k := c.class(c.before(at), big)
	for at > 0 && c.class(c.before(at), big) == k {
		at = c.before(at)
	}
	return at
}
