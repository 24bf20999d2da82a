// Package supervise is the helper process of the witness.
//
// Kerf hands commands over to it, asks what they did, and is asked before something is
// lost. What is done about each call of a command is in package held.
//
// The helper outlives Kerf when that is killed, until nothing of its commands runs any
// more. When the helper itself ends, the kernel refuses the calls of its commands, so
// that nothing is changed unseen.
package supervise

// Flag, as the first argument, makes the binary a helper.
const Flag = "--kerf-witness"
