//go:build !race

package openai_test

// raceEnabled tells tests that count on speed.
const raceEnabled = false
