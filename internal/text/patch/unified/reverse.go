package unified

// Reversed returns the diffs that undo files, last first.
func Reversed(files []File) []File {
	out := make([]File, 0, len(files))
	mails := 0
	if n := len(files); n > 0 {
		mails = files[n-1].Mail
	}
	for i := len(files) - 1; i >= 0; i-- {
		r := files[i].reversed()
		r.Mail = mails - r.Mail
		out = append(out, r)
	}
	return out
}

// reversed returns the diff that undoes f.
func (f File) reversed() File {
	f.OldName, f.NewName = f.NewName, f.OldName
	f.OldMode, f.NewMode = f.NewMode, f.OldMode
	f.OldID, f.NewID = f.NewID, f.OldID
	f.Create, f.Remove = f.Remove, f.Create
	if f.Copy {
		f.Copy, f.Remove, f.UndoesCopy, f.NewName = false, true, true, ""
	}
	hunks := make([]Hunk, len(f.Hunks))
	for i, h := range f.Hunks {
		hunks[i] = h.Reversed()
	}
	f.Hunks = hunks
	if b := f.Binary; b != nil {
		f.Binary = &binaryPatch{b.backward, b.forward}
	}
	return f
}

// Reversed returns the hunk that undoes h.
func (h Hunk) Reversed() Hunk {
	h.oldPos, h.OldLen, h.newPos, h.newLen = h.newPos, h.newLen, h.oldPos, h.OldLen
	lines := make([]Line, len(h.Lines))
	for i, l := range h.Lines {
		switch l.Op {
		case '+':
			l.Op = '-'
		case '-':
			l.Op = '+'
		}
		lines[i] = l
	}
	h.Lines = lines
	return h
}
