package unified

// Search returns the first i from from to last where n lines match: same
// compares line i with wanted line j, twin two wanted lines. It looks at no line
// twice (Knuth, Morris and Pratt), since patches may be made to be slow.
func Search(n, from, last int, same, twin func(i, j int) bool) (int, bool) {
	if n == 0 {
		return from, from <= last
	}
	// border[j] is how long a beginning also ends the first j+1 wanted lines.
	border := make([]int, n)
	for i, k := 1, 0; i < n; i++ {
		for k > 0 && !twin(i, k) {
			k = border[k-1]
		}
		if twin(i, k) {
			k++
		}
		border[i] = k
	}
	for i, k := from, 0; i < last+n; i++ {
		for k > 0 && !same(i, k) {
			k = border[k-1]
		}
		if same(i, k) {
			k++
		}
		if k == n {
			return i + 1 - n, true
		}
	}
	return 0, false
}
