package interactive

import "os"

// passedOn are the signals that commands get when Kerf does.
var passedOn = []os.Signal{os.Interrupt}

// onResize does nothing: Windows tells of no new sizes.
func onResize(func()) (stop func()) { return func() {} }
