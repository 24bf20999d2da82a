package executor

// Output returns lines of a kept output, see [outputlog.Store.Lines].
func (h *Executor) Output(name string, first, limit, width int) (lines []string, total int, err error) {
	return h.outputs.Lines(name, first, limit, width)
}
