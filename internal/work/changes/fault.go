package changes

// Fault is a defect seeded into planning, so that tests can see each law fail. The
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
)
