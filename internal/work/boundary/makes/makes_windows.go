package makes

// In is of no effect: nothing is enforced here.
func In(string) (now, ever bool) { return true, true }
