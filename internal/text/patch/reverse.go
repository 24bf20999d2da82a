package patch

import "kerf/internal/text/patch/unified"

// reversedOps returns the operations that undo ops, last first. What an operation
// removed without telling it cannot be brought back: then there is an error.
func reversedOps(ops []operation) ([]operation, *unified.Error) {
	out := make([]operation, 0, len(ops))
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		switch op.kind {
		case Added:
			out = append(out, operation{kind: Deleted, path: op.path, text: op.text, exact: true, line: op.line})
			continue
		case Deleted:
			return nil, &unified.Error{Path: op.path, Line: op.line,
				Message: "the patch deletes the file and does not tell its content, so it cannot be taken back; kerf undo can, " +
					"where Kerf did it"}
		}
		if op.to != "" {
			op.path, op.to = op.to, op.path
		}
		chunks := make([]chunk, len(op.chunks))
		for j, c := range op.chunks {
			var err *unified.Error
			if chunks[j], err = c.reversed(); err != nil {
				err.Path, err.Hunk = op.path, j+1
				return nil, err
			}
		}
		op.chunks = chunks
		out = append(out, op)
	}
	return out, nil
}

func (c chunk) reversed() (chunk, *unified.Error) {
	c.lines = (unified.Hunk{Lines: c.lines}).Reversed().Lines
	for _, l := range c.lines {
		if l.Op != '+' {
			return c, nil
		}
	}
	if len(c.lines) == 0 {
		return c, nil
	}
	return c, &unified.Error{Line: c.at,
		Message: "the hunk removes lines and shows nothing around them, so there is no telling where they were"}
}
