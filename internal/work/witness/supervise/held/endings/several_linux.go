package endings

// Several counts how often a file with several names was closed by who had written it, for
// one command. The kernel tells of each twice: in the directory of the name by which the file
// was opened, if the command works there, and of the file itself. What only the latter tells
// was done by a name that the command does not know. Of two closings in a row that are told alike the
// kernel makes one notice: therefore they are counted by processes, too. Of a file that is not counted,
// nil, nothing is told.
type Several struct {
	all    int // of the file itself
	named  int // at names that the command touched
	late   int // that the command may yet close, although the name by which it opened it is gone
	opens  int // by the command
	closes int // by processes
}

// Opened is told that the command opened the file.
func (s *Several) Opened() {
	if s != nil {
		s.opens++
	}
}

// Closed is told that a process closed the file, and reports whether there may be others among those
// who did.
func (s *Several) Closed() (others bool) {
	if s != nil {
		s.closes++
	}
	return s.Others()
}

// Others reports whether the file was closed more often than the command opened it.
func (s *Several) Others() bool { return s != nil && s.closes > s.opens }

// At is told that the file was closed at a name that the command touched.
func (s *Several) At() {
	if s != nil {
		s.named++
	}
}

// Parted is told that a name no longer holds the file; the command has that open as often as writers says.
func (s *Several) Parted(writers int) {
	if s != nil {
		s.late += writers
	}
}

// Itself is told that the file itself was closed. others says that somebody else did so.
func (s *Several) Itself() (others bool) {
	if s == nil {
		return false
	}
	if s.all++; s.all <= s.named+s.late {
		return false
	}
	s.all, s.named, s.late = 0, 0, 0
	return true
}

// Late is how often the command may have it open by names that went.
func (s *Several) Late() int { return s.late }

// Left is Late without what was closed since by a name that the command does not know.
func (s *Several) Left() int { return max(0, s.late-max(0, s.all-s.named)) }

// Anew begins to count anew, and returns Late: so often the command may have it open.
func (s *Several) Anew() (late int) {
	*s = Several{late: s.Left(), opens: s.Left()}
	return s.late
}

// Recount begins to count the processes anew: the command has the file open as often as writers says.
func (s *Several) Recount(writers int) {
	if s != nil {
		s.opens, s.closes = writers, 0
	}
}
