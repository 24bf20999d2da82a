package schema

import "slices"

// Foreign are keys that the files of other agents have and the struct has not. They
// are passed over, so that one file can serve both. "*" stands for any part.
type Foreign struct {
	// The user is warned of Loud ones: they would change what happens.
	Quiet, Loud [][]string
}

// has reports whether path is one of the keys or lies below one.
func (f Foreign) has(path []string) (known, loud bool) {
	covers := func(k []string) bool { return len(path) >= len(k) && matches(k, path[:len(k)]) }
	if slices.ContainsFunc(f.Quiet, covers) {
		return true, false
	}
	loud = slices.ContainsFunc(f.Loud, covers)
	return loud, loud
}

func matches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, k string) bool { return p == "*" || p == k })
}
