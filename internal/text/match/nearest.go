package match

import "bytes"

// Passage is a stretch of a text that resembles what was looked for.
type Passage struct {
	Span
	// First and Last are its lines, 1-based and inclusive.
	First, Last int
	// Score is the share of letter pairs in common, from 0 to 1.
	Score float64
}

// Bounds of the search for the nearest passage: texts are looked at up to
// nearestText bytes, passages up to nearestPassage; a passage that has less than
// nearestScore in common is no help.
const (
	nearestText    = 4 << 20
	nearestPassage = 64 << 10
	nearestScore   = 0.35
	nearestRivals  = 8
)

// Nearest returns the lines of text that resemble passage most, or false when
// nothing does. The time is linear in the text and bounded.
//
// Every line is weighed by the letter pairs it shares with the passage; a window
// as high as the passage slides over the lines, and the best windows are compared
// once more pair by pair. A very long line is narrowed to the part that fits.
func Nearest(text, passage []byte) (Passage, bool) {
	text, passage = text[:min(len(text), nearestText)], passage[:min(len(passage), nearestPassage)]
	passage = bytes.Trim(passage, "\r\n")
	want := newPairs(passage)
	if want.total == 0 || len(text) == 0 {
		return Passage{}, false
	}
	lines := weigh(text, want)
	height := min(bytes.Count(passage, []byte{'\n'})+1, len(lines))
	var best Passage
	for _, first := range windows(lines, height, want.total) {
		p := Passage{First: first + 1, Last: first + height}
		p.Start = lines[first].start
		p.End = contentEnd(text, p.Start, end(lines, first+height-1, len(text)))
		p.Score = want.alike(text[p.Start:p.End])
		if p.Score > best.Score {
			best = p
		}
	}
	if wide := best.End - best.Start; height == 1 && wide > 4*len(passage)+400 {
		best.Span, best.Score = narrow(text, best.Span, want, len(passage))
	}
	return best, best.Score >= nearestScore
}

// line is one line of the text with its weight.
type line struct {
	start int
	hits  int // letter pairs that the passage has as well
	total int // all letter pairs
}

func end(lines []line, i, size int) int {
	if i+1 < len(lines) {
		return lines[i+1].start
	}
	return size
}

// pairs counts the pairs of neighbouring bytes of a passage, white space left out
// and letters folded, in buckets.
type pairs struct {
	count [1 << 12]int32
	total int
}

func newPairs(passage []byte) *pairs {
	p := &pairs{}
	eachPair(passage, func(b int) { p.count[b]++; p.total++ })
	return p
}

// eachPair calls f with the bucket of every pair. A lone byte is a pair with
// nothing, so that one-letter lines count.
func eachPair(text []byte, f func(bucket int)) {
	last := byte(0)
	for _, c := range text {
		if isSpace(c) {
			continue
		}
		c = fold(c)
		f(bucket(last, c))
		last = c
	}
}

func fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '"' || c == '`':
		return '\''
	}
	return c
}

func bucket(a, b byte) int { return int(uint32(a)*97+uint32(b)*31) & (1<<12 - 1) }

// weigh cuts text into lines and weighs them.
func weigh(text []byte, want *pairs) []line {
	lines := make([]line, 0, bytes.Count(text, []byte{'\n'})+1)
	now, last := line{}, byte(0)
	for i, c := range text {
		if c == '\n' {
			lines = append(lines, now)
			now, last = line{start: i + 1}, 0
			continue
		}
		if isSpace(c) {
			continue
		}
		c = fold(c)
		if want.count[bucket(last, c)] > 0 {
			now.hits++
		}
		now.total++
		last = c
	}
	if now.start < len(text) {
		lines = append(lines, now)
	}
	return lines
}

// windows returns the first lines of the best windows of the given height, best
// first, windows that begin close to a better one left out.
func windows(lines []line, height, total int) []int {
	type rival struct {
		first int
		score float64
	}
	var best []rival
	hits, all := 0, 0
	for i, l := range lines {
		hits, all = hits+l.hits, all+l.total
		if i >= height {
			hits, all = hits-lines[i-height].hits, all-lines[i-height].total
		}
		first := i - height + 1
		if first < 0 || hits == 0 {
			continue
		}
		score := float64(min(hits, total)) / float64(max(all, total))
		if height == 1 {
			// A short quotation inside a long line is near as well.
			score = max(score, 0.9*float64(min(hits, total))/float64(total)*min(1, 40/float64(max(1, all-total))))
		}
		at := len(best)
		for at > 0 && best[at-1].score < score {
			at--
		}
		if at == nearestRivals {
			continue
		}
		best = append(best, rival{})
		copy(best[at+1:], best[at:])
		best[at] = rival{first, score}
		best = best[:min(len(best), nearestRivals)]
	}
	firsts := make([]int, len(best))
	for i, r := range best {
		firsts[i] = r.first
	}
	return firsts
}

// alike returns how much text and the passage have in common: twice the shared
// pairs by all pairs, counted with their number.
func (p *pairs) alike(text []byte) float64 {
	left := p.count
	shared, total := 0, 0
	eachPair(text, func(b int) {
		total++
		if left[b] > 0 {
			left[b]--
			shared++
		}
	})
	inside := 0.95 * float64(shared) / float64(p.total) * min(1, float64(4*p.total+400)/float64(max(1, total)))
	return max(2*float64(shared)/float64(total+p.total), inside*inside)
}

// narrow returns the part of a long line, about size bytes, that shares most
// pairs with the passage.
func narrow(text []byte, s Span, want *pairs, size int) (Span, float64) {
	part := text[s.Start:s.End]
	hit := func(i int) int {
		if i > 0 && want.count[bucket(fold(part[i-1]), fold(part[i]))] > 0 {
			return 1
		}
		return 0
	}
	size = min(size, len(part))
	hits, most, at := 0, -1, 0
	for i := range part {
		hits += hit(i)
		if i >= size {
			hits -= hit(i - size)
		}
		if i >= size-1 && hits > most {
			most, at = hits, i-size+1
		}
	}
	found := Span{s.Start + at, s.Start + at + size}
	return found, want.alike(text[found.Start:found.End])
}
