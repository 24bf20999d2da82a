package records

import "kerf/internal/work/ledger"

// Sum is the content of a version as records name it: SHA-256 in hex, empty for "not
// there".
func Sum(v *ledger.Version) string {
	if v == nil {
		return ""
	}
	b, err := v.Sum.MarshalText()
	if err != nil {
		return ""
	}
	return string(b)
}
