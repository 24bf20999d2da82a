package patch

// reversed returns the diffs that undo files, last first.
func reversed(files []fileDiff) []fileDiff {
	out := make([]fileDiff, 0, len(files))
	mails := 0
	if n := len(files); n > 0 {
		mails = files[n-1].mail
	}
	for i := len(files) - 1; i >= 0; i-- {
		r := files[i].reversed()
		r.mail = mails - r.mail
		out = append(out, r)
	}
	return out
}

func (f fileDiff) reversed() fileDiff {
	f.oldName, f.newName = f.newName, f.oldName
	f.oldMode, f.newMode = f.newMode, f.oldMode
	f.oldID, f.newID = f.newID, f.oldID
	f.create, f.remove = f.remove, f.create
	if f.copy {
		f.copy, f.remove, f.uncopy, f.newName = false, true, true, ""
	}
	hunks := make([]hunk, len(f.hunks))
	for i, h := range f.hunks {
		hunks[i] = h.reversed()
	}
	f.hunks = hunks
	if b := f.binary; b != nil {
		f.binary = &binaryPatch{b.backward, b.forward}
	}
	return f
}

func (h hunk) reversed() hunk {
	h.oldPos, h.oldLen, h.newPos, h.newLen = h.newPos, h.newLen, h.oldPos, h.oldLen
	lines := make([]line, len(h.lines))
	for i, l := range h.lines {
		switch l.op {
		case '+':
			l.op = '-'
		case '-':
			l.op = '+'
		}
		lines[i] = l
	}
	h.lines = lines
	return h
}

// reversedOps returns the operations that undo ops, last first. What an operation
// removed without telling it cannot be brought back: then there is an error.
func reversedOps(ops []operation) ([]operation, *Error) {
	out := make([]operation, 0, len(ops))
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		switch op.kind {
		case Added:
			out = append(out, operation{kind: Deleted, path: op.path, text: op.text, exact: true, line: op.line})
			continue
		case Deleted:
			return nil, &Error{Path: op.path, Line: op.line, Message: "the patch deletes the file and does not tell its content, so it cannot be taken back; kerf undo can, where Kerf did it"}
		}
		if op.to != "" {
			op.path, op.to = op.to, op.path
		}
		chunks := make([]chunk, len(op.chunks))
		for j, c := range op.chunks {
			var err *Error
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

func (c chunk) reversed() (chunk, *Error) {
	c.lines = (hunk{lines: c.lines}).reversed().lines
	for _, l := range c.lines {
		if l.op != '+' {
			return c, nil
		}
	}
	if len(c.lines) == 0 {
		return c, nil
	}
	return c, &Error{Line: c.at, Message: "the hunk removes lines and shows nothing around them, so there is no telling where they were"}
}
