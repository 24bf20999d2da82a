package witness

// At lets f be called at the moments of each collection.
func (x *Watch) At(f func(Moment)) { x.c.moment = f }
