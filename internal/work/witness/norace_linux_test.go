//go:build !race

package witness_test

const raceCosts = 1
