package changes

// Fault is a defect seeded into planning or blaming, so that tests can see each law fail. The
// zero value is no fault; nothing but tests sets another one.
type Fault int

// The faults, named for what they do.
const (
	NoFault       Fault = iota
	JoinAll             // steps are joined across what others changed in between
	LoseMode            // a restored file gets another mode
	ForgetPartial       // a file in conflict is left out, and the others are written
	ForgetMoves         // later moves of a file are not followed
	ForgetTaken         // what was undone is taken to stand
	TakeUnseen          // what nobody saw being changed is taken back, too
	TakeReturned        // what a change that stays took away, and another brought back, is taken once more
	LookNotInside       // directories go without a look at what is in them
	LoseDirMode         // directories that come back get another mode
	ForgetKind          // a directory in the place of a file, or the other way round, is not noticed
	LeaveSilently       // a directory whose mode stays as it is, is not told
	BlameOthers         // what others wrote is laid to the entry that found it
	BlameUndo           // what an undo brings back is laid to the undo
	BlameNoMoves        // blame does not follow a file to where it was before
)
