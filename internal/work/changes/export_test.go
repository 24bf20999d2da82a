package changes

// LastTurn is the diff of LastTurnNet, with what is unproven.
func (r Reader) LastTurn() ([]byte, error) {
	d, err := r.LastTurnNet(true, nil)
	return d.Diff, err
}
