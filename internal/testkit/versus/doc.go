// Package versus measures the file engine beside git, in one run. It has no code of
// its own, only benchmarks:
//
//	go test ./internal/testkit/versus -run '^$' -bench Versus
//
// KERF_LONG=1 adds the large trees and the growth curves.
package versus
