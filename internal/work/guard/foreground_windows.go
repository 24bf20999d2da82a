package guard

import "os"

// handedOn are the signals that Kerf does not end for.
var handedOn = []os.Signal{os.Interrupt}

// fromTerminal is true: the console tells all programs on it.
func fromTerminal(os.Signal) bool { return true }

func signalCode(*os.ProcessState) (int, bool) { return 0, false }
