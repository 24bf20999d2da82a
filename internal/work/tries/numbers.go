package tries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func numbers(home string) string { return filepath.Join(place(home), "given") }

// given is the highest number that a try had; 0 for none. A line that is none is left out.
func given(home string) (highest int) {
	text, _ := os.ReadFile(numbers(home)) // without it the tries that are there tell
	for line := range strings.Lines(string(text)) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

// give notes that a number is taken, whatever becomes of it. Several Kerfs may do so at once.
func give(home string, id int) error {
	f, err := os.OpenFile(numbers(home), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, id)
	return errors.Join(err, f.Close())
}
