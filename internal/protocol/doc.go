// Package protocol holds the words that front ends and sessions exchange.
//
// A front end submits an [Op] and receives [Event]s; there is no other way in
// or out. The package is pure: it imports the standard library only, does no
// I/O, and every value is immutable once sent, so values may cross goroutines.
//
// Things that happen in a turn are [Item]s. An item is started, may grow by
// deltas, may be updated, and is completed exactly once; the same three events
// serve every kind of item.
package protocol
