package prefix

import "kerf/internal/model"

// Side is who speaks in an item.
type Side int

// The sides: the user and the developer, the model, and the tools.
const (
	User Side = iota
	Assistant
	Output
)

// SideOf returns the side of an item.
func SideOf(i *model.Item) Side {
	switch {
	case i.Kind == model.Output:
		return Output
	case i.Kind == model.Message && i.Role != "assistant":
		return User
	}
	return Assistant
}

// EndOfSide is the end of the run of items of one side that begins at from. Items
// of the user stand alone unless join is set.
func EndOfSide(items []*model.Item, from int, join bool) int {
	end := from + 1
	s := SideOf(items[from])
	for (s != User || join) && end < len(items) && SideOf(items[end]) == s {
		end++
	}
	return end
}

// Close ends the array of messages of items. A broken stream may leave an answer
// at the end, where protocols want a question: goOn, a message, asks for more.
func Close(items []*model.Item, goOn string) []byte {
	if n := len(items); n > 0 && SideOf(items[n-1]) == Assistant {
		return []byte("," + goOn + "]")
	}
	return []byte{']'}
}
