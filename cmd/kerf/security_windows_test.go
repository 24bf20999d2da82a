package main

func makeFIFO(v *victim, _ string) { v.t.Skip("there are no FIFOs in directories") }

func ranUser(*victim, ...string) error { return nil }
