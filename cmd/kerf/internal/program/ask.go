package program

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kerf/internal/front/tui/terminal"
)

// maxAnswer bounds the line that answers a question, in bytes.
const maxAnswer = 64 << 10

// Ask writes a question to w and reads the line that answers it, without the blanks around it. What
// was typed on the terminal before the question stood there is no answer. At the end of the input
// the answer is what there is of the line, and err is io.EOF.
func (p *Program) Ask(w io.Writer, format string, words ...any) (answer string, err error) {
	terminal.Forget(p.Stdin)
	fmt.Fprintf(w, format, words...)
	line := make([]byte, 0, 64)
	for one := make([]byte, 1); len(line) < maxAnswer; { // what stands behind the line is for others
		var n int
		if n, err = p.Stdin.Read(one); n > 0 && one[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, one[:n]...)
		if err != nil {
			break
		}
	}
	return strings.TrimSpace(string(line)), err
}

// Agrees asks a question and reports whether the answer is yes.
func (p *Program) Agrees(w io.Writer, format string, words ...any) bool {
	answer, _ := p.Ask(w, format+" [y/N] ", words...)
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(answer))
}
