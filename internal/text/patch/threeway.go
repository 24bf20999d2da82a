package patch

// threeWay makes the change to the content that the diff was made from and
// merges the result with the current one. err gets the reason where that fails.
func (pl *planner) threeWay(f *fileDiff, name string, ours []byte, err *Error) ([]byte, bool) {
	return nil, false
}
