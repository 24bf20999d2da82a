package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"kerf/internal/model"
)

// MaxSize bounds a scenario, in bytes.
const MaxSize = 64 << 20

// PosError is a mistake in a scenario. Line and Column count from 1; the
// column counts bytes.
type PosError struct {
	Line, Column int
	Message      string
}

// Error gives position and message.
func (e *PosError) Error() string {
	return fmt.Sprintf("scenario: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Load reads a scenario. Names it does not know, names given twice, wrong types
// and items that are two things at once are a *PosError.
func Load(r io.Reader) (*Scenario, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("scenario: larger than %d bytes", MaxSize)
	}
	l := &loader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	s := &Scenario{}
	if err := l.scenario(s); err != nil {
		return nil, err
	}
	l.mark()
	if l.at < len(data) {
		return nil, l.errorf("text after the end of the scenario")
	}
	return s, nil
}

// loader walks the tokens of a scenario and knows where it is.
type loader struct {
	data []byte
	dec  *json.Decoder
	at   int // where the value or name at hand begins
}

// mark remembers where the next token begins.
func (l *loader) mark() {
	l.at = int(l.dec.InputOffset())
	for l.at < len(l.data) && strings.IndexByte(" \t\r\n:,", l.data[l.at]) >= 0 {
		l.at++
	}
}

func (l *loader) errorf(format string, args ...any) error { return l.errorAt(l.at, format, args...) }

func (l *loader) errorAt(at int, format string, args ...any) error {
	before := l.data[:min(at, len(l.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return &PosError{line, column, fmt.Sprintf(format, args...)}
}

// broken is an error of the JSON itself.
func (l *loader) broken(err error) error {
	if syntax, ok := err.(*json.SyntaxError); ok {
		at := max(0, int(syntax.Offset)-1) // or the white space before it
		for at < len(l.data)-1 && strings.IndexByte(" \t\r\n", l.data[at]) >= 0 {
			at++
		}
		return l.errorAt(at, "%v", err)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return l.errorAt(len(l.data), "the text ends too soon")
	}
	return l.errorf("%v", err)
}

// open reads the bracket that begins an object or list.
func (l *loader) open(bracket json.Delim, what string) error {
	l.mark()
	token, err := l.dec.Token()
	if err != nil {
		return l.broken(err)
	}
	if token != bracket {
		return l.errorf("want %s", what)
	}
	return nil
}

func (l *loader) close() error {
	l.mark()
	if _, err := l.dec.Token(); err != nil {
		return l.broken(err)
	}
	return nil
}

// object reads an object; member reads the value of a name, or reports that it
// does not know the name.
func (l *loader) object(what string, member func(name string) (known bool, err error)) error {
	if err := l.open('{', what+", an object"); err != nil {
		return err
	}
	var seen []string
	for l.dec.More() {
		l.mark()
		at := l.at
		token, err := l.dec.Token()
		if err != nil {
			return l.broken(err)
		}
		name := token.(string) // the decoder takes nothing else here
		if slices.Contains(seen, name) {
			return l.errorf("%q twice in one %s", name, what)
		}
		seen = append(seen, name)
		known, err := member(name)
		if err != nil {
			return err
		}
		if !known {
			return l.errorAt(at, "unknown name %q in a %s", name, what)
		}
	}
	return l.close()
}

// list reads a list; element reads one value of it.
func (l *loader) list(what string, element func() error) error {
	if err := l.open('[', "a list of "+what); err != nil {
		return err
	}
	for l.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return l.close()
}

// value reads a plain value.
func (l *loader) value(into any, want string) error {
	l.mark()
	switch err := l.dec.Decode(into).(type) {
	case nil:
	case *json.UnmarshalTypeError:
		return l.errorf("want %s, found %s", want, err.Value)
	default:
		return l.broken(err)
	}
	if l.at < len(l.data) && l.data[l.at] == 'n' { // null decodes into anything
		return l.errorf("want %s, found null", want)
	}
	return nil
}

func (l *loader) count(into *int) error {
	if err := l.value(into, "a whole number"); err != nil {
		return err
	}
	if *into < 0 {
		return l.errorf("want a number that is not negative, found %d", *into)
	}
	return nil
}

func (l *loader) texts(into *[]string) error {
	*into = []string{}
	return l.list("texts", func() error {
		var s string
		err := l.value(&s, "a text")
		*into = append(*into, s)
		return err
	})
}

func (l *loader) scenario(s *Scenario) error {
	err := l.object("scenario", func(name string) (bool, error) {
		switch name {
		case "version":
			if err := l.count(&s.Version); err != nil {
				return true, err
			}
			if s.Version != Version {
				return true, l.errorf("version %d is not known, this Kerf reads version %d", s.Version, Version)
			}
			return true, nil
		case "matching":
			if err := l.value(&s.Matching, "a text"); err != nil {
				return true, err
			}
			if s.Matching != Tolerant && s.Matching != Exact {
				return true, l.errorf("matching is %q, want %q or %q", s.Matching, Tolerant, Exact)
			}
			return true, nil
		case "title":
			return true, l.value(&s.Title, "a text")
		case "rounds":
			s.Rounds = []Round{}
			return true, l.list("rounds", func() error {
				var r Round
				err := l.round(&r)
				s.Rounds = append(s.Rounds, r)
				return err
			})
		}
		return false, l.skip()
	})
	if err != nil {
		return err
	}
	if s.Version == 0 {
		return l.errorAt(0, "version is missing")
	}
	return nil
}

// skip passes over the value of an unknown name, so that the name can be told.
func (l *loader) skip() error {
	var any json.RawMessage
	if err := l.dec.Decode(&any); err != nil {
		return l.broken(err)
	}
	return nil
}

func (l *loader) round(r *Round) error {
	return l.object("round", func(name string) (bool, error) {
		switch name {
		case "expect":
			r.Expect = &Expect{}
			return true, l.expect(r.Expect)
		case "delay_ms":
			return true, l.count(&r.DelayMS)
		case "items":
			r.Items = []Item{}
			return true, l.list("items", func() error {
				var i Item
				err := l.item(&i)
				r.Items = append(r.Items, i)
				return err
			})
		case "usage":
			r.Usage = &Usage{}
			return true, l.usage(r.Usage)
		case "error":
			r.Error = &Failure{}
			return true, l.failure(r.Error)
		case "cut":
			return true, l.value(&r.Cut, "true or false")
		}
		return false, l.skip()
	})
}

func (l *loader) expect(e *Expect) error {
	return l.object("expectation", func(name string) (bool, error) {
		switch name {
		case "shape":
			return true, l.texts(&e.Shape)
		case "texts":
			return true, l.texts(&e.Texts)
		case "input_contains":
			return true, l.texts(&e.InputContains)
		case "tool_output_contains":
			return true, l.texts(&e.ToolOutputContains)
		}
		return false, l.skip()
	})
}

func (l *loader) usage(u *Usage) error {
	return l.object("usage", func(name string) (bool, error) {
		switch name {
		case "input_tokens":
			return true, l.count(&u.Input)
		case "cache_write_input_tokens":
			return true, l.count(&u.Write)
		case "cached_input_tokens":
			return true, l.count(&u.Cached)
		case "output_tokens":
			return true, l.count(&u.Output)
		case "reasoning_output_tokens":
			return true, l.count(&u.Reasoning)
		}
		return false, l.skip()
	})
}

func (l *loader) item(i *Item) error {
	l.mark()
	at := l.at
	err := l.object("item", func(name string) (bool, error) {
		switch name {
		case "message":
			return true, l.value(&i.Message, "a text")
		case "reasoning":
			return true, l.value(&i.Reasoning, "a text")
		case "call":
			return true, l.value(&i.Call, "a text")
		case "args":
			return true, l.args(i)
		case "input":
			i.Input = new(string)
			return true, l.value(i.Input, "a text")
		case "style":
			err := l.value(&i.Style, "a text")
			if err == nil && i.Style != string(model.Shell) {
				err = l.errorf("style is %q, want \"shell\" or none", i.Style)
			}
			return true, err
		case "id":
			return true, l.value(&i.ID, "a text")
		}
		return false, l.skip()
	})
	if err != nil {
		return err
	}
	if wrong := i.wrong(); wrong != "" {
		return l.errorAt(at, "%s", wrong)
	}
	return nil
}

func (l *loader) args(i *Item) error {
	var raw json.RawMessage
	if err := l.value(&raw, "an object or a text"); err != nil {
		return err
	}
	if raw[0] != '{' && raw[0] != '"' {
		return l.errorf("want an object or a text")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return l.errorf("%v", err)
	}
	i.Args = compact.Bytes()
	return nil
}

// wrong says what does not go together in an item, or nothing.
func (i *Item) wrong() string {
	kinds := 0
	for _, s := range []string{i.Message, i.Reasoning, i.Call} {
		if s != "" {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "an item has exactly one of message, reasoning and call"
	case i.Call == "" && (i.Args != nil || i.Input != nil || i.ID != "" || i.Style != ""):
		return "args, input, style and id belong to a call"
	case i.Args != nil && i.Input != nil:
		return "a call has args or input, not both"
	case i.Style != "" && i.Input != nil:
		return "a shell call has args, not input"
	}
	return ""
}

// kinds are the errors that a scenario may play.
var kinds = []model.ErrorKind{model.Auth, model.Quota, model.BadCall, model.Context, model.RateLimit, model.Server,
	model.Network, model.Broken}

func (l *loader) failure(f *Failure) error {
	l.mark()
	at := l.at
	err := l.object("error", func(name string) (bool, error) {
		switch name {
		case "kind":
			err := l.value(&f.Kind, "a text")
			if err == nil && !slices.Contains(kinds, f.Kind) {
				err = l.errorf("unknown kind of error %q, want one of %v", f.Kind, kinds)
			}
			return true, err
		case "status":
			err := l.count(&f.Status)
			if err == nil && f.Status != 0 && (f.Status < 400 || f.Status > 599) {
				err = l.errorf("status is %d, want 400 to 599", f.Status)
			}
			return true, err
		case "message":
			return true, l.value(&f.Message, "a text")
		case "retry_after":
			err := l.value(&f.RetryAfter, "seconds")
			if err == nil && (f.RetryAfter < 0 || f.RetryAfter > math.MaxInt32) {
				err = l.errorf("retry_after is out of range")
			}
			return true, err
		}
		return false, l.skip()
	})
	if err == nil && f.Kind == "" {
		err = l.errorAt(at, "an error needs a kind")
	}
	return err
}
