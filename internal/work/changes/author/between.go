package author

import (
	"fmt"
	"strconv"
	"strings"
)

// Between are the lines that words name as git names them: START,END, START,+COUNT, START and
// ,END. No words name all.
func Between(list []Line, words string) ([]Line, error) {
	if words == "" {
		return list, nil
	}
	from, to, _ := strings.Cut(words, ",")
	count, counted := strings.CutPrefix(to, "+")
	first, err := number(from, 1)
	last := len(list)
	if err == nil && to != "" {
		last, err = number(count, 0)
	}
	if counted {
		last += first - 1
	}
	switch {
	case err != nil || first < 1 || last < first && to != "":
		return nil, fmt.Errorf("%q: use START,END or START,+COUNT, with lines from 1", words)
	case first > len(list):
		return nil, fmt.Errorf("%q: the file ends with line %d", words, len(list))
	}
	return list[first-1 : min(last, len(list))], nil
}

// number reads a number; no word is the other.
func number(word string, other int) (int, error) {
	if word == "" {
		return other, nil
	}
	return strconv.Atoi(word)
}
