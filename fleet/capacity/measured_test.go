package capacity

import "fmt"

// What doc/fleet.md shows.
func ExamplePlan() {
	fmt.Print(Plan(Measured()))
	// Output:
	// fleet                  10000 workers of 4 slots, 1000000 tasks a day of 10m0s
	// tasks at the peak      34.7 a second
	// events at the peak     1076 a second (31 of a task)
	// history shards         512
	// histories              995.1 GB for 30 days
	// blob store             393.0 GB for 30 days, 729 writes a second at the peak
	// clones and fetches     51.2 TB a day
	// slots in use           24 % of the day, at most 71 %
	// wait for a slot        median 0s, 99 of 100 at most 0s
	// workers that die       4746 tasks resumed, 19h35m21s worked twice
	// one map of all tasks   1000 parts, each about 6000 events
}
