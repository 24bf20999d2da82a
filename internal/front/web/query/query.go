// Package query reads and writes what stands behind the ? of the addresses of pages.
package query

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
)

// Misuse is a request that no page of this server makes.
type Misuse string

// Error says what is wrong.
func (m Misuse) Error() string { return string(m) }

// Number reads a number from 0 up.
func Number(q url.Values, name string) (int, error) {
	if q.Get(name) == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 0 {
		return 0, Misuse(fmt.Sprintf("%s=%s: give a number from 0 up", name, q.Get(name)))
	}
	return n, nil
}

// Dollars reads a sum, 0 for none.
func Dollars(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	d, err := strconv.ParseFloat(text, 64)
	if err != nil || d < 0 || math.IsNaN(d) {
		return 0, Misuse("cost=" + text + ": give a sum in US dollars")
	}
	return d, nil
}

// With is an address with other values.
func With(path string, q url.Values, pairs ...string) string {
	all := url.Values{}
	for k, v := range q {
		all[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			all.Del(pairs[i])
		} else {
			all.Set(pairs[i], pairs[i+1])
		}
	}
	if len(all) == 0 {
		return path
	}
	return path + "?" + all.Encode()
}
