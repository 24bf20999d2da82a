// Package turn decides what a session does next.
//
// [Core] is a pure state machine: Step takes one [Input] and returns what has
// to be made durable, what may then be told, and what has to be done. It never
// reads a clock, starts a goroutine or touches the machine, so a random schedule
// of a whole session runs in microseconds.
//
// The package is larger than others on purpose: it is one state machine, and its
// laws can only be checked over all of its states. What has state of its own is a
// type of its own: the conversation, the round that streams, the output of a step,
// the open questions.
//
// # Duties of the caller
//
// For every Ready, in this order: append Records to the rollout; let Events out;
// start Effects. Every effect is answered by exactly one input with its key
// (CallModel by any number of Chunks and one StreamEnded, Prepare by Prepared,
// Run by Finished or AskAgain, Gather by Gathered, Wait by Elapsed, RunShell by
// ShellDone, Undo by Undone, Check by Checked, Settle by Settled), also after it was told to stop.
// An answer that comes late is harmless. Reply, Kill, Forget and the effects that
// stop something have no answer.
//
// # Questions
//
// Every question to the user goes through the core. A call that needs leave to run
// is asked about when it is Prepared, or again with AskAgain. Whatever else has a
// question (a command that wants to reach a host, the model, an MCP server, a
// sub-agent) sends Asked and waits for its Reply; it sends Withdrawn when it does
// not wait any more. The core records each question before it is told, and its
// end: who answered and what, or that it was withdrawn. In a headless session the
// core says no at once. Stopping a turn withdraws the session's open questions; the
// Interrupt op, which ends the sub-agents, withdraws theirs.
//
// # Life of a turn
//
//	idle ─ UserInput ─► gathering ─ Gathered ─► sampling ─ stream and calls over ─┐
//	                                   ▲            │ ▲                           │
//	                                   │            │ └── follow-up needed ◄──────┤
//	                                   │            │      (through compacting and regathering when the history is full)
//	                                   │         waiting (a failed request)       │
//	                                   │                                          ▼
//	                                 next turn ◄──────────── idle ◄─ Settled ─ settling
//
// An interrupt may come at any point. The core then tells the stream, the timer and
// the calls to stop. The turn settles when every call has answered. A turn
// with a goal passes through checking before it settles, and goes on sampling when the
// check fails.
//
// # Laws
//
// Each is checked after every step of random schedules, and each is shown to
// fail by a fault seeded into the core (see [Fault]).
//
//	L1  Every call the model made gets exactly one output, and every output has a call.
//	L2  Every turn that started ends once: completed, failed or aborted.
//	L3  Nothing that needs approval runs without it, and nobody who asks is told yes
//	    unless the user said yes to that very question.
//	L4  No model call starts between an interrupt and the end of its turn.
//	L5  Late answers change nothing.
//	L6  Never stuck: with all effects answered, the core is idle or waits for the user.
//	L7  Request n+1 begins with the items of request n, unless the history was compacted or cut between them.
//	L8  No input is lost: each reaches the history or comes back as undelivered.
//	L9  A call runs at most once, and calls that must run alone do.
//	L10 A started item is completed or dropped before its turn ends.
//	L11 A compaction keeps the last words of the user, the plan and the versions of files.
//	L12 Every question has a record before it is told, and one record of its end; no
//	    question of a turn is open after the turn was stopped.
//	L13 A turn whose goal has a check ends well only after that check passed and nothing
//	    was asked of the model since; every request of it has the goal, word for word.
package turn
