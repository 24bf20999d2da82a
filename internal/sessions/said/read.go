package said

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// longest bounds a message that is looked at, in bytes of its record.
const longest = 64 << 20

// saidIn reads what was said in a session between two offsets of its record, and to the end of the line
// behind them. It returns where that ends.
func saidIn(ctx context.Context, path string, from, to int64) (messages []byte, end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	for end = from; end < to; {
		line, n, err := said(ctx, in)
		if errors.Is(err, io.EOF) {
			break // the last line is being written, perhaps
		}
		if err != nil {
			return nil, from, err
		}
		end += n
		messages = appendSaid(messages, line)
	}
	return messages, end, nil
}

// said is the next line, where it is one of what was said, and how long it is. The others may be much
// longer: they are passed over.
func said(ctx context.Context, in *bufio.Reader) (line []byte, n int64, err error) {
	part, err := in.ReadSlice('\n')
	if n = int64(len(part)); !errors.Is(err, bufio.ErrBufferFull) {
		return part, n, err
	}
	keep := kindOf(part) != ""
	for keepOn := true; keepOn; {
		if keep {
			line = append(line, part...)
			keep = len(line) < longest
		}
		if ctx.Err() != nil {
			return nil, n, ctx.Err()
		}
		if !keep && n >= piece { // the rest of it is passed over the next time
			return nil, n, nil
		}
		part, err = in.ReadSlice('\n')
		n += int64(len(part))
		keepOn = errors.Is(err, bufio.ErrBufferFull)
	}
	if !keep {
		return nil, n, err
	}
	return append(line, part...), n, err
}

// kinds are the records of what was said.
var kinds = []string{history.UserInput{}.Type(), history.AssistantMessage{}.Type()}

// kindOf is the type of a line that tells of something that was said, or empty.
func kindOf(line []byte) string {
	const far = 160 // the type stands near the beginning
	head := line[:min(far, len(line))]
	i := slices.IndexFunc(kinds, func(kind string) bool { return bytes.Contains(head, []byte(`"type":"`+kind+`"`)) })
	if i < 0 {
		return ""
	}
	return kinds[i]
}

// appendSaid adds the message of a line, if it is one.
func appendSaid(to, line []byte) []byte {
	kind := kindOf(line)
	if kind == "" {
		return to
	}
	r, err := history.Line{Type: kind, JSON: line}.Decode()
	if err != nil {
		return to
	}
	switch r := r.(type) {
	case history.UserInput:
		if !r.Marker {
			return appendMessage(to, r.Turn, r.Text)
		}
	case history.AssistantMessage:
		return appendMessage(to, r.Turn, r.Text)
	}
	return to
}

func appendMessage(to []byte, turn protocol.TurnID, text string) []byte {
	if text == "" {
		return to
	}
	to = append(to, messageMark)
	to = append(to, turn...)
	to = append(to, turnMark)
	return append(to, text...)
}
