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
