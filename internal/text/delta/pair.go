package delta

// Pair lets the two halves of a move name each other, or neither.
func Pair(set Set) {
	at := make(map[string]int, len(set))
	for i, c := range set {
		at[c.Path] = i
	}
	for i, c := range set {
		if c.To == "" {
			continue
		}
		j, ok := at[c.To]
		if o := &set[j]; !ok || o.Post == nil || o.From != "" {
			set[i].To = ""
			continue
		}
		set[j].From = c.Path
	}
}
