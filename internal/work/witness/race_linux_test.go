//go:build race

package witness_test

// raceCosts is how much more memory a program takes that looks for races: for eight bytes it
// keeps 32 about who touched them.
const raceCosts = 5
