// Package edit replaces quoted passages of a file.
//
// A replacement is a splice on raw bytes: everything outside the replaced regions
// stays byte for byte, byte order mark, line ends and encoding included. Failures
// are written for the model: what is true of the file now, and the one step that
// would succeed. The package is pure.
package edit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"

	"kerf/internal/text/charset"
	"kerf/internal/text/delta"
	"kerf/internal/text/match"
)

// Replacement says what to replace by what.
type Replacement struct {
	Old, New string
	// All replaces every match; otherwise there must be exactly one.
	All bool
	// Normalization is the loosest level of matching to try (see match.Level);
	// empty means line-endings.
	Normalization string
	// EscapeMode is literal (or empty), or interpreted: backslash escapes in all
	// four strings become their characters.
	EscapeMode string
	// Before and After, where they are more than white space, must stand next to
	// the match with nothing but white space between.
	Before, After string
	// Charset is what the file is declared to be written in.
	Charset charset.Charset
}

// Result is an edited file.
type Result struct {
	Content []byte
	// Count is the number of replacements, Level the level that matched.
	Count int
	Level string
	// Ranges are the lines of each replacement in the new text, Spans the replaced
	// bytes of the old content, both ascending.
	Ranges []Range
	Spans  []Span

	sum *delta.Sum // of a large Content, or nil
}

// Image is the edited file with a mode.
func (r Result) Image(mode uint32) *delta.Image {
	if r.sum == nil {
		return delta.NewFile(r.Content, mode)
	}
	v := delta.Version{Kind: delta.File, Mode: mode, Size: int64(len(r.Content)), Sum: *r.sum}
	return &delta.Image{Version: v, Data: r.Content, Loaded: true}
}

// Range is a range of lines, 1-based and inclusive.
type Range struct{ Start, End int }

// Span is a stretch of bytes, End exclusive.
type Span = match.Span

// The codes of failures.
const (
	NotFound         = "NOT_FOUND"
	Ambiguous        = "AMBIGUOUS"
	NoChange         = "NO_CHANGE"
	InvalidArguments = "INVALID_ARGUMENTS"
	Encoding         = "ENCODING"
)

// Error is a replacement that cannot be made. Message is for the model.
type Error struct {
	Code    string
	Message string
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func refuse(code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Warning goes with a replacement that may not mean what was meant.
type Warning struct{ Code, Message, Suggestion string }

// RiskyNormalization is the code of the warning for a loose level.
const RiskyNormalization = "RISKY_NORMALIZATION"

// Warnings returns what to warn of whatever comes of r.
func Warnings(r Replacement) []Warning {
	level, ok := match.ParseLevel(r.Normalization)
	if !ok || !level.Risky() {
		return nil
	}
	return []Warning{{
		Code:       RiskyNormalization,
		Message:    fmt.Sprintf("normalization %q may match text that means something else", r.Normalization),
		Suggestion: "check the changed lines, or quote the text exactly and leave normalization out",
	}}
}

// Apply makes the replacement r in content, which it does not change. Every error
// is an *Error.
func Apply(content []byte, r Replacement) (Result, error) {
	q, err := newQuery(r)
	if err != nil {
		return Result{}, err
	}
	f, err := decode(content, r.Charset)
	if err != nil {
		return Result{}, err
	}
	switch {
	case q.old == q.new:
		return Result{}, refuse(NoChange, "old_string and new_string are the same, so nothing would change; say in "+
			"new_string what the text should become")
	case q.old == "":
		return Result{}, refuse(NotFound, "old_string is empty; quote the text to replace (write_file makes new files)")
	}
	found := match.Find(f.Bytes, q.query())
	if len(found.Spans) == 0 {
		return Result{}, notFound(f, q, found.Dropped)
	}
	if len(found.Spans) > 1 && !r.All {
		return Result{}, ambiguous(f, found.Spans)
	}
	if err := holds(f, q); err != nil {
		return Result{}, err
	}
	return splice(f, q, found)
}

// splice writes the result of a search that found what it should.
func splice(f charset.Text, q query, found match.Found) (Result, error) {
	w := newWriter(f.Bytes, q, found.Level)
	res := Result{Count: len(found.Spans), Level: found.Level.String()}
	res.Ranges = make([]Range, 0, len(found.Spans))
	pieces, size := make([][]byte, 0, 2*len(found.Spans)+1), 0
	at, line := 0, 1
	for _, s := range found.Spans {
		pieces = append(pieces, f.Bytes[at:s.Start], w.replacement(f.Bytes[s.Start:s.End]))
		at = s.End
	}
	pieces = append(pieces, f.Bytes[at:])
	for _, p := range pieces {
		size += len(p)
	}
	summed := sumAside(pieces, size)
	out := make([]byte, 0, size+64)
	for i, p := range pieces {
		out = append(out, p...)
		switch {
		case i%2 == 0 && i < len(pieces)-1:
			line += bytes.Count(p, lf)
		case i%2 == 1:
			breaks := bytes.Count(p, lf)
			last := line + breaks
			if breaks > 0 && p[len(p)-1] == '\n' {
				last--
			}
			res.Ranges = append(res.Ranges, Range{line, last})
			line += breaks
		}
	}
	sum := summed()
	if bytes.Equal(out, f.Bytes) {
		return Result{}, refuse(NoChange, "the text in the file already reads like new_string, so nothing would change")
	}
	// A deletion at the end leaves no line where it was.
	if n := len(res.Ranges) - 1; at == len(f.Bytes) && len(out) > 0 && out[len(out)-1] == '\n' &&
		res.Ranges[n].Start == line {
		res.Ranges[n] = Range{max(1, line-1), max(1, line-1)}
	}
	content, err := f.Encode(out)
	if err != nil {
		return Result{}, refuse(Encoding, "%v; nothing was changed. Write text that it can hold, or convert the file first",
			err)
	}
	res.Content, res.Spans = content, rawSpans(f, found.Spans)
	if size > 0 && len(content) == size && &content[0] == &out[0] { // nothing was encoded
		res.sum = sum
	}
	return res, nil
}

// sumAside makes the sum of large pieces beside what the caller does until it asks for
// it. There is none for small ones.
func sumAside(pieces [][]byte, size int) (sum func() *delta.Sum) {
	const large = 1 << 20
	if size < large {
		return func() *delta.Sum { return nil }
	}
	var made delta.Sum
	var making sync.WaitGroup
	making.Go(func() {
		h := sha256.New()
		for _, p := range pieces {
			h.Write(p)
		}
		h.Sum(made[:0])
	})
	return func() *delta.Sum {
		making.Wait()
		return &made
	}
}

// query is a replacement whose words have been understood.
type query struct {
	old, new, before, after string
	level                   match.Level
	literal                 bool // escapes were not interpreted
}

func (q query) query() match.Query {
	return match.Query{Passage: []byte(q.old), Level: q.level, Before: []byte(q.before), After: []byte(q.after)}
}

func newQuery(r Replacement) (query, error) {
	q := query{old: r.Old, new: r.New, before: r.Before, after: r.After, level: match.LineEndings, literal: true}
	if r.Normalization != "" {
		level, ok := match.ParseLevel(r.Normalization)
		if !ok {
			return q, refuse(InvalidArguments, "normalization: expected one of %s, found %.60q", quoted(match.Levels()),
				r.Normalization)
		}
		q.level = level
	}
	switch r.EscapeMode {
	case "", "literal":
	case "interpreted":
		q.literal = false
		for _, s := range []*string{&q.old, &q.new, &q.before, &q.after} {
			*s = unescape(*s)
		}
	default:
		return q, refuse(InvalidArguments, "escapeMode: expected \"literal\" or \"interpreted\", found %.60q", r.EscapeMode)
	}
	return q, nil
}
