package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// formats say what a text looks like.
var formats = map[string][]string{"email": {"an email address"}, "uri": {"an address such as https://example.org/"},
	"date": {"a date such as 2026-01-31"}, "date-time": {"a time such as 2026-01-31T12:00:00Z"}}

var errEmpty = errors.New("fill this in")

// read is the value of a field, nil where it is left out.
func (f Field) read(given []string) (any, error) {
	if f.Kind == Several {
		return f.several(given)
	}
	if len(given) > 1 {
		return nil, errors.New("give one value")
	}
	text := strings.ReplaceAll(strings.Join(given, ""), "\r\n", "\n")
	if text == "" {
		if f.Required {
			return nil, errEmpty
		}
		return nil, nil
	}
	switch f.Kind {
	case Whole:
		return f.whole(text)
	case Number:
		return f.number(text)
	case YesNo, One:
		c, err := f.choice(text)
		if f.Kind == YesNo && err == nil {
			return c == "true", nil
		}
		return c, err
	}
	return text, f.fits(text)
}

// choice is the value of a choice by its number.
func (f Field) choice(number string) (string, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(f.Choices) {
		return "", errors.New("choose one of the values that the form offers")
	}
	return f.Choices[i].Value, nil
}

func (f Field) several(given []string) (any, error) {
	list := []string{}
	for _, number := range given {
		c, err := f.choice(number)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	switch n := len(list); {
	case n == 0 && !f.Required && !f.Given: // nothing at all would be the server's own value
		return nil, nil
	case f.MinItems != nil && n < *f.MinItems, f.MaxItems != nil && n > *f.MaxItems:
		return nil, fmt.Errorf("choose %s", f.Bounds)
	}
	return list, nil
}

// most is up to where whole numbers are exact in what is sent.
const most = 1 << 53

func (f Field) whole(text string) (any, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '+' || n > most || n < -most {
		return nil, errors.New("give a whole number")
	}
	return n, f.within(float64(n))
}

func (f Field) number(text string) (any, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !json.Valid([]byte(text)) { // no infinity, no hexadecimal digits
		return nil, errors.New("give a number such as 12.5")
	}
	return n, f.within(n)
}

// within reports a number outside the bounds.
func (f Field) within(n float64) error {
	low, high := n, n
	if f.Minimum != nil {
		low, _ = f.Minimum.Float64()
	}
	if f.Maximum != nil {
		high, _ = f.Maximum.Float64()
	}
	if n < low || n > high {
		return fmt.Errorf("give a %s", f.Bounds)
	}
	return nil
}

// fits reports a text that is too short or too long, or not of its format.
func (f Field) fits(text string) error {
	n := utf8.RuneCountInString(text)
	if f.MinLength != nil && n < *f.MinLength || f.MaxLength != nil && n > *f.MaxLength {
		return fmt.Errorf("give %s; these are %d", f.Bounds, n)
	}
	ok := true
	switch f.Format {
	case "email":
		a, err := mail.ParseAddress(text)
		ok = err == nil && a.Address == text
	case "uri":
		u, err := url.Parse(text)
		ok = err == nil && u.IsAbs()
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		ok = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	}
	if !ok {
		return fmt.Errorf("give %s", strings.Join(formats[f.Format], ""))
	}
	return nil
}
