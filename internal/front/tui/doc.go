// Package tui is the terminal front end: a conversation in the terminal's own
// scrollback, with what is under way below it.
//
// Everything that others wrote passes through package style, which cannot express
// an escape sequence; [screen.Screen] is the only writer to the terminal beside
// the user's own /copy and the notifications.
//
// Goroutines: the loop of the tea program owns the [Model]. Commands run beside
// it, read nothing of the model, and send messages back. The reader of a
// session's events is such a command, started again after each batch.
package tui
