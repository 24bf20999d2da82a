package sandbox

import "errors"

// expressible says why Landlock alone cannot enforce p, or nil.
func expressible(p Plan) error {
	if p.Mode != ReadOnly {
		return errors.New("it protects no single name in a directory that is writable")
	}
	return nil
}
